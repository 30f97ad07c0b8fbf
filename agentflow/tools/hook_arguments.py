"""What `with:` gives a hook's flow: values for its parameters, whose texts are templates (R8).

A parameter that cannot be called what the file calls it, for that is a word of Python, has an underscore behind it:
`as` is given to `as_`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any

from agentflow.config.document.problems import did_you_mean
from agentflow.config.keys.templates import is_template, render
from agentflow.errors import InvalidConfig
from agentflow.tools.flows.context import FlowName
from agentflow.tools.flows.library import Flow
from agentflow.tools.flows.signature import Signature, describe, type_hints


@dataclass(frozen=True, slots=True)
class HookArguments:
    """`written` is the file's, by parameter; `signature` takes those parameters alone from JSON to their types."""

    written: Mapping[str, Any]
    signature: Signature

    def rendered(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        """The values with their templates filled in. Raises `TemplateFault`."""
        return {name: _rendered(value, variables) for name, value in self.written.items()}


def parameter_of(key: str) -> str:
    """The parameter that a key of `with:` gives."""
    return f"{key}_" if iskeyword(key) else key


def find_arguments(
    flow: Flow, given: Mapping[str, Any], context: str | None
) -> tuple[HookArguments | None, list[tuple[tuple[str, ...], str]]]:
    """The arguments ready to be rendered, or what is wrong with them as `(path below with, message)`.

    `context` is the parameter that takes the `FlowContext`. Raises `InvalidConfig` for a signature that cannot be read.
    """
    there_are = [name for name in inspect.signature(flow.function).parameters if name != context]
    unknown = [key for key in given if parameter_of(key) not in there_are]
    if unknown:
        return None, [((key,), _no_parameter(flow, key, there_are)) for key in unknown]
    named = {parameter_of(key): value for key, value in given.items()}
    try:
        signature = describe(flow.function, _title(flow), only=named.keys())
        fixed = {name: value for name, value in named.items() if not _has_template(value)}
        describe(flow.function, _title(flow), only=fixed.keys()).convert(fixed)
    except InvalidConfig as error:
        return None, [((), error.message)]
    except ValueError as error:
        return None, [((), f"does not fit flow '{flow.name}' ({flow.where}): {error}")]
    return HookArguments(named, signature), []


def named_flows(flow: Flow, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The flows that the arguments name, as `(key, reference)`: texts for parameters of the type `FlowName`."""
    hints = type_hints(flow.function, _title(flow))
    for key, value in given.items():
        if hints.get(parameter_of(key)) is FlowName and isinstance(value, str) and not is_template(value):
            yield key, value


def _title(flow: Flow) -> str:
    return f"{flow.where}: flow '{flow.name}'"


def _no_parameter(flow: Flow, key: str, there_are: list[str]) -> str:
    known = [name.removesuffix("_") if iskeyword(name.removesuffix("_")) else name for name in there_are]
    hint = did_you_mean(key, known) or (f"; it has {', '.join(known)}" if known else "; it has none")
    return f"flow '{flow.name}' ({flow.where}) has no parameter {key!r}{hint}"


def _has_template(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_template, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and is_template(value)


def _rendered(value: Any, variables: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {key: _rendered(item, variables) for key, item in value.items()}
    if isinstance(value, list):
        return [_rendered(item, variables) for item in value]
    return render(value, variables) if isinstance(value, str) else value
