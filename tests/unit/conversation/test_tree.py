"""Places, branches and paths (C2, C5, C6)."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentflow.conversation.tree import Branch, Path, Place, Segment, chain_under, newest_on, parent_of

BRANCHES = {1: Branch(1, None, 0), 2: Branch(2, 1, 2), 3: Branch(3, 2, 4), 4: Branch(4, None, 0)}


def test_a_path_is_one_range_for_each_branch_it_crosses_root_first() -> None:
    """C5: a path is a few range reads."""
    path = Path.to(BRANCHES, Place(3, 5))
    assert path.segments == (Segment(1, 1, 2), Segment(2, 3, 4), Segment(3, 5, 5))
    assert len(path) == 5


def test_the_path_of_no_head_is_empty() -> None:
    path = Path.to(BRANCHES, None)
    assert path.segments == ()
    assert len(path) == 0
    assert Place(1, 1) not in path


@pytest.mark.parametrize(
    ("place", "parent"),
    [
        (Place(1, 1), None),
        (Place(4, 1), None),
        (Place(1, 3), Place(1, 2)),
        (Place(2, 3), Place(1, 2)),
        (Place(3, 5), Place(2, 4)),
    ],
)
def test_the_parent_of_a_branchs_first_node_is_the_node_it_forks_from(place: Place, parent: Place | None) -> None:
    assert parent_of(BRANCHES, place) == parent


@pytest.mark.parametrize(
    ("place", "inside"),
    [
        (Place(1, 2), True),
        (Place(1, 3), False),  # below the fork, on the branch that was left
        (Place(2, 4), True),
        (Place(2, 5), False),
        (Place(3, 5), True),
        (Place(4, 1), False),
        (None, True),  # C20: a null anchor matches every path
    ],
)
def test_a_place_is_on_a_path_up_to_the_depth_where_the_path_leaves_its_branch(
    place: Place | None, inside: bool
) -> None:
    assert (place in Path.to(BRANCHES, Place(3, 5))) is inside


def test_a_chain_continues_the_branch_whose_tip_is_the_cursor() -> None:
    chain = chain_under(Place(2, 5), tip_depth=5, next_branch=9)
    assert (chain.branch, chain.place(0), chain.place(2)) == (None, Place(2, 6), Place(2, 8))


def test_a_chain_under_an_earlier_node_forks_there() -> None:
    chain = chain_under(Place(2, 4), tip_depth=5, next_branch=9)
    assert (chain.branch, chain.first) == (Branch(9, 2, 4), Place(9, 5))


def test_a_chain_under_nothing_is_a_new_root() -> None:
    """C1: a session is a forest; C10: a new root when there is no cursor."""
    chain = chain_under(None, tip_depth=0, next_branch=9)
    assert (chain.branch, chain.first) == (Branch(9, None, 0), Place(9, 1))


@dataclass(frozen=True)
class Record:
    name: str
    anchor: Place | None


def test_what_belongs_to_a_place_is_read_along_the_path_in_write_order() -> None:
    """C6: nothing of another branch leaks in; going back finds it again."""
    records = [Record("shared", Place(1, 1)), Record("left", Place(1, 4)), Record("here", Place(2, 3))]
    assert newest_on(Path.to(BRANCHES, Place(2, 3)), records) == records[2]
    assert newest_on(Path.to(BRANCHES, Place(1, 4)), records) == records[1]
    assert newest_on(Path.to(BRANCHES, Place(1, 3)), records) == records[0]
    assert newest_on(Path.to(BRANCHES, Place(4, 1)), records) is None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(min_value=0, max_value=1_000), min_size=1, max_size=40))
def test_ranges_and_parents_describe_the_same_tree(choices: list[int]) -> None:
    """C5: reading a path by ranges gives exactly what following parents gives."""
    branches: dict[int, Branch] = {}
    tips: dict[int, int] = {}
    parents: dict[Place, Place | None] = {}
    for choice in choices:
        cursors = [None, *parents]
        cursor = cursors[choice % len(cursors)]
        chain = chain_under(cursor, tips[cursor.branch] if cursor else 0, len(branches) + 1)
        if chain.branch:
            branches[chain.branch.number] = chain.branch
        assert chain.first not in parents
        parents[chain.first] = cursor
        tips[chain.first.branch] = chain.first.depth
    for place in parents:
        followed: list[Place] = []
        at: Place | None = place
        while at is not None:
            followed.insert(0, at)
            assert parent_of(branches, at) == parents[at]
            at = parents[at]
        path = Path.to(branches, place)
        ranges = [Place(b, depth) for b, first, last in path.segments for depth in range(first, last + 1)]
        assert ranges == followed
        assert len(path) == len(followed) == place.depth
        assert {other for other in parents if other in path} == set(followed)
