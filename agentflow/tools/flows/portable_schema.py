"""A JSON Schema as every provider takes it; what it no longer says, converting the arguments still checks. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

JsonSchema = dict[str, Any]

# What some providers refuse in a pattern: look-around, groups by name, references back, anchors of other dialects.
_NOT_EVERYWHERE = re.compile(r"\(\?|\\[1-9AZzbBpP]|[*+?}]\+")
_BY_NAME = ("properties", "$defs")
_LISTS = ("anyOf", "oneOf", "allOf")
_LEFT_OUT = ("title", "discriminator", "propertyNames", "examples")


def portable(schema: Mapping[str, Any]) -> JsonSchema:
    """A copy with tuples as arrays of their items' types, constants as enums of one, and plain patterns only."""
    made: JsonSchema = {}
    for key, value in schema.items():
        if key in _LEFT_OUT:
            continue
        if key in _BY_NAME:
            made[key] = {name: portable(item) for name, item in value.items()}
        elif key in _LISTS:
            made[key] = [portable(item) for item in value]
        elif isinstance(value, dict) and key != "default":
            made[key] = portable(value)
        else:
            made[key] = value
    _tuples_as_arrays(made)
    if "const" in made:
        made["enum"] = [made.pop("const")]
    if _NOT_EVERYWHERE.search(made.get("pattern", "")):
        _say(made, f"Must match {made.pop('pattern')}")
    if "default" in made and not is_json(made["default"]):
        del made["default"]
    return made


def is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _tuples_as_arrays(schema: JsonSchema) -> None:
    items = schema.pop("prefixItems", None)
    if not items:
        return
    given = [portable(item) for item in items]
    if isinstance(schema.get("items"), dict):
        given.append(schema["items"])
    kinds = [kind for number, kind in enumerate(given) if kind not in given[:number]]
    schema["items"] = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    if len(kinds) > 1:
        _say(schema, f"In this order: {', '.join(_name(item) for item in given)}")


def _name(schema: Mapping[str, Any]) -> str:
    options = [_name(option) for option in schema.get("anyOf", ())]
    return " or ".join(options) or str(schema.get("type", "any")) if "$ref" not in schema else "object"


def _say(schema: JsonSchema, sentence: str) -> None:
    said = schema.get("description")
    schema["description"] = f"{said} {sentence}." if said else f"{sentence}."
