"""The inputs of a request against what the agent declares under `inputs:`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from agentflow.config.document.problems import did_you_mean
from agentflow.config.keys.input_types import misfit
from agentflow.errors import InvalidInput
from agentflow.secrets.names import is_secret
from agentflow.text import preview, read_json

if TYPE_CHECKING:
    from agentflow.config.keys.agent import InputSpec

Specs = Mapping[str, "InputSpec"]


def check_inputs(specs: Specs, given: Mapping[str, Any]) -> dict[str, Any]:
    """Every declared input with its value: the given one, its default, or None.

    Raises `InvalidInput` for all that are unknown, missing or of the wrong type; `detail["inputs"]` tells why each.
    """
    complaints = {name: f"is not an input of this agent{_known(name, specs)}" for name in given if name not in specs}
    for name, spec in specs.items():
        if name in given and not (given[name] is None and not spec.required):
            if reason := misfit(spec.type, spec.enum, given[name]):
                complaints[name] = reason + _not(name, given[name])
        elif spec.required and name not in given:
            complaints[name] = "is required"
    if complaints:
        raise _invalid(complaints)
    return {name: spec.default if given.get(name) is None else given[name] for name, spec in specs.items()}


def parse_assignments(specs: Specs, assignments: Iterable[str]) -> dict[str, Any]:
    """Inputs from a command line's `key=value` texts, converted by the declared type; unknown keys stay texts.

    Arrays and objects are written as JSON. Raises `InvalidInput` for all that cannot be read, or are given twice.
    """
    values: dict[str, Any] = {}
    complaints: dict[str, str] = {}
    for assignment in assignments:
        name, separator, text = assignment.partition("=")
        if not separator:
            complaints[name] = "is written KEY=VALUE"
        elif name in values:
            complaints[name] = "is given twice"
        else:
            values[name], reason = _converted(specs.get(name), text)
            complaints |= {name: reason + _not(name, text)} if reason else {}
    if complaints:
        raise _invalid(complaints)
    return values


def _converted(spec: InputSpec | None, text: str) -> tuple[Any, str | None]:
    if spec is None or spec.type == "string":
        return text, None
    try:
        value = read_json(text)
    except ValueError:
        value = None
    return value, misfit(spec.type, spec.enum, value)


def _known(name: str, specs: Specs) -> str:
    return did_you_mean(name, list(specs)) or (f"; it has {', '.join(specs)}" if specs else "; it has none")


def _not(name: str, value: Any) -> str:
    return "" if is_secret(name) else f", not {preview(repr(value), 80)}"


def _invalid(complaints: Mapping[str, str]) -> InvalidInput:
    said = "; ".join(f"input {name!r} {reason}" for name, reason in complaints.items())
    return InvalidInput(said[0].upper() + said[1:] + ".", detail={"inputs": dict(complaints)})
