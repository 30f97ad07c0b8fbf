"""What can be read of a file with mistakes in it, so that what it names is looked up all the same (A2)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, get_origin

from pydantic import ValidationError

from agentflow.config.keys.base import Keys, without_free_keys

_NOTHING = object()


def salvaged(keys: type[Keys], data: Any, required: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the keys that can be read, defaults for the others, null for an item of a list that cannot.

    `required` are values for the keys that a file must give.
    """
    given = without_free_keys(data) if isinstance(data, dict) else {}
    return {name: _field(keys, name, given.get(name, _NOTHING), required) for name in keys.model_fields}


def _field(keys: type[Keys], name: str, value: Any, required: Mapping[str, Any]) -> Any:
    annotation = keys.model_fields[name].annotation
    if isinstance(annotation, type) and issubclass(annotation, Keys):
        return annotation.model_construct(**salvaged(annotation, value, {}))
    if get_origin(annotation) is tuple and isinstance(value, list):
        read = [_read(keys, name, [item], required) for item in value]
        return tuple(item[0] if item else None for item in read)
    if get_origin(annotation) is Mapping and isinstance(value, dict):
        found: dict[str, Any] = {}
        for key, item in value.items():
            found |= _read(keys, name, {key: item}, required)
        return MappingProxyType(found)
    return _read(keys, name, value, required)


def _read(keys: type[Keys], name: str, value: Any, required: Mapping[str, Any]) -> Any:
    """The value of one key, its default when it cannot be read."""
    try:
        return getattr(keys.model_validate({**required, **({} if value is _NOTHING else {name: value})}), name)
    except ValidationError:
        return getattr(keys.model_validate(required), name)
