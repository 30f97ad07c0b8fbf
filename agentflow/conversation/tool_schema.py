"""The JSON Schema of a tool that the client performs: what it must be (C37). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
    return None
