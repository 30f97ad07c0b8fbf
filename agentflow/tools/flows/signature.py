"""A function's signature as the tool's JSON Schema, and a model's arguments as the function's own types (A6).

pydantic is loaded on the first use: naming a flow, or calling one as a hook, does not need it.
"""

from __future__ import annotations

import datetime
import inspect
import json
import types
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, Optional, get_args, get_origin, get_type_hints

from agentflow.errors import InvalidConfig
from agentflow.text import preview
from agentflow.tools.flows.context import FlowContext
from agentflow.tools.flows.docstrings import parameter_texts
from agentflow.tools.flows.portable_schema import JsonSchema, is_json, portable

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_NO_KEYWORD: Mapping[Any, str] = {
    inspect.Parameter.POSITIONAL_ONLY: "can only be passed by position; remove the '/' before it",
    inspect.Parameter.VAR_POSITIONAL: "takes any number of values; name the parameters, or take one list",
    inspect.Parameter.VAR_KEYWORD: "takes any name; name the parameters, or take one dict",
}


@dataclass(frozen=True)
class Signature:
    """The parameters a model sees (`FlowContext` is hidden), and the way from its arguments to the function's types."""

    parameters: JsonSchema
    adapter: TypeAdapter[dict[str, Any]]

    def convert(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments that match the schema, as models, enums, dates ...; raises `ValueError` with what does not fit."""
        from pydantic import ValidationError

        try:
            # As JSON, which is what they are: strict types take a date or a set from its text or list only there.
            return self.adapter.validate_json(json.dumps(arguments))
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False, include_input=False)
            raise ValueError("; ".join(_misfit(fault["loc"], fault["msg"]) for fault in faults[:3])) from None


def _misfit(location: tuple[int | str, ...], message: str) -> str:
    return f"{'.'.join(map(str, location))}: {preview(message)}"


def context_parameter(function: Callable[..., Any], where: str) -> str | None:
    """The name of the parameter annotated `FlowContext`; raises `InvalidConfig` when annotations cannot be read."""
    hints = type_hints(function, where)
    return next((name for name, hint in hints.items() if name != "return" and _is_context(hint)), None)


def _is_context(hint: Any) -> bool:
    return hint is FlowContext or FlowContext in get_args(hint)


def type_hints(function: Callable[..., Any], where: str) -> dict[str, Any]:
    """The annotations of a function, strings resolved; `FlowContext` is known even when imported for typing only."""
    plain = inspect.unwrap(function)
    known = {"FlowContext": FlowContext, **plain.__globals__}
    try:
        return get_type_hints(plain, known, include_extras=True)
    except Exception as error:  # an annotation is code: it can fail in any way
        unread = {name: said for name in plain.__annotations__ if (said := _unread(plain, name, known)) is not None}
        raise InvalidConfig(
            f"{where}: an annotation cannot be read: {error}", detail={"parameters": unread} if unread else {}
        ) from error


def _unread(function: Callable[..., Any], name: str, known: dict[str, Any]) -> str | None:
    """Why one annotation cannot be read, null when it can."""
    try:
        get_type_hints(types.SimpleNamespace(__annotations__={name: function.__annotations__[name]}), known)
    except Exception as error:
        return f"has an annotation that cannot be read: {_sentence(error)}"
    return None


def describe(function: Callable[..., Any], where: str, *, only: Collection[str] | None = None) -> Signature:
    """The signature of a function as a tool, or of the parameters in `only` of it; `where` names it in errors.

    Raises `InvalidConfig` for parameters that have no type, that a model could not pass by name, or whose type or
    default has no JSON; `detail["parameters"]` says of each by name what is wrong with it.
    """
    hints = type_hints(function, where)
    parameters = {
        name: parameter
        for name, parameter in inspect.signature(function).parameters.items()
        if (name in only if only is not None else not _is_context(hints.get(name)))
    }
    try:
        return _signature(parameters, hints, parameter_texts(function.__doc__))
    except Exception as error:  # a type is code, so describing it can fail in any way
        faults = {name: said for name, each in parameters.items() if (said := _fault(each, hints)) is not None}
        told = "; ".join(f"parameter '{name}' {said}" for name, said in faults.items()) or _indescribable(error)
        raise InvalidConfig(f"{where}: {told}", detail={"parameters": faults} if faults else {}) from error


def _signature(
    parameters: Mapping[str, inspect.Parameter], hints: Mapping[str, Any], texts: Mapping[str, str]
) -> Signature:
    for parameter in parameters.values():
        if said := _complaint(parameter, hints):
            raise ValueError(said)
    types_ = {name: _with_null(_readable(hints[name]), parameter) for name, parameter in parameters.items()}
    adapter = _adapter(parameters, types_, {**_annotated_texts(types_), **texts})
    schema = _schema(adapter)
    for name, parameter in parameters.items():
        if said := _put_default(schema["properties"][name], parameter):
            raise ValueError(said)
    return Signature(schema, adapter)


def _fault(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> str | None:
    """What keeps one parameter by itself from being described, null when nothing does."""
    if said := _complaint(parameter, hints):
        return said
    try:
        hint = _with_null(_readable(hints[parameter.name]), parameter)
        _schema(_adapter({parameter.name: parameter}, {parameter.name: hint}, {}))
    except Exception as error:
        return _indescribable(error)
    return _put_default({}, parameter)


def _with_null(hint: Any, parameter: inspect.Parameter) -> Any:
    """A parameter that is null by default takes null, whatever its type says."""
    return hint if parameter.default is not None or hint is Any else Optional[hint]  # noqa: UP045  # a string too


def _annotated_texts(hints: Mapping[str, Any]) -> dict[str, str]:
    """What `Annotated[type, "a text"]` says of a parameter, as a bare text or as a `Doc`."""
    texts: dict[str, str] = {}
    for name, hint in hints.items():
        for note in getattr(hint, "__metadata__", ()):
            text = note if isinstance(note, str) else getattr(note, "documentation", None)
            if isinstance(text, str) and text.strip():
                texts.setdefault(name, " ".join(text.split()))
    return texts


def _complaint(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> str | None:
    complaint = _NO_KEYWORD.get(parameter.kind)
    if complaint is None and parameter.name not in hints:
        complaint = "has no type; annotate it (`FlowContext` for the context)"
    if complaint is None and type(parameter.default).__name__ == "FieldInfo":
        complaint = "has a Field as its default; write Annotated[type, Field(...)] = default"
    return complaint


def _adapter(
    parameters: Mapping[str, inspect.Parameter], hints: Mapping[str, Any], texts: Mapping[str, str]
) -> TypeAdapter[dict[str, Any]]:
    """The way from JSON to the function's types."""
    from pydantic import TypeAdapter

    return TypeAdapter(_typed_dict(parameters, hints, texts))


def _indescribable(fault: Exception) -> str:
    return f"cannot be described to a model: {_sentence(fault)}"


def _sentence(error: Exception) -> str:
    """What an exception says, on one line and without a library's address."""
    said = " ".join(str(error).split("For further information")[0].split())
    return preview(said, 300) or type(error).__name__


def _typed_dict(parameters: Mapping[str, inspect.Parameter], hints: Mapping[str, Any], texts: Mapping[str, str]) -> Any:
    """A TypedDict rather than a model: any parameter name is allowed, and defaults stay the function's own."""
    import typing_extensions  # pydantic refuses the one of `typing` before Python 3.12
    from pydantic import ConfigDict, Field

    typed_dict: Any = typing_extensions.TypedDict  # its fields are known at run time only

    fields: dict[str, Any] = {}
    for name, parameter in parameters.items():
        hint = Annotated[hints[name], Field(description=texts[name])] if name in texts else hints[name]
        fields[name] = hint if parameter.default is parameter.empty else NotRequired[hint]
    arguments = typed_dict("arguments", fields)
    arguments.__pydantic_config__ = ConfigDict(extra="forbid")
    return arguments


def _schema(adapter: TypeAdapter[dict[str, Any]]) -> JsonSchema:
    from pydantic.json_schema import GenerateJsonSchema

    class Untitled(GenerateJsonSchema):
        def field_title_should_be_set(self, schema: Any) -> bool:
            """Titles only repeat the names, and every request would pay for them."""
            return False

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a default inside a model that is no JSON is left to the model
        schema = portable(adapter.json_schema(schema_generator=Untitled))
    schema.setdefault("properties", {})
    return schema


def _put_default(schema: JsonSchema, parameter: inspect.Parameter) -> str | None:
    """Put the default, if there is one, into the schema, or say why not; what stands for no value, such as a class, is
    left to the function.
    """
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    if parameter.default is parameter.empty:
        return None
    try:
        default = to_jsonable_python(parameter.default)
    except PydanticSerializationError as error:
        if "Unable to serialize" in str(error):
            return None
        return f"has a default that cannot be told to a model: {_sentence(error)}"
    except Exception as error:
        return f"has a default that cannot be told to a model: {_sentence(error)}"
    if not is_json(default):
        return "has a default that cannot be told to a model: it is no JSON"
    schema["default"] = default
    return None


def _readable(hint: Any) -> Any:
    """The hint with the real date classes, where it was read while a test held the clock still, which swaps them (T38);
    and with literals of enums that are taken by their values, which is how JSON has them.
    """
    if isinstance(hint, type) and hint.__module__.startswith("freezegun"):
        return next(base for base in hint.__mro__ if base.__module__ == datetime.__name__)
    if get_origin(hint) is Literal:
        return _by_value(hint)
    arguments = get_args(hint)
    real = tuple(_readable(argument) for argument in arguments)
    if all(a is b for a, b in zip(arguments, real, strict=True)):
        return hint
    return reduce(or_, real) if isinstance(hint, types.UnionType) else get_origin(hint)[real]


def _by_value(literal: Any) -> Any:
    members = {each.value: each for each in get_args(literal) if isinstance(each, Enum)}
    if not members:
        return literal
    from pydantic import BeforeValidator

    return Annotated[literal, BeforeValidator(lambda given: members.get(given, given) if _is_scalar(given) else given)]


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, list | dict)
