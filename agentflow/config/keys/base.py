"""What a class of keys is: how a mapping of a file becomes a frozen, typed value.

The keys themselves are declared in `agent_keys.py` and `project_keys.py`, one `Field` each. Everything else (the
checks, the suggestions, the JSON Schema, the reference page, the hash) is derived from those declarations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, TypeVar, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidatorFunctionWrapHandler,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from agentflow.config.document.codes import Code
from agentflow.config.document.scalars import read_scalar
from agentflow.config.document.variables import Substituted
from agentflow.config.keys.spellings import Spelling

FREE_PREFIX = "x-"

Value = TypeVar("Value")


def without_free_keys(value: Any) -> Any:
    """A mapping without its `x-*` keys, which are the author's own at any level (A2)."""
    if not isinstance(value, dict):
        return value
    return {key: item for key, item in value.items() if not key.startswith(FREE_PREFIX)}


Items = Annotated[tuple[Value, ...], Field(strict=False)]
"""A list in the file, a tuple in the program."""

Named = Annotated[Mapping[str, Value], BeforeValidator(without_free_keys), AfterValidator(MappingProxyType)]
"""A mapping whose keys are names the author chooses."""


def as_written(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """The text as it came, so that what the file has in its place is still known where it is shown (Z4)."""
    checked = check(value)
    return value if isinstance(value, Substituted) else checked


Verbatim = Annotated[Mapping[str, Any], AfterValidator(MappingProxyType)]
"""A mapping that is handed on as it is."""


COMPLAINTS = "complaints"


@dataclass(frozen=True, slots=True)
class Complaint:
    """What a validator has against a value: `path` starts at what it validates, `line` in a text counts from 1."""

    code: Code
    message: str
    path: tuple[str | int, ...] = ()
    line: int = 0


def complain(complaints: Sequence[Complaint]) -> None:
    """Let a validator fail with all its complaints; without any it passes."""
    if complaints:
        raise PydanticCustomError(COMPLAINTS, "is not valid", {"complaints": tuple(complaints)})


def _as_accepted(schema: dict[str, Any], keys: type[Keys]) -> None:
    """Say in a JSON Schema what validation lets pass besides the keys: free keys, and a text as the short form."""
    schema["patternProperties"] = {f"^{FREE_PREFIX}": {}}
    if keys.forms:
        schema["anyOf"] = [dict(form) for form in keys.forms]
    if keys.short:
        mapping = dict(schema)
        schema.clear()
        schema["anyOf"] = [{"type": "string", "minLength": 1}, mapping]


class Keys(BaseModel):
    """A mapping of a file: unknown keys and wrong types are errors, nothing is converted, the value is frozen.

    `short` names the key that a plain text in place of the mapping means, `forms` are JSON Schemas of which a mapping
    fits one at least, `spellings` are what authors from elsewhere write in a file of these keys.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        validate_default=True,
        json_schema_extra=_as_accepted,
    )

    short: ClassVar[str | None] = None
    forms: ClassVar[Sequence[Mapping[str, Any]]] = ()
    spellings: ClassVar[Sequence[Spelling]] = ()

    @model_validator(mode="before")
    @classmethod
    def _prepare(cls, value: Any) -> Any:
        if isinstance(value, str) and cls.short:
            value = {cls.short: value}
        if not isinstance(value, dict):
            return value
        return cls.completed({key: cls._typed(key, item) for key, item in without_free_keys(value).items()})

    @classmethod
    def completed(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The mapping with what follows from its own keys, before it is checked."""
        return values

    @classmethod
    def cross_check(cls, data: Mapping[str, Any], shared: Mapping[str, str]) -> Iterable[Complaint]:
        """What is wrong between keys of a whole file, whose data may be of any shape; `shared`: see `validate`."""
        return ()

    @classmethod
    def _typed(cls, key: str, value: Any) -> Any:
        """A text from the environment, read like YAML when its key is for numbers or booleans (A3)."""
        field = fields_by_key(cls).get(key)
        if field is None or not isinstance(value, Substituted) or not _is_numeric(field.annotation):
            return value
        try:
            return read_scalar(value)
        except ValueError:
            return value


def fields_by_key(keys: type[Keys]) -> dict[str, FieldInfo]:
    """What a file calls each key, which is another name than the program's where that is a word of Python."""
    return {field.alias or name: field for name, field in keys.model_fields.items()}


def _is_numeric(annotation: Any) -> bool:
    parts = get_args(annotation) or (annotation,)
    return any(part in (int, float, bool) for part in parts)


def keys_below(annotation: Any) -> type[Keys] | None:
    """The class of keys in an annotation: itself, or that of the items of a list or mapping."""
    if isinstance(annotation, type) and issubclass(annotation, Keys):
        return annotation
    return next((found for part in get_args(annotation) if (found := keys_below(part))), None)


def is_container(annotation: Any) -> bool:
    """Whether the annotation is a list or a mapping of values, or null instead."""
    return depth_of(annotation) > 0


def depth_of(annotation: Any) -> int:
    """How many lists and mappings of values are around what the annotation holds: steps that a path has more."""
    own = get_origin(annotation) in (tuple, Mapping)
    return own + max(map(depth_of, get_args(annotation)), default=0)


def class_at(root: type[Keys], path: tuple[str | int, ...]) -> type[Keys]:
    """The class of keys that reads the mapping at `path`."""
    found, steps = root, list(path)
    while steps:
        annotation = fields_by_key(found)[str(steps.pop(0))].annotation
        del steps[: depth_of(annotation)]
        found = keys_below(annotation) or found
    return found


def homes(root: type[Keys], at: str = "") -> Iterator[tuple[str, str]]:
    """Every key of the file with where it belongs: `("lean_history", "under settings")`."""
    for name, field in fields_by_key(root).items():
        yield name, at or "at the top level"
        below = keys_below(field.annotation)
        if below:
            yield from homes(below, _label(name, field.annotation))


def _label(name: str, annotation: Any) -> str:
    if not is_container(annotation):
        return f"under {name}"
    return f"under an entry of {name}"


def plain(value: Any) -> Any:
    """A value as JSON: keys as dicts, tuples as lists."""
    if isinstance(value, Keys):
        return {field.alias or name: plain(getattr(value, name)) for name, field in type(value).model_fields.items()}
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
