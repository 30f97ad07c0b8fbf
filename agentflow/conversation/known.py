"""What a session has recorded, and where a view of it stands (C14, C15).

Ordinary clients send back the ids they have seen, also those of messages that a `context.replace` has copied or
summarized since. On the branch that the replace made such an id means the copy, or the place where the summary stands.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from agentflow.conversation.tree import Branches, Node, Path, Place, parent_of
from agentflow.result import PendingKind


class Paused(NamedTuple):
    """What a paused turn waits for, and where its path ends."""

    kind: PendingKind
    place: Place


class Known(Protocol):
    """What the session has recorded. Asked a constant number of times for each input, in bulk."""

    @property
    def branches(self) -> Branches:
        """At least the branches of the nodes returned, and their ancestors."""
        ...

    def at(self, place: Place | None) -> Node | None:
        """The node at a place, null above every root."""
        ...

    def recorded(self, ids: Collection[str]) -> Collection[str]:
        """Those of the ids that name a node, or are an alias of one (C9, C26)."""
        ...

    def nodes(self, ids: Collection[str]) -> Mapping[str, Node]:
        """By the id asked for, which may be an alias (C26); ids that are not recorded are left out (C9)."""
        ...

    def results(self, call_ids: Collection[str]) -> Mapping[str, Sequence[Node]]:
        """The recorded results of each call, copies included, oldest first; calls without one are left out."""
        ...

    def copies(self, original: str) -> Sequence[Node]:
        """The nodes with this `copied_from`, oldest first."""
        ...

    def exchange(self, node: Node) -> Sequence[Node]:
        """From the assistant message with calls down to this node, which is that message or one of its results."""
        ...

    def paused(self, node: Node) -> Paused | None:
        """The turn that waits at this node for the answer to its question, or for its client somewhere in the exchange
        that the node is in (C27, C39).
        """
        ...


@dataclass(frozen=True, slots=True)
class Stand:
    """Where an input is composed: `cursor` stands at `place`; null is above every root, and so is depth 0 of a branch,
    where nothing stands. `ends_with` is the reply that the input ends with, where that is not the cursor.
    """

    cursor: Node | None
    place: Place | None
    ends_with: Node | None = None


def stand_of(known: Known, active: Path, cursor: Node | None, *, has_news: bool) -> Stand:
    """Where a view stands whose recorded prefix ends in the cursor (C14, C15)."""
    if cursor is None:
        return Stand(None, None)
    first = None if cursor.place in active else _first_copy(known, active)
    meant = cursor if first is None else _copy_of(known, active, cursor)
    if meant is not None:
        meant = meant if has_news or meant.place not in active else _with_hidden(known, active, meant)
        return Stand(meant, meant.place)
    before = None if first is None else _before(known, active, cursor, first)
    if before is None:
        return Stand(cursor, cursor.place)
    is_answer = not has_news and cursor.role == "assistant" and not cursor.calls
    return Stand(known.at(before), before, cursor if is_answer else None)


def _first_copy(known: Known, active: Path) -> Node | None:
    """The first copy that a `context.replace` made on the active path: all of them stand at its root."""
    node = known.at(Place(active.segments[0].branch, 1)) if active.segments else None
    while node is not None and node.written_as and not node.copied_from:
        node = known.at(Place(node.place.branch, node.place.depth + 1))
    return node if node is not None and node.written_as else None


def _copy_of(known: Known, active: Path, cursor: Node) -> Node | None:
    """The copy of the cursor that a replace made on the active path (C15)."""
    copies = [node for node in known.copies(cursor.original) if node.written_as and node.place in active]
    return copies[-1] if copies else None


def _with_hidden(known: Known, active: Path, node: Node) -> Node:
    """The last of the hidden messages that follow the node on the active path, else the node itself (C14)."""
    while (after := known.at(active.at(node.place.depth + 1))) is not None and after.hidden:
        node = after
    return node


def _before(known: Known, active: Path, cursor: Node, first: Node) -> Place | None:
    """The place before the first copy, when the cursor is what stood directly before its original (C15)."""
    # The replace copied the original, or a copy of it that an earlier replace or a view had made.
    for node in (*known.nodes([first.original]).values(), *known.copies(first.original)):
        if node.place not in active and cursor.original in _directly_before(known, node):
            return parent_of(known.branches, first.place) or Place(first.place.branch, 0)
    return None


def _directly_before(known: Known, node: Node) -> list[str]:
    """The originals of what stands before the node: the hidden messages, and one that is seen."""
    originals = []
    above = known.at(parent_of(known.branches, node.place))
    while above is not None:
        originals.append(above.original)
        above = known.at(parent_of(known.branches, above.place)) if above.hidden else None
    return originals
