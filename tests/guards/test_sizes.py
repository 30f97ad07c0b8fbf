"""A file or a function that cannot be read at once is split."""

from __future__ import annotations

import ast

from tests.guards.source import FOLDERS, files, tree

FILE_LINES = 400
FUNCTION_LINES = 60


def test_no_file_is_longer_than_400_lines() -> None:
    long = {str(path): count for path in files(*FOLDERS) if (count := path.read_text("utf-8").count("\n")) > FILE_LINES}
    assert long == {}


def test_no_function_is_longer_than_60_lines() -> None:
    long = [
        f"{path}:{node.lineno} {node.name}"
        for path in files(*FOLDERS, "tests")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno + 1 > FUNCTION_LINES
    ]
    assert long == []
