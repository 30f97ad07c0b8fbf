"""What a session has recorded, answered from its rows for the pure merge (C9-C17)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentflow.conversation.known import Paused
from agentflow.conversation.pauses.awaited import TOOLS
from agentflow.conversation.tree import Branch, Branches, Node, Place, parent_of
from agentflow.result import PendingKind
from agentflow.store.sql.transaction import Tx
from agentflow.text import stored_json

_CHUNK = 5000
_COUNTED = 1000
_NODE = (
    "SELECT node.id, node.branch, node.depth, node.role, coalesce(node.calls, original.calls), node.call_id, "
    "node.turn, node.copied_from, coalesce(original.hidden, node.hidden), node.written_as "
    "FROM message AS node LEFT JOIN message AS original "
    "ON original.session_key = node.session_key AND original.id = node.copied_from WHERE node.session_key = ? AND "
)
_ANCESTRY = (
    "WITH RECURSIVE up(number, parent, fork_depth, execution) AS ("
    "SELECT number, parent, fork_depth, execution FROM branch WHERE session_key = ? AND number = ? "
    "UNION ALL SELECT branch.number, branch.parent, branch.fork_depth, branch.execution FROM branch JOIN up "
    "ON branch.number = up.parent AND branch.number < up.number WHERE branch.session_key = ?) "
    "SELECT number, parent, fork_depth, execution FROM up"
)


class KnownRows:
    """Reads the session's own tree, not those of sub-agents (C1), inside one transaction.

    Branches are loaded with the nodes that stand on them.
    """

    def __init__(self, tx: Tx, session_key: int, paused_at: Mapping[Place, PendingKind]) -> None:
        self._tx = tx
        self._key = session_key
        self._paused_at = paused_at
        self._open_exchanges: dict[Place, Paused] | None = None
        self._branches: dict[int, Branch] = {}
        self._of_sub_agents: set[int] = set()

    @property
    def branches(self) -> Branches:
        return self._branches

    def at(self, place: Place | None) -> Node | None:
        """The node at a place."""
        if place is None:
            return None
        self._load(place.branch)
        found = self._tx.all(_NODE + "node.branch = ? AND node.depth = ?", self._key, *place)
        return next(iter(self._nodes(found)), None)

    def recorded(self, ids: Collection[str]) -> Collection[str]:
        """Answered by the index alone; where all of many ids are recorded it only counts them."""
        found: set[str] = set()
        for chunk in _chunks(list(set(ids)), _COUNTED):
            among = f"FROM message WHERE session_key = ? AND id IN ({_marks(chunk)})"
            if self._tx.one(f"SELECT count(*) {among}", self._key, *chunk)[0] == len(chunk):
                found.update(chunk)
            else:
                found.update(id_ for (id_,) in self._tx.all(f"SELECT id {among}", self._key, *chunk))
        return found | self._aliases(set(ids) - found).keys() if len(found) < len(ids) else found

    def nodes(self, ids: Collection[str]) -> Mapping[str, Node]:
        found = {node.id: node for node in self._select("id", ids)}
        targets = self._aliases([id_ for id_ in ids if id_ not in found])
        if targets:
            meant = {node.id: node for node in self._select("id", set(targets.values()))}
            found |= {alias: meant[target] for alias, target in targets.items() if target in meant}
        return found

    def _aliases(self, ids: Collection[str]) -> Mapping[str, str]:
        """What those of the ids stand for that are aliases."""
        return {
            alias: target
            for chunk in _chunks(list(ids))
            for alias, target in self._tx.all(
                "SELECT alias, target FROM alias WHERE session_key = ? AND kind = 'message' "
                f"AND alias IN ({_marks(chunk)})",
                self._key,
                *chunk,
            )
        }

    def results(self, call_ids: Collection[str]) -> Mapping[str, Sequence[Node]]:
        found: dict[str, list[Node]] = {}
        for node in self._select("call_id", call_ids):
            found.setdefault(node.tool_call_id or "", []).append(node)
        return found

    def copies(self, original: str) -> Sequence[Node]:
        return list(self._select("copied_from", [original]))

    def exchange(self, node: Node) -> Sequence[Node]:
        """Results stand under their reply on one path, so the exchange is read upwards from the node."""
        chain = [node]
        while chain[-1].role == "tool":
            above = self.at(parent_of(self._branches, chain[-1].place))
            if above is None:
                raise LookupError(f"message {chain[-1].id} has no parent")
            chain.append(above)
        return chain[::-1]

    def paused(self, node: Node) -> Paused | None:
        if (kind := self._paused_at.get(node.place)) is not None:
            return Paused(kind, node.place)
        if node.role not in ("assistant", "tool") or TOOLS not in self._paused_at.values():
            return None
        if self._open_exchanges is None:
            self._open_exchanges = dict(self._left_to_clients())
        return self._open_exchanges.get(node.place)

    def _left_to_clients(self) -> Iterator[tuple[Place, Paused]]:
        """The places of every exchange that waits for results of a client, which come in any order (C39)."""
        for place, kind in self._paused_at.items():
            head = self.at(place) if kind == TOOLS else None
            for node in self.exchange(head) if head is not None else ():
                yield node.place, Paused(kind, place)

    def _select(self, column: str, values: Collection[str]) -> Iterator[Node]:
        for chunk in _chunks(list(values)):
            yield from self._nodes(
                self._tx.all(
                    f"{_NODE} node.{column} IN ({_marks(chunk)}) ORDER BY node.branch, node.depth", self._key, *chunk
                )
            )

    def _nodes(self, found: Iterable[Sequence[Any]]) -> Iterator[Node]:
        for id_, branch, depth, role, calls, call_id, turn, copied_from, hidden, written_as in found:
            self._load(branch)
            if branch in self._of_sub_agents:
                continue
            asked = tuple(call[0] for call in stored_json(calls)) if calls is not None else ()
            place = Place(branch, depth)
            yield Node(id_, place, role, asked, call_id, turn, copied_from, bool(hidden), written_as)

    def _load(self, branch: int) -> None:
        if branch not in self._branches:
            for number, parent, fork_depth, execution in self._tx.all(_ANCESTRY, self._key, branch, self._key):
                self._branches[number] = Branch(number, parent, fork_depth)
                if execution is not None:
                    self._of_sub_agents.add(number)


def _chunks(values: Sequence[str], size: int = _CHUNK) -> Iterator[Sequence[str]]:
    return (values[start : start + size] for start in range(0, len(values), size))


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))
