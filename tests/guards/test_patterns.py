"""Z3: every regular expression of the package takes linear time, whatever text it meets.

The texts are made of the expression itself: what its beginning matches, then what one of its repeats takes, again and
again, then something that fits nowhere. Times are the thread's own processor time, and compared with each other.
"""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from tests.guards.source import ROOT, files, module_name, tree

FOLDERS = ("agentflow", "cli", "workflows")
SHORT, LONG, WHOLE = 1_000, 8_000, 1_000_000
UNMEASURABLE = 0.002  # seconds; what takes less is no matter at all
METHODS = ("match", "fullmatch", "search", "sub", "finditer", "findall")


def _uses() -> Iterator[tuple[str, int, ast.Call]]:
    for path in files(*FOLDERS):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = node.func.value
                if isinstance(owner, ast.Name) and owner.id == "re":
                    yield str(path.relative_to(ROOT)), node.lineno, node


ONLY_OURS = {"agentflow.turn.decide.reference._MARKED"}  # over a page of our own
MADE_OF_WHAT_IS_KNOWN = {
    "agentflow/secrets/known.py": "an alternation of escaped texts",
    "agentflow/models/errors.py": "the rows of a table, which is a constant of the module",
    "agentflow/turn/decide/reference.py": "only over our own page",
    "agentflow/tools/flows/files.py": "one class of characters, over a path",
    "workflows/frontdesk.py": "one class of characters; an example of a flow, as people write them",
}


def test_expressions_are_constants_of_their_modules() -> None:
    """So that this file sees each of them; one that is written into a call is seen by nobody."""
    inside = {
        f"{path}:{line}"
        for path, line, call in _uses()
        if isinstance(call.func, ast.Attribute)
        and call.func.attr not in ("escape", "error")
        and path not in MADE_OF_WHAT_IS_KNOWN
        and not _is_module_level(path, line)
    }
    assert inside == set()


def _is_module_level(path: str, line: int) -> bool:
    module = tree(ROOT / path)
    return not any(
        node.lineno <= line <= (node.end_lineno or 0)
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def _patterns() -> dict[str, re.Pattern[Any]]:
    found: dict[str, re.Pattern[Any]] = {}
    for path in {ROOT / path for path, _, _ in _uses()}:
        name = module_name(path)
        module = importlib.import_module(name)
        for each, value in vars(module).items():
            for number, pattern in enumerate(_inside(value, 0)):
                found.setdefault(f"{name}.{each}" + (f"[{number}]" if number else ""), pattern)
    return found


def _inside(value: Any, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 4 and isinstance(value, tuple | list | Mapping):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _inside(each, depth + 1)
    elif depth < 4 and is_dataclass(value) and not isinstance(value, type):
        for part in fields(value):
            yield from _inside(getattr(value, part.name), depth + 1)


PATTERNS = _patterns()


def _ways(name: str) -> list[str]:
    """How the expression is used, as far as its module says; a search meets most."""
    constant = name.split("[")[0].rsplit(".", 1)[1]
    used: set[str] = set()
    for path in files(*FOLDERS):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Attribute) and node.attr in METHODS and _called(node.value) == constant:
                used.add(node.attr)
    return sorted(used) or ["search"]


def _called(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _worst(pattern: re.Pattern[Any]) -> list[Callable[[int], str]]:
    """Texts by their length: each way into a repeat, and what the repeat takes, over and over."""
    text = pattern.pattern.decode() if isinstance(pattern.pattern, bytes) else pattern.pattern
    pieces: list[tuple[str, str]] = [("", _sample(re._parser.parse(text, pattern.flags & ~re.DEBUG)))]  # type: ignore[attr-defined]
    _repeats(re._parser.parse(text, pattern.flags), "", pieces)  # type: ignore[attr-defined]
    made: list[Callable[[int], str]] = []
    for before, again in {*pieces, ("", " "), ("", "\n"), ("", "a"), ("", '"'), ("", "\\")}:
        unit = again or "a"
        for end in ("", "\x01"):
            made.append(lambda size, b=before, u=unit, e=end: b + (u * (size // len(u) + 1))[:size] + e)  # type: ignore[misc]
        if before:
            made.append(lambda size, b=before, u=unit: (b + u * 3) * (size // (len(b) + 3 * len(u)) + 1))  # type: ignore[misc]
    return made


def _repeats(parsed: Any, before: str, found: list[tuple[str, str]]) -> str:
    """Collect what leads to each repeat; a text that the whole of it matches."""
    for kind, value in parsed:
        name = str(kind)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, inner = value
            sample = _sample(inner)
            if most > 100:
                found.append((before, sample))
                found.append(("", before + sample))
            _repeats(inner, before, found)
            before += sample * max(least, 1 if most else 0)
        elif name == "SUBPATTERN":
            before = _repeats(value[3], before, found)
        elif name == "ATOMIC_GROUP":
            before = _repeats(value, before, found)
        elif name == "BRANCH":
            before = min([_repeats(each, before, found) for each in value[1]], key=len)
        elif name in ("ASSERT", "ASSERT_NOT"):
            _repeats(value[1], before, found)
        else:
            before += _one(kind, value)
    return before


def _sample(parsed: Any) -> str:
    return _repeats(parsed, "", [])


def _one(kind: Any, value: Any) -> str:
    name = str(kind)
    if name == "LITERAL":
        return chr(value)
    if name in ("ANY", "NOT_LITERAL"):
        return "a" if value != ord("a") else "b"
    if name == "IN":
        return _of_set(value)
    return ""


_CATEGORIES = {"CATEGORY_SPACE": " ", "CATEGORY_DIGIT": "1", "CATEGORY_WORD": "a", "CATEGORY_NOT_SPACE": "a"}


def _of_set(value: Any) -> str:
    if str(value[0][0]) == "NEGATE":
        taken = re.compile(f"[{''.join(re.escape(_one(*each)) for each in value[1:])}]")
        return next((char for char in 'a :x1-_"/.' if not taken.match(char)), "é")
    kind, inner = value[0]
    if str(kind) == "LITERAL":
        return chr(inner)
    if str(kind) == "RANGE":
        return chr(inner[0])
    return _CATEGORIES.get(str(inner), "!")


def _seconds(pattern: re.Pattern[Any], way: str, text: str) -> float:
    given: Any = text.encode("utf-8", "replace") if isinstance(pattern.pattern, bytes) else text
    empty: Any = b"" if isinstance(given, bytes) else ""
    began = time.thread_time()
    if way == "sub":
        pattern.sub(empty, given)
    elif way in ("finditer", "findall"):
        for _ in pattern.finditer(given):
            pass
    else:
        getattr(pattern, way)(given)
    return time.thread_time() - began


@pytest.mark.parametrize("name", sorted(PATTERNS.keys() - ONLY_OURS))
def test_an_expression_takes_linear_time_on_its_worst_text(name: str) -> None:
    pattern = PATTERNS[name]
    for way in _ways(name):
        slowest, worst = 0.0, str
        for text in _worst(pattern):
            short, long = (min(_seconds(pattern, way, text(size)) for _ in range(2)) for size in (SHORT, LONG))
            said = f"{way} of {text(12)!r}…: {short:.4f} s for {SHORT}, {long:.4f} s for {LONG} characters"
            assert long < UNMEASURABLE or long < 24 * max(short, 0.0001), said  # linear: 8 times, quadratic: 64 times
            if long > slowest:
                slowest, worst = long, text  # type: ignore[assignment]
        if slowest:
            assert _seconds(pattern, way, worst(WHOLE)) < 400 * max(slowest, 0.001)  # type: ignore[arg-type]


def test_each_expression_that_a_module_makes_is_among_those_tried() -> None:
    """One in a class, or in a closure of the module, would be made and never tried."""
    made: Counter[str] = Counter(
        path
        for path, line, call in _uses()
        if isinstance(call.func, ast.Attribute) and call.func.attr == "compile" and _is_module_level(path, line)
    )
    seen = {
        path: len({id(each) for value in vars(_module(path)).values() for each in _inside(value, 0)}) for path in made
    }
    assert [path for path, count in made.items() if seen[path] < count] == []


def _module(path: str) -> Any:
    return importlib.import_module(module_name(ROOT / path))
