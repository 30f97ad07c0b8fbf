"""Templates in prompts: jinja2 in an immutable sandbox, checked before it is rendered, loaded on use."""

from __future__ import annotations

import re
import traceback
from collections.abc import Collection, Mapping
from datetime import date
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from agentflow.config.document.problems import did_you_mean

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.nodes import Node
    from jinja2.runtime import Context
    from jinja2.sandbox import ImmutableSandboxedEnvironment

VARIABLES = ("inputs", "vars", "session", "today")
_MOST_MADE = 100_000  # bits of a number, characters of a text, items of a list
_WIDE = re.compile(r"%[^%a-zA-Z]{0,20}(?:[0-9]{5}|\*)")
_MARKS = re.compile(r"\{[{%#]")
# A prompt must be the same each time, or no provider could cache it (A1).
_RANDOM_GLOBALS, _RANDOM_FILTERS = ("lipsum",), ("random",)


class TemplateFault(ValueError):
    """A template that cannot be rendered, and the line of it, from 1; 0 when that is not known."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def variables(
    inputs: Mapping[str, Any], vars: Mapping[str, Any], session: Mapping[str, Any], today: date
) -> dict[str, Any]:
    """What a template may speak of, by name."""
    return dict(zip(VARIABLES, (inputs, vars, session, today), strict=True))


def is_template(text: str) -> bool:
    """Whether anything in the text is filled in when it is rendered."""
    return _MARKS.search(text) is not None


def template_complaints(text: str, inputs: Collection[str] | None) -> list[tuple[int, str]]:
    """What can be known to be wrong with a template before it is rendered, as `(line, message)`, lines from 1.

    `inputs` are the declared names, or None when they are not known.
    """
    if not is_template(text):
        return []
    from jinja2 import TemplateSyntaxError, nodes

    try:
        tree = _environment().parse(text)
        _template(text)
    except TemplateSyntaxError as error:
        return [(error.lineno, f"template error: {error.message}")]
    except RecursionError:
        return [(1, "template error: it is nested too deeply")]
    found = [*_unknown_variables(tree), *(_unknown_inputs(tree, inputs) if inputs is not None else ())]
    outside = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)
    found += [(node.lineno, "template error: a template cannot load other files") for node in tree.find_all(outside)]
    return sorted(set(found))


def render(text: str, variables: Mapping[str, Any]) -> str:
    """The text with its template filled in. Raises `TemplateFault` with the line, whatever an expression raises."""
    if not is_template(text):
        return text
    try:
        return _template(text).render(variables)
    except Exception as error:  # whatever an expression of the author raises is a fault of the template
        frames = reversed(traceback.extract_tb(error.__traceback__))
        line = next((frame.lineno for frame in frames if frame.filename == "<template>"), 0)
        raise TemplateFault(str(error), line or 0) from error


def _unknown_variables(tree: Any) -> list[tuple[int, str]]:
    from jinja2 import meta, nodes

    tracker = meta.TrackingCodeGenerator(_environment())
    tracker.optimizer = None  # as in `_environment`: looking at a template computes nothing
    tracker.visit(tree)
    unknown = tracker.undeclared_identifiers - {*VARIABLES, *_environment().globals}
    return [
        (node.lineno, f"template variable {node.name!r} does not exist{_variable_hint(node.name)}")
        for node in tree.find_all(nodes.Name)
        if node.name in unknown and node.ctx == "load"
    ]


def _variable_hint(name: str) -> str:
    return did_you_mean(name, VARIABLES) or f"; there are {', '.join(VARIABLES)}"


def _unknown_inputs(tree: Any, inputs: Collection[str]) -> list[tuple[int, str]]:
    from jinja2 import nodes

    found = []
    for node in tree.find_all((nodes.Getattr, nodes.Getitem)):
        name = _input_name(node)
        if name is not None and name not in inputs and not hasattr(dict, name):
            found.append((node.lineno, f"inputs.{name} is not declared under inputs{did_you_mean(name, list(inputs))}"))
    return found


def _input_name(node: Node) -> str | None:
    """The NAME of `inputs.NAME` or `inputs["NAME"]`."""
    from jinja2 import nodes

    owner = getattr(node, "node", None)
    if not isinstance(owner, nodes.Name) or owner.name != "inputs":
        return None
    if isinstance(node, nodes.Getattr):
        return node.attr
    key = getattr(node, "arg", None)
    return str(key.value) if isinstance(key, nodes.Const) else None


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    from jinja2 import StrictUndefined, pass_context
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    # Nothing is computed while a template is compiled: `9 ** (9 ** 9)` would never end (Z3). A constant is kept
    # from being finalized early by a finalizer that asks for the context.
    class Bounded(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset({"**", "*", "%"})

        def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
            _refuse_large(operator, left, right)
            return super().call_binop(context, operator, left, right)

    environment = Bounded(
        undefined=StrictUndefined, keep_trailing_newline=True, finalize=pass_context(_nothing_for_none),
        autoescape=False, optimized=False,
    )  # fmt: skip
    for name in _RANDOM_GLOBALS:
        del environment.globals[name]
    for name in _RANDOM_FILTERS:
        del environment.filters[name]
    return environment


def _refuse_large(operator: str, left: Any, right: Any) -> None:
    """Refuse what one operation could make a number or a text of, larger than any prompt needs (Z3)."""
    numbers = [each for each in (left, right) if isinstance(each, int)]
    lengths = [len(each) for each in (left, right) if isinstance(each, str | bytes | list | tuple)]
    made = 0
    if operator == "**" and len(numbers) == 2:
        made = left.bit_length() * abs(right)
    elif operator == "*":
        made = lengths[0] * abs(numbers[0]) if lengths and numbers else sum(each.bit_length() for each in numbers)
    elif operator == "%" and isinstance(left, str) and _WIDE.search(left):
        made = _MOST_MADE + 1
    if made > _MOST_MADE:
        raise ValueError(f"'{operator}' would make more here than a prompt may hold")


def _nothing_for_none(_: Context, value: Any) -> Any:
    return "" if value is None else value


@lru_cache(maxsize=512)
def _template(text: str) -> Template:
    return _environment().from_string(text)
