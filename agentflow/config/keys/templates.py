"""Templates in prompts: jinja2 in an immutable sandbox, checked before it is rendered, loaded on use."""

from __future__ import annotations

import re
import traceback
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from agentflow.config.document.problems import did_you_mean
from agentflow.text import preview

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.nodes import Node

    from agentflow.config.keys.template_bounds import BoundedEnvironment

VARIABLES = ("inputs", "vars", "session", "today")
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


def together(variables: Mapping[str, Any], texts: Iterable[str]) -> Mapping[str, Any]:
    """The variables for texts that make one prompt: all their templates may make as much as one (Z3)."""
    if sum(map(is_template, texts)) < 2:
        return variables
    from agentflow.config.keys.template_bounds import WORK, Work

    return {**variables, WORK: Work()}


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
    except (RecursionError, SyntaxError):  # the compiler of Python takes 20 blocks within each other
        return [(1, "template error: it is nested too deeply")]
    found = [*_unknown_variables(tree), *(_unknown_inputs(tree, inputs) if inputs is not None else ())]
    outside = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)
    found += [(node.lineno, "template error: a template cannot load other files") for node in tree.find_all(outside)]
    return sorted(set(found))


def render(text: str, variables: Mapping[str, Any]) -> str:
    """The text with its template filled in. Raises `TemplateFault` with the line, whatever an expression raises."""
    if not is_template(text):
        return text
    from agentflow.config.keys.template_bounds import WORK, Work

    try:
        return _template(text).render({WORK: Work(), **variables})
    except RecursionError as error:
        raise TemplateFault("it is nested too deeply, or calls itself without an end", 0) from error
    except Exception as error:  # whatever an expression of the author raises is a fault of the template
        frames = reversed(traceback.extract_tb(error.__traceback__))
        line = next((frame.lineno for frame in frames if frame.filename == "<template>"), 0)
        raise TemplateFault(preview(str(error), 500), line or 0) from error


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
def _environment() -> BoundedEnvironment:
    from jinja2 import StrictUndefined

    from agentflow.config.keys.template_bounds import BoundedEnvironment

    # Nothing is computed while a template is compiled: `9 ** (9 ** 9)` would never end (Z3).
    environment = BoundedEnvironment(
        undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False, optimized=False
    )
    for name in _RANDOM_GLOBALS:
        del environment.globals[name]
    for name in _RANDOM_FILTERS:
        del environment.filters[name]
    return environment


@lru_cache(maxsize=512)
def _template(text: str) -> Template:
    return _environment().from_string(text)
