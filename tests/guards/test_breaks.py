"""The table of deliberate breaks does not rot: each still breaks what it says, and names tests that are there."""

from __future__ import annotations

from tests.breaks.tables import BREAKS


def test_each_break_can_be_made_and_its_tests_are_there() -> None:
    assert {entry.name: problem for entry in BREAKS if (problem := entry.problem()) is not None} == {}


def test_names_are_given_once_and_meanings_are_sentences() -> None:
    names = [entry.name for entry in BREAKS]
    assert sorted(names) == sorted(set(names))
    assert [entry.name for entry in BREAKS if not entry.means.endswith(".")] == []
