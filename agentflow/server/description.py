"""The API described by OpenAPI 3.1, made from the routes (S8): `python -m agentflow.server.api FILE`."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from agentflow import __version__
from agentflow.server.problems import MEDIA_TYPE
from agentflow.server.wire.documented import INPUTS, Event, Problem

TEXT = """Conversations with LLM agents. Every request but /healthz and /readyz needs `Authorization: Bearer KEY` where
the server has a key. Errors are problems (RFC 9457). Streams are server-sent events: `event` is the event's type, where
`error` is sent as `turn.error`, `data` its envelope, `id` the place to go on from by `Last-Event-ID`."""

_SHAPES: tuple[type[BaseModel], ...] = (Problem, Event, *INPUTS)
_SCHEMAS = "#/components/schemas/"
_STREAM = {"text/event-stream": {"schema": {"type": "string", "description": "Frames; the data of each is an Event."}}}
_STREAMS = {"/run": "200", "/sessions/{session_id}/inputs": "200", "/sessions/{session_id}/answer": "200",
            "/sessions/{session_id}/events": "200"}  # fmt: skip
_INPUTS = "/sessions/{session_id}/inputs"


def describe(app: FastAPI, base: str) -> dict[str, Any]:
    """The description of an application whose routes stand under `base`."""
    found = get_openapi(title="agentflow", version=__version__, description=TEXT, routes=app.routes)
    _, schemas = models_json_schema([(model, "serialization") for model in _SHAPES], ref_template=_SCHEMAS + "{model}")
    components = found.setdefault("components", {})
    known = {**components.get("schemas", {}), **schemas["$defs"]}
    components["schemas"] = {name: known[name] for name in sorted(known) if "ValidationError" not in name}
    components["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
    found["security"] = [{"bearer": []}]
    for path, operations in found["paths"].items():
        for operation in operations.values():
            _complete(operation, path.removeprefix(base))
    return found


def _complete(operation: dict[str, Any], path: str) -> None:
    """What is the same everywhere: how requests are refused; and what FastAPI does not know of ours."""
    responses = operation["responses"]
    responses.pop("422", None)
    problem = {MEDIA_TYPE: {"schema": {"$ref": f"{_SCHEMAS}Problem"}}}
    responses["4XX"] = {"description": "The request is refused.", "content": problem}
    responses["5XX"] = {"description": "The server cannot answer, or not now.", "content": problem}
    if (status := _STREAMS.get(path)) is not None:
        answer = responses.setdefault(status, {"description": "The events as they come."})
        answer.setdefault("content", {}).update(_STREAM)
    if path == _INPUTS:
        schema = {"oneOf": [{"$ref": f"{_SCHEMAS}{model.__name__}"} for model in INPUTS]}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}


def written(description: dict[str, Any]) -> str:
    """The description as its committed copy has it."""
    return json.dumps(description, indent=1, ensure_ascii=False) + "\n"
