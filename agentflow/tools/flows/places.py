"""Where a parameter of a function is written, for messages about it. Reads the file and runs nothing."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file; `line` and `column` count from 1, `source` is the line, empty where it cannot be read."""

    line: int
    column: int
    source: str = ""


def parameter_place(path: Path, line: int, name: str) -> Place:
    """Where a parameter of the function stands whose code begins at `line`; that line where it cannot be found.

    `return` is the annotation of the result.
    """
    try:
        text = path.read_text("utf-8")
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError, RecursionError):
        return Place(line, 1)
    lines = text.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and line in (_first_line(node), node.lineno):
            return _place(_parameter(node, name) or node, lines)
    return Place(line, 1, _line(lines, line))


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def _parameter(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> ast.expr | ast.arg | None:
    if name == "return":
        return node.returns
    given = node.args
    every = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    return next((each for each in every if each is not None and each.arg == name), None)


def _place(node: ast.expr | ast.arg | ast.stmt, lines: list[str]) -> Place:
    source = _line(lines, node.lineno)
    before = source.encode()[: node.col_offset].decode(errors="replace")  # ast counts bytes
    return Place(node.lineno, len(before) + 1, source)


def _line(lines: list[str], number: int) -> str:
    return lines[number - 1] if number <= len(lines) else ""
