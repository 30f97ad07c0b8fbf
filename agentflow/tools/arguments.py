"""The arguments of a tool call, from the text a model wrote to a JSON object (T13). Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentflow.bounds import json_slices
from agentflow.bounds.json_slices import finite
from agentflow.bounds.weight import MAX_LEVELS, MAX_VALUES
from agentflow.text import LONG_TEXT, preview, read_json, sanitise, sanitise_json

_NOTHING = ("", "null")


def parse_arguments(raw: str) -> tuple[dict[str, Any], bool]:
    """The object, and whether sanitising changed it (T43); `""`, `null` and `{}` mean none (T13).

    Raises `ValueError` with a short complaint for anything but one JSON object: JSON that is cut, doubled or of
    another kind, a key given twice, numbers JSON does not have.
    """
    text = sanitise(raw).strip()
    if text in _NOTHING:
        return {}, False
    parsed = _in_one(text) if len(text) <= LONG_TEXT else _in_steps(text)
    if not isinstance(parsed, dict):
        raise ValueError(f"a JSON object is needed, this is {_kind(parsed)}")
    clean: dict[str, Any] = sanitise_json(parsed) if "\\u" in text else parsed
    return clean, clean != parsed or text != raw.strip()


def _in_one(text: str) -> Any:
    try:
        parsed = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise ValueError("not valid JSON: nested too deeply") from None
    if text.count("[") + text.count("{") > MAX_LEVELS:
        read_json(text)  # for its depth: what was accepted is walked through by many
    return parsed


def _in_steps(text: str) -> Any:
    """A long one holds nobody while it is read (Z3)."""
    try:
        return json_slices.read(text, most_values=MAX_VALUES, most_levels=MAX_LEVELS, keys_once=True)
    except ValueError as error:
        raise ValueError(f"not valid JSON: {str(error).removeprefix('it is not JSON: ')}") from None


def checked_arguments(raw: str) -> dict[str, Any] | None:
    """The object of a text that was accepted before, null when it is none."""
    try:
        return parse_arguments(raw)[0]
    except ValueError:
        return None


def _kind(value: Any) -> str:
    kinds = {list: "an array", str: "a string", bool: "true or false"}
    return kinds.get(type(value), "a number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        known: set[str] = set()
        repeated = next(key for key, _ in pairs if key in known or known.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {preview(repeated)!r} is given twice")
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant, parse_float=finite)


def refusal(name: str, complaint: str, given: str, parameters: Mapping[str, Any]) -> str:
    """The error result of a call that does not run: what is wrong, what was given (bounded), what is expected."""
    return (
        f"Error: the arguments of '{name}' were not accepted, it did not run: {preview(complaint, 500)}\n"
        f"Given: {preview(given)}\nParameters: {_summary(parameters)}"
    )


def _summary(parameters: Mapping[str, Any]) -> str:
    required = parameters.get("required", ())
    known = [
        f"{name} ({_type(schema)}, {'required' if name in required else 'optional'})"
        for name, schema in parameters.get("properties", {}).items()
    ]
    return preview(", ".join(known), 1000) or "none"


def _type(schema: Mapping[str, Any]) -> str:
    """A word for a parameter's type; references and unions are named as roughly as needed."""
    if "enum" in schema:
        return "one of " + "|".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " or ".join(_type(option) for option in schema["anyOf"])
    return str(schema.get("type", "object" if "$ref" in schema else "any"))
