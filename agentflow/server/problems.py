"""How errors are answered: one table from code to status, one shape, `application/problem+json` (S5, RFC 9457)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from agentflow import AgentflowError
from agentflow.server.encoding import json_bytes

MEDIA_TYPE = "application/problem+json"
TYPE = "urn:agentflow:problem:"

# code -> status; of the errors of agentflow, those a turn fails with included
STATUS: Mapping[str, int] = {
    "agentflow_error": 500,
    "invalid_config": 500,
    "invalid_input": 422,
    "role_not_allowed": 403,
    "session_agent_mismatch": 409,
    "session_taken": 409,
    "not_found": 404,
    "agent_not_found": 404,
    "head_moved": 412,
    "session_not_found": 404,
    "message_not_found": 404,
    "turn_not_found": 404,
    "step_not_found": 404,
    "call_not_found": 404,
    "snapshot_not_found": 404,
    "request_not_kept": 404,
    "turn_already_active": 409,
    "no_pending_question": 409,
    "question_already_answered": 409,
    "question_expired": 409,
    "call_already_answered": 409,
    "result_timeout": 504,
    "stale_owner": 409,
    "store_error": 503,
    "limit_reached": 500,
    "model_error": 502,
    "context_overflow": 502,
    "worker_failed": 502,
    "hook_failed": 500,
    "blocked": 403,
    "internal_error": 500,
    "illegal_transition": 500,
}

# The same for what only the server refuses.
OWN_STATUS: Mapping[str, int] = {
    "invalid_json": 400,
    "key_in_use": 409,
    "key_reused": 422,
    "unauthorized": 401,
    "not_allowed": 403,
    "route_not_found": 404,
    "method_not_allowed": 405,
    "not_acceptable": 406,
    "body_timeout": 408,
    "body_too_large": 413,
    "unsupported_media_type": 415,
    "unknown_host": 421,
    "too_many_streams": 429,
    "runtime_not_open": 503,
    "server_closing": 503,
    "tokens_off": 503,
}

_AGAIN_SECS = {"key_in_use": 1, "store_error": 5, "too_many_streams": 5, "runtime_not_open": 5, "server_closing": 5}
_OF_PROBLEMS = frozenset({"type", "title", "status", "detail", "code", "errors"})
_INDEX = re.compile(r"\[(\d+)\]")


class Refusal(AgentflowError):
    """A request that the server itself refuses, by a code of `OWN_STATUS`, with headers that say more."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        detail: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, detail=detail)
        self.code = code
        self.headers = dict(headers or {})


class Misfits(AgentflowError):
    """A request with several things wrong: each complaint says where, by JSON pointer or parameter, and what."""

    code = "invalid_input"

    def __init__(self, complaints: Sequence[Mapping[str, str]]) -> None:
        first = complaints[0]
        where = first.get("pointer", first.get("parameter", ""))
        super().__init__(f"{where}: {first['detail']}" if where else first["detail"])
        self.complaints = [dict(each) for each in complaints]


def status_of(code: str) -> int:
    """The status that an error of this code is answered with."""
    found = STATUS.get(code) or OWN_STATUS.get(code)
    return found or STATUS.get(code.partition(".")[0], 500)


def problem(error: AgentflowError) -> Response:
    """The answer to a request that this error refuses."""
    status = status_of(error.code)
    said: dict[str, Any] = {
        "type": f"{TYPE}{error.code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": error.message,
        "code": error.code,
        **{name: value for name, value in error.detail.items() if name not in _OF_PROBLEMS},
    }
    if (complaints := _complaints(error)) is not None:
        said["errors"] = complaints
    headers = dict(error.headers) if isinstance(error, Refusal) else {}
    if (seconds := error.detail.get("retry_after", _AGAIN_SECS.get(error.code))) is not None:
        headers["Retry-After"] = str(max(math.ceil(seconds), 1))
    return Response(json_bytes(said), status, headers, MEDIA_TYPE)


def _complaints(error: AgentflowError) -> list[dict[str, str]] | None:
    if isinstance(error, Misfits):
        return error.complaints
    field = error.detail.get("field")
    if error.code != "invalid_input" or not isinstance(field, str):
        return None
    return [{"pointer": pointer_of(field), "detail": error.message}]


def pointer_of(field: str) -> str:
    """The JSON pointer of a field as errors name it: `messages[0].content` is `/messages/0/content`."""
    return "/" + _INDEX.sub(r".\1", field).replace("~", "~0").replace("/", "~1").replace(".", "/")


def pointer(parts: Sequence[str | int]) -> str:
    """The JSON pointer of a place."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)
