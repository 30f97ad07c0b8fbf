"""Where a parameter is written: line and column as an editor counts them."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentflow.tools.flows.places import Place, parameter_place

FILE = """\
import functools

def plain(a, b): ...

@functools.cache
@functools.lru_cache(maxsize=None)
async def decorated(
    first: int, /,
    \u00f6l: "str" = "x", *rest: int,
    key: float,
    **others: bytes,
) -> "Nowhere": ...

def oneself(): return lambda inner: inner
"""


@pytest.mark.parametrize(
    ("line", "name", "place"),
    [
        (3, "a", Place(3, 11, "def plain(a, b): ...")),
        (3, "b", Place(3, 14, "def plain(a, b): ...")),
        (5, "first", Place(8, 5, "    first: int, /,")),
        (7, "\u00f6l", Place(9, 5, '    \u00f6l: "str" = "x", *rest: int,')),
        (5, "rest", Place(9, 23, '    \u00f6l: "str" = "x", *rest: int,')),
        (5, "key", Place(10, 5, "    key: float,")),
        (5, "others", Place(11, 7, "    **others: bytes,")),
        (5, "return", Place(12, 6, ') -> "Nowhere": ...')),
        (5, "no_such", Place(7, 1, "async def decorated(")),
        (14, "inner", Place(14, 1, "def oneself(): return lambda inner: inner")),
        (1, "a", Place(1, 1, "import functools")),
        (99, "a", Place(99, 1)),
    ],
)
def test_a_parameter_is_found_where_it_is_written(tmp_path: Path, line: int, name: str, place: Place) -> None:
    """D62: whatever its kind, decorators and letters of several bytes before it."""
    file = tmp_path / "flows.py"
    file.write_text(FILE, encoding="utf-8")
    assert parameter_place(file, line, name) == place


@pytest.mark.parametrize("content", [None, b"def f(:", b"\xff\xfe"])
def test_a_file_that_cannot_be_read_gives_the_line(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "flows.py"
    if content is not None:
        file.write_bytes(content)
    assert parameter_place(file, 7, "x") == Place(7, 1)
