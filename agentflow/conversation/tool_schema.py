"""The JSON Schema of a tool that the client performs: what it must be (C37). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentflow.text import preview

NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}}


def schema_complaint(parameters: Mapping[str, Any]) -> str | None:
    """What is wrong with the schema of a tool's arguments, null when nothing is; an empty one means no arguments."""
    if parameters and parameters.get("type") != "object":
        return "must be a JSON Schema of type object: arguments are named"
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(dict(parameters))
    except SchemaError as error:
        place = ".".join(str(part) for part in error.absolute_path)
        return f"is no JSON Schema: {place}: {error.message}" if place else f"is no JSON Schema: {error.message}"
    if (outside := next(_references_outside(parameters), None)) is not None:
        return f"refers to {preview(outside, 100)!r}: a schema must be whole, with its parts under $defs"
    return None


def _references_outside(schema: Any) -> Iterator[str]:
    """References that would have to be fetched from somewhere."""
    if isinstance(schema, Mapping):
        for key in ("$ref", "$dynamicRef"):
            given = schema.get(key)
            if isinstance(given, str) and not given.startswith("#"):
                yield given
    parts = schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, list) else ()
    for part in parts:
        yield from _references_outside(part)
