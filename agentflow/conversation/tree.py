"""The message tree as arithmetic: places, branches, paths (C2, C5).

A branch is a run of depths that forks from its parent branch after `fork_depth`; a root branch forks from nothing.
Depths count from 1 at the root, so a node's depth is the length of the path that ends in it. A path is the tip's
branch back to where it forked, then the parent branch back to where that forked: a few ranges, read root first.
Depth 0 of a branch is above its root: what forks there begins anew, beside that branch (C15).

    branch 1 (root)       1 ─ 2 ─ 3 ─ 4          path of (3, 5): (1, 1..2) (2, 3..4) (3, 5..5)
    branch 2 (1, fork 2)      └ 3 ─ 4 ─ 5
    branch 3 (2, fork 4)            └ 5
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from agentflow.message import Role, WrittenAs


class Place(NamedTuple):
    """Where a node stands. A cursor, head or anchor that may be null is `Place | None`: null = above every root."""

    branch: int
    depth: int


class Branch(NamedTuple):
    """`parent` is null for a root, whose `fork_depth` is 0; the branch's first node has depth `fork_depth + 1`."""

    number: int
    parent: int | None
    fork_depth: int


Branches = Mapping[int, Branch]


class Segment(NamedTuple):
    """The nodes of one branch with `first <= depth <= last`."""

    branch: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Node:
    """What the tree knows of a message without its content.

    `calls` are the ids of its tool calls, `turn` the number of its turn, `copied_from` the first original and
    `written_as` what a `context.replace` wrote it as (X18).
    """

    id: str
    place: Place
    role: Role
    calls: tuple[str, ...] = ()
    tool_call_id: str | None = None
    turn: int | None = None
    copied_from: str | None = None
    hidden: bool = False
    written_as: WrittenAs | None = None

    @property
    def original(self) -> str:
        """The id under which the content was first recorded."""
        return self.copied_from or self.id


class Path:
    """The nodes from a root to a tip; empty when the tip is null (C2)."""

    __slots__ = ("_last", "segments")

    def __init__(self, segments: Iterable[Segment]) -> None:
        self.segments = tuple(segments)
        self._last = {segment.branch: segment.last for segment in self.segments}

    @classmethod
    def to(cls, branches: Branches, tip: Place | None) -> Path:
        """The path that ends at `tip`. `branches` holds at least the tip's branch and its ancestors."""
        segments: list[Segment] = []
        while tip is not None:
            branch = branches[tip.branch]
            segments.append(Segment(tip.branch, branch.fork_depth + 1, tip.depth))
            tip = _fork(branch)
        return cls(reversed(segments))

    def __contains__(self, place: Place | None) -> bool:
        """Whether the place lies on this path; null, the place of what is anchored nowhere, lies on every one (C20)."""
        return place is None or place.depth <= self._last.get(place.branch, 0)

    def at(self, depth: int) -> Place | None:
        """Its place of that depth, null when it is shorter."""
        found = (each.branch for each in self.segments if each.first <= depth <= each.last)
        return next((Place(branch, depth) for branch in found), None)

    def __len__(self) -> int:
        return self.segments[-1].last if self.segments else 0


def parent_of(branches: Branches, place: Place) -> Place | None:
    """The place one up on the path, null above a root."""
    branch = branches[place.branch]
    return Place(place.branch, place.depth - 1) if place.depth > branch.fork_depth + 1 else _fork(branch)


def _fork(branch: Branch) -> Place | None:
    if branch.parent is not None and branch.parent >= branch.number:
        raise LookupError(f"branch {branch.number} hangs on a later one")  # every way up has to end
    return None if branch.parent is None else Place(branch.parent, branch.fork_depth)


class Chain(NamedTuple):
    """Where new nodes go, one depth below the other: the first one's place, and the branch to record before them."""

    first: Place
    branch: Branch | None

    def place(self, index: int) -> Place:
        return Place(self.first.branch, self.first.depth + index)


def chain_under(cursor: Place | None, tip_depth: int, next_branch: int) -> Chain:
    """Continue the cursor's branch when the cursor is its last node, else fork there; a new root under null (C10).

    `tip_depth` is the depth of the last node recorded on the cursor's branch, `next_branch` an unused number.
    """
    if cursor is not None and cursor.depth == tip_depth:
        return Chain(Place(cursor.branch, cursor.depth + 1), None)
    parent, fork_depth = cursor or (None, 0)
    return Chain(Place(next_branch, fork_depth + 1), Branch(next_branch, parent, fork_depth))


class Anchored(Protocol):
    """Anything that belongs to a place in the conversation (C6)."""

    @property
    def anchor(self) -> Place | None: ...


AnchoredT = TypeVar("AnchoredT", bound=Anchored)


def newest_on(path: Path, records: Iterable[AnchoredT]) -> AnchoredT | None:
    """Of records in write order, the last whose anchor lies on the path (C6, C30)."""
    newest = None
    for record in records:
        if record.anchor in path:
            newest = record
    return newest
