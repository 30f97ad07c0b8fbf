"""Merging what a client sends into the tree (C9–C17): what is written, and where the head stands after it.

Pure: `Known` answers what the session has recorded, `new_id` mints ids, the outcome is a `Merge`; nothing is written
here, so it can run again at delivery. A view is walked once: while its messages are recorded the cursor follows
them, the first that is not starts the news, and the news are written as one chain under the cursor.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NoReturn

from agentflow.clock import NewId
from agentflow.conversation import wire
from agentflow.conversation.known import Known, Paused, Stand, stand_of
from agentflow.conversation.pauses.awaited import QUESTIONS, TOOLS
from agentflow.conversation.tree import Node, Path, Place
from agentflow.errors import InvalidInput
from agentflow.message import Message, Role
from agentflow.result import PendingKind

NOT_RUN = "not run on this branch"


@dataclass(frozen=True, slots=True)
class Write:
    """A node to record: a new message, or a copy, which keeps content and turn of its original (C10).

    Exactly one of `message` and `original` is given; a message has this same `id`.
    """

    id: str
    message: Message | None = None
    original: Node | None = None

    @property
    def copied_from(self) -> str | None:
        return self.original.original if self.original else None

    @property
    def turn(self) -> int | None:
        """The turn a copy keeps; null = the turn that writes."""
        return self.original.turn if self.original else None

    @property
    def role(self) -> Role:
        return self._either.role

    @property
    def tool_call_id(self) -> str | None:
        return self._either.tool_call_id

    @property
    def calls(self) -> tuple[str, ...]:
        either = self._either
        return either.calls if isinstance(either, Node) else tuple(call.id for call in either.tool_calls)

    @property
    def _either(self) -> Message | Node:
        either = self.message or self.original
        assert either is not None
        return either


@dataclass(frozen=True, slots=True)
class Merge:
    """What an input does to the tree.

    In this order: when `head_moved`, the head moves to `place`, where `cursor` stands (`head.moved`); then `writes` are
    recorded as one chain under it; the head is then `head`. Null is above every root, and so is depth 0 of a branch,
    where nothing stands (C15). `news` are the messages as delivered, their ids given: the trigger's
    `messages` are the view up to `new_from`, or the path, and then these (C12). When `paused`, nothing is written:
    the news answer what the turn there waits for, without news it stays pending (C26, C27, C39). `ends_with` is the
    reply that the view ends with, where the cursor is another message: there is nothing to answer (C13).
    """

    writes: tuple[Write, ...]
    cursor: Node | None
    head: str | None
    head_moved: bool
    new_from: int
    news: tuple[Message, ...]
    paused: Paused | None = None
    place: Place | None = None
    ends_with: Node | None = None


def merge(
    known: Known, head: Node | None, view: Sequence[Message], new_id: NewId, *, root: Place | None = None
) -> Merge:
    """Merge a client's full view (C9–C17). `head` is the active leaf, null for an empty path; `root` says where an
    empty path stands, when that is beside a branch.

    Raises `InvalidInput` when the path would stay empty (C14), when the news split an exchange (C16), when a new
    message has a field of the engine (Z6), or when the news meet a pending question with other roles than user (C27).
    """
    recorded = _Recorded(known, head, view, root)
    if not view:
        return _compose(recorded, Stand(head, recorded.tip), 0, (), new_id)
    cursor, new_from = recorded.walk(view)
    stand = stand_of(known, recorded.active, cursor, has_news=new_from < len(view))
    return _compose(recorded, stand, new_from, view[new_from:], new_id)


def unerased(known: Known, head: Node | None, view: Sequence[Message]) -> Sequence[Message]:
    """What counts of a view where ended turns are erased (R5): what stands from the first recorded message of the
    turn that waits on, else what follows the view's last assistant message.
    """
    recorded = known.recorded({message.id for message in view if message.id}) if head is not None else ()
    first = next((index for index, message in enumerate(view) if message.id in recorded), None)
    if first is not None:
        return view[first:]
    answers = [index for index, message in enumerate(view) if message.role == "assistant"]
    return view[answers[-1] + 1 :] if answers else view


def append(
    known: Known, head: Node | None, messages: Sequence[Message], new_id: NewId, *, root: Place | None = None
) -> Merge:
    """Compose `client.message` or `client.append` against the path that ends in `head` (C7, C12).

    What is recorded anywhere in the session is dropped. Raises `InvalidInput` as `merge` does.
    """
    recorded = _Recorded(known, head, messages, root)
    new_from = head.place.depth if head else 0
    return _compose(recorded, Stand(head, recorded.tip), new_from, recorded.unknown(messages), new_id)


class _Recorded:
    """One input against the tree: what of it is recorded, looked up in bulk.

    A view may have thousands of messages and all of them recorded: of most only that is asked, not the node.
    """

    def __init__(self, known: Known, head: Node | None, messages: Sequence[Message], root: Place | None) -> None:
        self.known = known
        self.head = head
        self.tip = head.place if head else root
        self.active = Path.to(known.branches, self.tip)
        self._ids = known.recorded({message.id for message in messages if message.id})
        self._nodes: dict[str, Node] = {}
        self._results = self.results(
            {m.tool_call_id for m in messages if m.role == "tool" and m.tool_call_id and m.id not in self._ids}
        )

    def results(self, call_ids: Collection[str]) -> Mapping[str, Sequence[Node]]:
        return self.known.results(call_ids) if call_ids else {}

    def node(self, message: Message, after: Node | None, asked: Collection[str] = ()) -> Node | None:
        """The node this message is: by its id (C9), else a tool message by the call it answers (C16).

        `after` is the node before it. A call `asked` by a new message of the same input has its result there too:
        clients that number their calls afresh must not get an old result in place of theirs.
        """
        if message.id in self._ids:
            return self._node(message.id)
        if message.role == "tool" and message.tool_call_id not in asked:
            return self.meant(self._results.get(message.tool_call_id or "", ()), after)
        return None

    def _node(self, id_: str) -> Node:
        if id_ not in self._nodes:
            self._nodes.update(self.known.nodes([id_]))
        if id_ not in self._nodes:
            raise InvalidInput(
                f"The message '{id_}' is a sub-agent's and not part of the conversation; leave it out of the view.",
                detail={"message_id": id_},
            )
        return self._nodes[id_]

    def meant(self, results: Sequence[Node], after: Node | None) -> Node | None:
        """Of several results of one call, the next one on the active path, else the oldest (C16)."""
        active = [node for node in results if node.place in self.active]
        below = [node for node in active if after is None or node.place.depth > after.place.depth]
        return next(iter([*below, *reversed(active), *results]), None)

    def walk(self, view: Sequence[Message]) -> tuple[Node | None, int]:
        """The last node of the recorded prefix, and the index of the first message after it (C10, C14)."""
        cursor: Node | str | None = None  # the id alone, as long as nothing but that is asked
        for index, message in enumerate(view):
            if message.id in self._ids:
                cursor = message.id
                continue
            cursor = self._node(cursor) if isinstance(cursor, str) else cursor
            node = self.node(message, cursor)
            if node is None:
                return cursor, index
            cursor = node
        return self._node(cursor) if isinstance(cursor, str) else cursor, len(view)

    def unknown(self, messages: Sequence[Message]) -> list[Message]:
        """The messages that are not recorded yet (C7)."""
        asked: set[str] = set()
        unknown = []
        for message in messages:
            if message.id not in self._ids and self.node(message, self.head, asked) is None:
                asked.update(call.id for call in message.tool_calls)
                unknown.append(message)
        return unknown

    def writes(self, news: Sequence[Message], cursor: Node | None, new_id: NewId, new_from: int) -> list[Write]:
        """Every message of the news: a recorded one as a copy, a repeated new id under a fresh one (C10).

        The news are the input's messages from index `new_from` on. Raises `InvalidInput` for a new one with a field
        of the engine (Z6).
        """
        asked: set[str] = set()
        used: set[str] = set()
        writes = []
        self._nodes.update(self.known.nodes({message.id for message in news if message.id in self._ids}))
        for index, message in enumerate(news, new_from):
            original = self.node(message, cursor, asked)
            if original is not None:
                cursor = original
                writes.append(Write(new_id(), original=original))
                continue
            wire.refuse_engine_fields(message, f"messages[{index}]")
            named = _named(message, message.id if message.id and message.id not in used else new_id())
            used.add(named.id)
            if message.tool_calls:
                asked.update(call.id for call in message.tool_calls)
            writes.append(Write(named.id, named))
        return writes


def _compose(recorded: _Recorded, stand: Stand, new_from: int, news: Sequence[Message], new_id: NewId) -> Merge:
    cursor, place = stand.cursor, stand.place
    writes = recorded.writes(news, cursor, new_id, new_from)
    delivered = tuple([_named(message, write.id) for message, write in zip(news, writes, strict=True)])
    moves = place is not None and place != recorded.tip
    if cursor is not None and (paused := recorded.known.paused(cursor)) is not None:
        _refuse_other_roles(paused.kind, news)
        if paused.kind != QUESTIONS:  # results that are recorded already come along in every view
            news = [message for message, write in zip(news, writes, strict=True) if write.message is not None]
        return Merge((), cursor, cursor.id, moves, new_from, tuple(news), paused=paused, place=place)
    if cursor is None and not writes and stand.ends_with is None:
        raise InvalidInput("Nothing to answer: the conversation is empty and the input adds no message to it.")
    completed, still_open = _complete(recorded, cursor, writes, new_id)
    _refuse_split(still_open, writes)
    chain = (*completed, *writes)
    head = chain[-1].id if chain else cursor.id if cursor else None
    return Merge(chain, cursor, head, moves and not writes, new_from, delivered, place=place, ends_with=stand.ends_with)


def _complete(
    recorded: _Recorded, cursor: Node | None, writes: Sequence[Write], new_id: NewId
) -> tuple[list[Write], list[str]]:
    """The results that are missing when the cursor lies inside an exchange, and the calls that the news answer (C16).

    Also without news: the turn that follows reads the path, and a model accepts only whole exchanges.
    """
    if cursor is None or not (cursor.calls or cursor.role == "tool"):
        return [], []
    asking, *results = recorded.known.exchange(cursor)
    answered = {node.tool_call_id for node in results}
    given = {write.tool_call_id for write in takewhile(lambda write: write.role == "tool", writes)}
    unanswered = [call for call in asking.calls if call not in answered]
    missing = [call for call in unanswered if call not in given]
    found = recorded.results(missing)
    completed = [_result(recorded, asking, call, found.get(call, ()), new_id()) for call in missing]
    return completed, [call for call in unanswered if call in given]


def _result(recorded: _Recorded, asking: Node, call: str, candidates: Sequence[Node], identifier: str) -> Write:
    branches = recorded.known.branches
    own = [node for node in candidates if asking.place in Path.to(branches, node.place)]
    original = recorded.meant(own, asking)
    if original is not None:
        return Write(identifier, original=original)
    return Write(identifier, Message(identifier, "tool", NOT_RUN, tool_call_id=call))


def _named(message: Message, identifier: str) -> Message:
    if message.id == identifier:
        return message
    # Three times as fast as dataclasses.replace, for views of thousands of messages without ids.
    return Message(
        identifier,
        message.role,
        message.content,
        message.tool_calls,
        message.tool_call_id,
        message.name,
        message.provider,
        message.hidden,
        message.summary,
        message.copied_from,
        files=message.files,
    )


_AT_A_PAUSE: Mapping[str, tuple[tuple[Role, ...], str]] = {
    QUESTIONS: (("user",), "A question is pending here and only user messages can answer it"),
    TOOLS: (("tool", "user"), "Calls are left to the client here and only their results or user messages can follow"),
}


def _refuse_other_roles(kind: PendingKind, news: Iterable[Message]) -> None:
    roles, sentence = _AT_A_PAUSE[kind]
    for message in news:
        if message.role not in roles:
            raise InvalidInput(
                f"{sentence}, not one of role {message.role}. Answer, or stop the turn first.",
                detail={"role": message.role},
            )


def _refuse_split(still_open: Iterable[str], writes: Iterable[Write]) -> None:
    """Refuse news that leave a call without its result, or a result without its call (C16)."""
    pending = set(still_open)
    for write in writes:
        if write.role != "tool":
            _refuse_open(pending)
            pending = set(write.calls)
        elif write.tool_call_id in pending:
            pending.discard(write.tool_call_id)
        else:
            _refuse(write.tool_call_id, "has a result here that no call before it asks for, or already has one")
    _refuse_open(pending)


def _refuse_open(pending: Collection[str]) -> None:
    if pending:
        _refuse(min(pending), "has no result directly after the message that makes it")


def _refuse(call: str | None, what: str) -> NoReturn:
    raise InvalidInput(
        f"The tool call '{call}' {what}; send each call together with exactly one result.",
        detail={"tool_call_id": call},
    )
