"""How much a template may do while it is rendered: every step, call, filter and value it makes is counted (Z3).

Counting stands in the code a template is compiled to, so nothing the template says gets round it: what an operation is
about to make is worked out before it is made, and one rendering has so much work and no more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Sequence, Set, ValuesView
from functools import update_wrapper
from typing import Any

from jinja2 import nodes, pass_context
from jinja2.compiler import CodeGenerator
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from agentflow.bounds.weight import MAX_LEVELS

MOST_MADE = 100_000  # bits of a number, characters or items that one operation adds
MOST_BITS = 4_000  # of a number, which counts by its square
MOST_WORK = 4_000_000  # characters and values that one prompt makes or goes through, in 50 ms at most
WORK = "(work)"  # the name of the rendering's `Work` among its variables; no template can write it

_VALUE, _STEP, _CALL = 60, 150, 600  # what each costs beside its characters: as many of these take as long
_OF_A_RANGE = 8  # each number of a range, which is made when something goes through it
_BY_VALUE = ("groupby", "max", "min", "sort", "unique")
# How much longer than a copy a filter, a test or a method takes for what it is given; most take `_OTHERS`.
_OTHERS = 2
_TIMES = {
    "urlize": 120,
    **dict.fromkeys(("encode", "wordwrap"), 80),
    **dict.fromkeys(("count", "index", "pprint", "reject", "select", "title", "tojson", "wordcount"), 8),
    **dict.fromkeys(_BY_VALUE, 4),
}
_MADE, _STEPS = "(made)", "(steps)"
_WIDE_PERCENT = re.compile(r"%[^%a-zA-Z]{0,20}(?:[0-9]{5}|\*)")
_WIDE_BRACES = re.compile(r"[0-9]{5}|:[^{}]{0,20}\{")
_SLOW = 40  # how much longer than a copy a filter takes that searches for markup


class Work:
    """What one rendering may still do."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MOST_WORK

    def spend(self, amount: int) -> None:
        """Raises `ValueError` when nothing is left."""
        self.left -= amount
        if self.left < 0:
            raise ValueError("it makes more than a prompt may hold")

    def take(self, value: Any) -> Any:
        """Count a value, and give it back; what would be made one by one is made now, as a list."""
        if isinstance(value, Iterator) and not isinstance(value, LoopContext):
            value = list(self.steps(value))
        self.spend(_size(value, self.left))
        return value

    def work_on(self, values: Iterable[Any], times: int) -> list[Any]:
        """Count values that are gone through so many times, and give them back."""
        before = self.left
        taken = [self.take(each) for each in values]
        self.spend((before - self.left) * (times - 1))
        return taken

    def steps(self, items: Iterable[Any]) -> Iterator[Any]:
        """The same items, each counted when it is asked for."""
        for each in items:
            self.spend(_STEP)
            yield each


def _size(value: Any, most: int) -> int:
    """The characters and values in a value, however often it holds the same one. Raises `ValueError` over `most`."""
    total, level = 0, [value]
    for _ in range(MAX_LEVELS + 1):
        inner: list[Any] = []
        for each in level:
            if isinstance(each, str | bytes):
                total += len(each)
            elif isinstance(each, int):
                if each.bit_length() > MOST_BITS:
                    raise ValueError(f"a number has more than {MOST_BITS:,} bits")
                total += each.bit_length() // 4
            elif isinstance(each, range):
                total += len(each) * _OF_A_RANGE
            held = _held(each)
            total += _VALUE
            if total + _VALUE * len(held) > most:
                raise ValueError("it makes more than a prompt may hold")
            inner.extend(held)
        if not inner:
            return total
        level = inner
    raise ValueError(f"a value is nested more than {MAX_LEVELS} levels deep")


def _held(value: Any) -> Sequence[Any]:
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, Set | KeysView | ValuesView):
        return list(value)
    return value if isinstance(value, list | tuple) else ()


def _widest(value: Any, given: Sequence[Any]) -> int:
    return max((abs(each) for each in given if isinstance(each, int)), default=0)


def _indented(value: Any, given: Sequence[Any]) -> int:
    width = max(_widest(value, given), *(len(each) for each in given if isinstance(each, str)), 4)
    return (str(value).count("\n") + 1) * width


def _replaced(value: Any, given: Sequence[Any]) -> int:
    texts = [each for each in given if isinstance(each, str | bytes)]
    if len(texts) < 2 or not isinstance(value, type(texts[0])):
        return 0
    return int(value.count(texts[0])) * len(texts[1])  # type: ignore[arg-type]  # one kind, just looked at


def _between(text: Any, items: Any) -> int:
    return len(text) * (len(items) if hasattr(items, "__len__") else MOST_MADE) if isinstance(text, str | bytes) else 0


def _percent(value: Any, given: Sequence[Any]) -> int:
    return MOST_MADE + 1 if isinstance(value, str | bytes) and _is_wide(value) else 0


def _is_wide(text: str | bytes) -> bool:
    return _WIDE_PERCENT.search(text if isinstance(text, str) else text.decode("latin-1")) is not None


# What a filter or a method adds to its value, from the value and what it is given, worked out before it is called.
_MAKES: dict[str, Callable[[Any, Sequence[Any]], int]] = {
    **dict.fromkeys(("center", "ljust", "rjust", "zfill", "to_bytes", "batch", "slice"), _widest),
    "expandtabs": lambda value, given: len(value) * max(_widest(value, given), 8),
    "format": _percent,
    "indent": _indented,
    "replace": _replaced,
    "round": lambda value, given: 0 if _widest(value, given) <= 300 else MOST_MADE + 1,
    "sum": lambda value, given: _size(value, MOST_WORK) * sum(isinstance(each, Sequence) for each in given),
    "tojson": lambda value, given: _size(value, MOST_WORK) * _widest(value, given),
    "translate": lambda value, given: len(value) * max(_size(each, MOST_WORK) for each in given),
    "wordwrap": lambda value, given: len(str(value)) * max((len(x) for x in given if isinstance(x, str)), default=1),
    **dict.fromkeys(_BY_VALUE, lambda value, given: len(value) * _SLOW if isinstance(value, str) else 0),
    **dict.fromkeys(
        ("pprint", "striptags", "unescape", "urlize", "xmlattr"), lambda value, given: _size(value, MOST_WORK) * _SLOW
    ),
}
_MOST = dict.fromkeys(("pprint", "striptags", "sum", "tojson", "unescape", "urlize", "wordwrap", "xmlattr"), 1_000_000)


def _refuse_what_makes_too_much(name: str, value: Any, given: Sequence[Any], *, method: bool = False) -> None:
    if name == "join":
        made = _between(value, given[0]) if method and given else _between(given[0] if given else "", value)
    else:
        made = _MAKES[name](value, given) if name in _MAKES else 0
    if made > _MOST.get(name, MOST_MADE):
        raise ValueError(f"'{name}' would make more here than a prompt may hold")


def refuse_large(operator: str, left: Any, right: Any) -> None:
    """Refuse what one operation could make a number or a text of, larger than any prompt needs."""
    numbers = [each for each in (left, right) if isinstance(each, int)]
    most = MOST_BITS if len(numbers) == 2 else MOST_MADE
    lengths = [len(each) for each in (left, right) if isinstance(each, str | bytes | list | tuple)]
    made = 0
    if operator == "**" and len(numbers) == 2:
        made = left.bit_length() * abs(right)
    elif operator == "*":
        made = lengths[0] * abs(numbers[0]) if lengths and numbers else sum(each.bit_length() for each in numbers)
    elif operator == "%":
        made = _percent(left, ())
    if made > most:
        raise ValueError(f"'{operator}' would make more here than a prompt may hold")


def _counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter or a test that counts what it is given and what it makes."""
    wants = getattr(getattr(function, "jinja_pass_arg", None), "name", None)

    @pass_context
    def call(context: Context, value: Any, *given: Any, **named: Any) -> Any:
        work: Work = context.parent[WORK]
        work.spend(2 * _STEP)
        value, *inside = work.work_on((value, *given, *named.values()), _TIMES.get(name, _OTHERS))
        _refuse_what_makes_too_much(name, value, inside)
        first = {"context": context, "eval_context": context.eval_ctx, "environment": context.environment}
        return work.take(function(*([first[wants]] if wants else []), value, *given, **named))

    return call


@pass_context
def _made(context: Context, value: Any) -> Any:
    return context.parent[WORK].take(value)


@pass_context
def _steps(context: Context, items: Any) -> Iterator[Any]:
    work: Work = context.parent[WORK]
    return work.steps(items)


@pass_context
def _shown(context: Context, value: Any) -> Any:
    """Each piece of the text, and nothing for null."""
    return "" if value is None else context.parent[WORK].take(value)


class _Unseen(Namespace):
    """A namespace that shows nothing of what it holds: that may hold it in turn."""

    def __repr__(self) -> str:
        return "<namespace>"


class _Counting(NodeTransformer):
    """A template's tree with a filter around all that takes a step or makes a value."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        self.generic_visit(node)
        node.iter = _around(node.iter, _STEPS)
        return node

    def visit_Output(self, node: nodes.Output) -> nodes.Node:
        self.generic_visit(node)
        node.nodes = [
            nodes.Const(each.data, lineno=each.lineno) if isinstance(each, nodes.TemplateData) else each
            for each in node.nodes
        ]
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        node.nodes = [_around(each, _MADE) for each in node.nodes]
        return _around(node, _MADE)

    def _value(self, node: Any) -> nodes.Node:
        self.generic_visit(node)
        return node if getattr(node, "ctx", "load") != "load" else _around(node, _MADE)

    visit_List = visit_Tuple = visit_Dict = _value

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        self.generic_visit(node)
        return _around(node, _MADE) if isinstance(node.arg, nodes.Slice) else node

    def _compared(self, node: Any) -> nodes.Node:
        self.generic_visit(node)
        node.expr = _around(node.expr, _MADE)
        return node  # type: ignore[no-any-return]  # a node as it came

    visit_Compare = visit_Operand = _compared


def _around(node: Any, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


class CountingCode(CodeGenerator):
    """Compiles a template with all its counting."""

    def visit_Template(self, node: nodes.Template, frame: Any = None) -> None:
        """The tree is the generator's own: it was parsed to be compiled."""
        _Counting().visit(node)
        super().visit_Template(node, frame)


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """An immutable sandbox that counts; its templates are rendered with a `Work` under the name `WORK`."""

    code_generator_class = CountingCode
    intercepted_binops = frozenset({"**", "*", "%", "+"})

    def __init__(self, **options: Any) -> None:
        super().__init__(finalize=_shown, **options)
        self.globals["namespace"] = _Unseen
        self.filters = {name: _counted(name, function) for name, function in self.filters.items()}
        self.filters |= {_MADE: _made, _STEPS: _steps}
        tests: Mapping[str, Any] = self.tests
        self.tests = {name: _counted(f"is {name}", function) for name, function in tests.items()}

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """One of the intercepted operations."""
        refuse_large(operator, left, right)
        return context.parent[WORK].take(super().call_binop(context, operator, left, right))

    def call(__self, __context: Context, __obj: Any, *given: Any, **named: Any) -> Any:  # named as the base names them
        """A call of a method, a macro or a function."""
        work: Work = __context.parent[WORK]
        work.spend(_CALL)
        owner, name = getattr(__obj, "__self__", None), getattr(__obj, "__name__", "")
        if isinstance(__obj, LoopContext):
            given = tuple(work.steps(each) for each in given)
        else:
            is_plain = isinstance(owner, str | bytes | int)
            seen = (owner, *given, *named.values()) if is_plain else (*given, *named.values())
            inside = work.work_on(seen, _TIMES.get(name, _OTHERS) if is_plain else 1)[is_plain:]
            if is_plain:
                _refuse_what_makes_too_much(name, owner, inside, method=True)
        return work.take(super().call(__context, __obj, *given, **named))

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """`format` of a text, with no field wider than a prompt."""
        wrapped = super().wrap_str_format(value)
        if wrapped is None:
            return None
        text: str = value.__self__

        def bounded(*given: Any, **named: Any) -> str:
            inside = [*given, *named.values()]
            made = text.count("{") * max((_size(each, MOST_WORK) for each in inside), default=0)
            if made > MOST_WORK // 4 or _WIDE_BRACES.search(text):
                raise ValueError("'format' would make more here than a prompt may hold")
            return wrapped(*given, **named)

        return update_wrapper(bounded, wrapped)
