"""A whole session's tree in a dict: what `Known` asks, answered without a database."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import count

from agentflow.clock import NewId
from agentflow.conversation.known import Paused
from agentflow.conversation.tree import Branch, Node, Path, Place, chain_under, parent_of
from agentflow.conversation.view import Merge, Write
from agentflow.message import Message, ToolCall, WrittenAs


def numbered(prefix: str = "$new") -> NewId:
    """Fresh ids `$new1`, `$new2`, ..."""
    numbers = count(1)
    return lambda: f"{prefix}{next(numbers)}"


def message(id: str, role: str = "user", content: str = "text", **fields: object) -> Message:
    return Message(id, role, content, **fields)  # type: ignore[arg-type]  # roles and fields come from tests' data


def asking(id: str, *calls: str) -> Message:
    return Message(id, "assistant", "", tuple(ToolCall(call, "look", "{}") for call in calls))


def result(id: str, call: str, content: str = "found") -> Message:
    return Message(id, "tool", content, tool_call_id=call)


class MemoryTree:
    def __init__(self) -> None:
        self.branches: dict[int, Branch] = {}
        self.order: list[Node] = []
        self.contents: dict[str, Message] = {}
        self.head: Node | None = None
        self.root: Place | None = None
        self.questions: set[str] = set()
        self.clients: set[str] = set()
        self.aliases: dict[str, str] = {}
        self._nodes: dict[str, Node] = {}
        self._at: dict[Place, Node] = {}
        self._tips: dict[int, int] = {}

    # What `Known` asks.

    def at(self, place: Place | None) -> Node | None:
        return None if place is None else self._at.get(place)

    def recorded(self, ids: Collection[str]) -> Collection[str]:
        return self.nodes(ids).keys()

    def nodes(self, ids: Collection[str]) -> Mapping[str, Node]:
        named = {id: self._nodes.get(self.aliases.get(id, id)) for id in ids}
        return {id: node for id, node in named.items() if node is not None}

    def results(self, call_ids: Collection[str]) -> Mapping[str, list[Node]]:
        found: dict[str, list[Node]] = {}
        for node in self.order:
            if node.role == "tool" and node.tool_call_id is not None and node.tool_call_id in call_ids:
                found.setdefault(node.tool_call_id, []).append(node)
        return found

    def copies(self, original: str) -> list[Node]:
        return [node for node in self.order if node.copied_from == original]

    def exchange(self, node: Node) -> list[Node]:
        nodes = [node]
        while nodes[0].role == "tool":
            parent = self.parent(nodes[0])
            assert parent is not None
            nodes.insert(0, parent)
        return nodes

    def paused(self, node: Node) -> Paused | None:
        if node.id in self.questions:
            return Paused("questions", node.place)
        heads = [self._nodes[id] for id in self.clients]
        return next((Paused("tools", head.place) for head in heads if node in self.exchange(head)), None)

    # What a test does with it.

    def node(self, id: str) -> Node:
        return self._nodes[id]

    def parent(self, node: Node) -> Node | None:
        place = parent_of(self.branches, node.place)
        return self._at.get(place) if place else None

    def path(self, tip: Node | None = None) -> list[Node]:
        """Root first, read as a store reads it: by the ranges of the path."""
        tip = tip or self.head
        segments = Path.to(self.branches, tip.place if tip else None).segments
        return [self._at[Place(b, depth)] for b, first, last in segments for depth in range(first, last + 1)]

    def ids(self) -> list[str]:
        return [node.id for node in self.path()]

    def add(self, parent: str | None, *messages: Message) -> MemoryTree:
        """Record messages as a chain under a node, and move the head to the last."""
        self._record(self._nodes[parent].place if parent else None, [Write(each.id, each) for each in messages])
        return self

    def move(self, id: str | None) -> MemoryTree:
        self.head = self._nodes[id] if id else None
        return self

    def apply(self, merge: Merge) -> MemoryTree:
        if merge.head_moved:
            self.head, self.root = merge.cursor, merge.place
        if merge.writes:
            self._record(merge.place, merge.writes)
        assert merge.head == (self.head.id if self.head else None)
        return self

    def replace(self, summary: str | None, *kept: str) -> MemoryTree:
        """A `context.replace` (X18): a new root, the summary first, then copies of the kept messages."""
        new_id = numbered(f"{len(self.branches)}-" if summary is None else f"{summary}-")
        first = [] if summary is None else [Write(summary, Message(summary, "user", "S", summary=True))]
        self._record(None, [*first, *(Write(new_id(), original=self._nodes[id]) for id in kept)], "kept")
        return self

    def _record(self, place: Place | None, writes: Iterable[Write], written_as: WrittenAs | None = None) -> None:
        tip = self._tips.get(place.branch, 0) if place else 0
        chain = chain_under(place, tip, len(self.branches) + 1)
        if chain.branch:
            self.branches[chain.branch.number] = chain.branch
        for index, write in enumerate(writes):
            content = write.message or self.contents[write.original.original if write.original else ""]
            node = Node(
                write.id,
                chain.place(index),
                write.role,
                write.calls,
                write.tool_call_id,
                write.turn,
                write.copied_from,
                content.hidden,
                "summary" if content.summary and not write.copied_from else written_as,
            )
            assert node.id not in self._nodes, f"{node.id} is recorded twice"
            assert node.place not in self._at, f"{node.place} is taken"
            self._nodes[node.id] = self._at[node.place] = node
            self._tips[node.place.branch] = node.place.depth
            self.order.append(node)
            self.contents[node.id] = content
            self.head = node
