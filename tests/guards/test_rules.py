"""Every rule that code and tests cite by its number has its line in docs/rules/."""

from __future__ import annotations

import re

import pytest

from tests.guards.source import FOLDERS, ROOT, files

CITED = re.compile(r"(?<![\w.+-])([ABCDGMPRSTWXZ]\d{1,2})(?![\w-])")
LINE = re.compile(r"^\| ([A-Z]\d{1,2}) \| (.+) \|$", re.MULTILINE)
PAGES = sorted((ROOT / "docs" / "rules").glob("*.md"))
MEANINGS = [found for page in PAGES for found in LINE.findall(page.read_text("utf-8"))]


@pytest.mark.parametrize("folder", [*FOLDERS, "tests"])
def test_every_cited_rule_has_its_line(folder: str) -> None:
    known = {number for number, _ in MEANINGS}
    unknown = {
        f"{path.relative_to(ROOT)}: {number}"
        for path in files(folder)
        for number in CITED.findall(path.read_text("utf-8"))
        if number not in known
    }
    assert unknown == set()


def test_each_rule_is_told_once_and_in_short() -> None:
    numbers = [number for number, _ in MEANINGS]
    assert sorted(numbers) == sorted(set(numbers))
    assert {number for number, meaning in MEANINGS if len(meaning) > 240} == set()
    assert len(numbers) > 150


def test_the_first_page_lists_the_others() -> None:
    first = (ROOT / "docs" / "rules" / "README.md").read_text("utf-8")
    assert {f"({page.name})" for page in PAGES if page.name != "README.md"} <= set(re.findall(r"\([\w.]+\)", first))


def test_every_promise_has_a_test_that_is_there() -> None:
    page = (ROOT / "docs" / "rules" / "promises.md").read_text("utf-8")
    named = re.findall(r"\| `([\w/]+\.py)(?:::(\w+))?` \|$", page, re.MULTILINE)
    assert len(named) == len([line for line in page.splitlines() if line.startswith("| ") and "`" in line]) > 30
    for file, test in named:
        assert f"def {test}" in (ROOT / "tests" / file).read_text("utf-8"), f"{file}::{test}"
