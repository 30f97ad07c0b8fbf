"""Agent state along the path (C30)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow.conversation.state import Version, next_version, same_json, state_at
from agentflow.conversation.tree import Branch, Path, Place

BRANCHES = {1: Branch(1, None, 0), 2: Branch(2, 1, 1)}
MAIN, OTHER = Path.to(BRANCHES, Place(1, 3)), Path.to(BRANCHES, Place(2, 2))


def test_the_version_written_last_wins_even_at_an_earlier_node() -> None:
    versions = [Version(1, Place(1, 1)), Version(2, Place(1, 3)), Version(3, Place(1, 1))]
    assert state_at(MAIN, versions) == 3


def test_state_of_another_branch_is_not_seen_and_found_again_there() -> None:
    """C6."""
    versions = [Version("root", Place(1, 1)), Version("main", Place(1, 3)), Version("other", Place(2, 2))]
    assert state_at(MAIN, versions) == "main"
    assert state_at(OTHER, versions) == "other"
    assert state_at(Path.to(BRANCHES, Place(1, 2)), versions) == "root"


def test_an_unanchored_version_matches_every_path() -> None:
    versions = [Version({"early": True}, None)]
    assert state_at(MAIN, versions) == state_at(OTHER, versions) == {"early": True}
    assert state_at(Path.to(BRANCHES, None), versions) == {"early": True}


def test_no_version_reads_as_null() -> None:
    assert state_at(MAIN, []) is None


@pytest.mark.parametrize("current", [None, {}, {"a": 1}])
def test_null_keeps_what_is_there(current: Any) -> None:
    assert next_version(current, None, Place(1, 1)) is None


def test_an_empty_object_clears() -> None:
    assert next_version({"a": 1}, {}, Place(1, 2)) == Version({}, Place(1, 2))


def test_an_equal_value_writes_no_version() -> None:
    assert next_version({"a": 1, "b": [2, {"c": 3, "d": 4}]}, {"b": [2, {"d": 4, "c": 3}], "a": 1}, None) is None


@pytest.mark.parametrize(
    ("a", "b"),
    [(True, 1), (1, 1.0), (True, 1.0), (False, 0), ({}, {"a": None}), ([1, 2], [2, 1]), ("1", 1), (None, {})],
)
def test_values_that_python_confuses_are_different_json(a: Any, b: Any) -> None:
    assert not same_json(a, b)
    assert not same_json({"deep": [a]}, {"deep": [b]})
    assert same_json(a, a)
    assert same_json(b, b)
