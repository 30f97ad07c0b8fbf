"""Whether arguments match a tool's JSON Schema, in time that grows no faster than the arguments (T13, Z3).

A schema may come from a client, the arguments come from a model. So patterns are matched in linear time, equal items
are found by one look at each, references are followed so often at most, and nothing is fetched from anywhere.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

_MOST_REFERENCES = 20_000
_MOST_ERRORS = 100
"""How many of the complaints the best one is chosen from."""

# Their checks search every key of an object with patterns that may take for ever: not checked.
_UNCHECKED = frozenset({"patternProperties", "unevaluatedProperties"})
_BY_NAME = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
_DATA = frozenset({"const", "enum", "default", "examples"})

_references: ContextVar[Iterator[int]] = ContextVar("references")


def mismatch(validator: Validator, arguments: Mapping[str, Any]) -> str | None:
    """What is wrong with the arguments, in the schema's words; null when they fit.

    Raises whatever a schema that cannot be applied makes the library raise.
    """
    from jsonschema.exceptions import best_match

    _references.set(iter(range(_MOST_REFERENCES)))
    if validator.is_valid(arguments):
        return None
    _references.set(iter(range(_MOST_REFERENCES)))
    error = best_match(itertools.islice(validator.iter_errors(arguments), _MOST_ERRORS))
    if error is None:
        return None
    place = ".".join(str(part) for part in error.absolute_path)
    return f"{place}: {error.message}" if place else str(error.message)


def validator_of(schema: Mapping[str, Any]) -> Validator:
    """The checks of one schema, to be kept: `mismatch` runs them."""
    from referencing import Registry

    validator: Validator = _checks()(_checkable(schema), registry=Registry())
    return validator


def _checkable(schema: Any) -> Any:
    """The schema without what is not checked; the rest of an object whose keys have patterns is then free too."""
    if isinstance(schema, list):
        return [_checkable(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    left_out = _UNCHECKED | {"additionalProperties"} if "patternProperties" in schema else _UNCHECKED
    return {key: _part(key, value) for key, value in schema.items() if key not in left_out}


def _part(key: str, value: Any) -> Any:
    if key in _DATA:
        return value
    if key in _BY_NAME and isinstance(value, Mapping):
        return {name: _checkable(each) for name, each in value.items()}
    return _checkable(value)


@functools.cache
def _checks() -> Callable[..., Validator]:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    usual = Draft202012Validator.VALIDATORS
    changed = {"pattern": _pattern, "uniqueItems": _unique_items}
    followed = {name: _followed(usual[name]) for name in ("$ref", "$dynamicRef")}
    made: Callable[..., Validator] = extend(  # type: ignore[no-untyped-call]  # the library has no types here
        Draft202012Validator, {**changed, **followed}
    )
    return made


def _followed(usual: Callable[..., Iterator[ValidationError] | None]) -> Callable[..., Iterator[ValidationError]]:
    def follow(validator: Any, reference: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        if next(_references.get(), None) is None:
            raise ValueError("their schema refers to itself too often for arguments of this shape")
        yield from usual(validator, reference, instance, schema) or ()

    return follow


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    matches = _matcher(pattern) if isinstance(instance, str) else None
    if matches is not None and not matches(instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


@functools.lru_cache(maxsize=256)
def _matcher(pattern: str) -> Callable[[str], bool] | None:
    """Whether a text has what the pattern describes; null for a pattern that linear time does not do."""
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        matcher = SchemaValidator(core_schema.str_schema(pattern=pattern))
    except SchemaError:
        return None
    return matcher.isinstance_python


def _unique_items(validator: Any, wanted: bool, instance: Any, schema: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if wanted and isinstance(instance, list):
        seen = {json.dumps(item, sort_keys=True) for item in instance}
        if len(seen) < len(instance):
            yield ValidationError(f"{instance!r} has non-unique elements")
