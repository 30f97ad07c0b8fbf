"""A worker's answer against the situation it was given in, judged whole before any of it is done (C33).

Pure: ids, names, pairs and the table. What comes out is a `Decision` that can be performed; what cannot be done is
refused, naming the field.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agentflow.conversation import wire
from agentflow.conversation.repair import ASK_USER
from agentflow.errors import InvalidInput
from agentflow.message import Message, ToolCall
from agentflow.turn.decide import table
from agentflow.turn.decide.actions import (
    Action,
    AskUser,
    Call,
    CallModel,
    CallTool,
    Done,
    Fail,
    Following,
    GiveError,
    Given,
    GiveResult,
    ReplaceContext,
)
from agentflow.turn.decide.decision import Decision
from agentflow.turn.decide.protocol import Response, failed
from agentflow.turn.decide.table import TABLE, May, Point

TYPES: Mapping[type[Action], str] = {
    CallModel: table.LLM_CALL,
    CallTool: table.TOOL_CALL,
    GiveResult: table.TOOL_RESULT,
    GiveError: table.TOOL_ERROR,
    AskUser: table.ASK_USER,
    ReplaceContext: table.REPLACE,
    Done: table.DONE,
    Fail: table.FAIL,
}

Unusable = Callable[[CallModel], tuple[str, str] | None]
"""`(llm.call) -> (field, why)` for one that cannot be made, such as of a model that nothing opens."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What an answer is judged against.

    `brought` is the message that the trigger brings, a reply or a result. `open` are the calls that wait for their
    result, by id, `left` those of them that a worker may settle. `held` is the model call that waits for room.
    """

    point: Point
    path: Sequence[Message] = ()
    brought: Message | None = None
    open: Collection[str] = ()
    left: Collection[str] = ()
    held: str | None = None
    can_summarize: bool = False
    tools: Collection[str] = ()
    enders: Collection[str] = ()
    interfaces: Collection[str] = ("main",)
    takes_data: bool = True
    unusable: Unusable = field(default=lambda call: None)


def judge(response: Response, situation: Situation) -> Decision:
    """The decision that an answer makes. Raises `WorkerFailed` naming the field."""
    try:
        _unique_messages(response.messages or (), "messages")
        view, record = _recorded(response, situation)
        return _Judge(situation, record, view is not None).decision(response.actions, view)
    except InvalidInput as refused:
        raise failed(refused) from None


def _unique_messages(messages: Sequence[Message], name: str) -> None:
    used: set[str] = set()
    for index, message in enumerate(messages):
        if message.id and message.id in used:
            wire.refuse(f"{name}[{index}].id", f"{message.id!r} is twice in this list.")
        used.add(message.id)


def _recorded(response: Response, situation: Situation) -> tuple[tuple[Message, ...] | None, Message | None]:
    """The view when it leads elsewhere, and the message of the trigger as it is to be recorded."""
    added = None if response.messages is None else continued(situation.path, response.messages)
    if response.messages is None or added == ():
        return None, None
    brought = situation.brought
    if situation.point is Point.SESSION_START:
        wire.refuse("messages", "cannot be given at session.start, only state and agent.")
    if added is None or len(added) > 1 or brought is None or not _stands_for(added[0], brought):
        return response.messages, None
    wire.refuse_engine_fields(added[0], f"messages[{len(response.messages) - 1}]")
    said = replace(added[0], id=brought.id)
    return None, brought if said.as_dict() == brought.as_dict() else said


def continued(path: Sequence[Message], view: Sequence[Message]) -> tuple[Message, ...] | None:
    """What a view adds at the end of this very path, null when it is another path."""
    known = len(path)
    if len(view) < known or any(a.id != b.id for a, b in zip(path, view, strict=False)):
        return None
    return tuple(view[known:])


def _stands_for(said: Message, brought: Message) -> bool:
    return (said.role, said.tool_call_id) == (brought.role, brought.tool_call_id)


class _Judge:
    """Walks the actions of one answer in order, each seeing what the ones before it did."""

    def __init__(self, situation: Situation, record: Message | None, moves: bool) -> None:
        self._situation = situation
        self._record = record
        self._reply: dict[str, ToolCall] = {call.id: call for call in record.tool_calls} if record is not None else {}
        self._open = set() if moves else set(situation.open)
        self._ids: set[str] = set()
        self._last = ""  # the action that nothing can follow
        self._pauses = ""  # the tool that was called and pauses or ends the turn
        self._replaced = False

    def decision(self, actions: Sequence[Action], view: tuple[Message, ...] | None) -> Decision:
        replacement: ReplaceContext | None = None
        given: list[Given] = []
        calls: list[Call] = []
        then: Following | None = None
        for index, action in enumerate(actions):
            try:
                self._check(action)
            except InvalidInput as refused:
                raise wire.inside(f"actions[{index}]", refused) from None
            match action:
                case ReplaceContext():
                    replacement = action
                case GiveResult() | GiveError():
                    given.append(action)
                case CallTool() | AskUser():
                    calls.append(action)
                case CallModel() | Done() | Fail():
                    then = action
        return Decision(None, view, self._record, replacement, tuple(given), tuple(calls), then)

    def _check(self, action: Action) -> None:
        kind = TYPES[type(action)]
        if self._last:
            wire.refuse("type", f"nothing can be done after {self._last} in the same answer.")
        self._allowed(action, kind)
        match action:
            case CallModel():
                self._model(action)
            case CallTool():
                self._tool(action)
            case GiveResult() | GiveError():
                self._take(action.id)
                self._open.discard(action.id)
            case AskUser():
                self._question(action)
            case ReplaceContext():
                self._replace(action)
            case Done():
                self._done(action)
            case Fail():
                pass
        if kind in table.ENDING:
            self._last = kind

    def _allowed(self, action: Action, kind: str) -> None:
        point, row = self._situation.point, TABLE[self._situation.point]
        may = row[kind]
        if may is May.NO:
            others = ", ".join(name for name, each in row.items() if each is not May.NO) or "no action"
            wire.refuse("type", f"{kind} cannot stand at {point}; possible here: {others}.")
        if may is May.NONE_OPEN and self._open:
            waiting = ", ".join(sorted(self._open))
            wire.refuse("type", f"{kind} cannot be done while calls are open, here {waiting}.")
        if not isinstance(action, GiveResult | GiveError):
            return
        if may is May.OF_REPLY and action.id not in self._reply:
            wire.refuse("id", f"{action.id!r} is no call of a reply that this answer records.")
        if may is May.LEFT_OPEN and not (action.id in self._open and action.id in self._situation.left):
            wire.refuse("id", f"{action.id!r} is no open call of a worker tool.")

    def _take(self, id_: str | None) -> None:
        if id_ is not None and id_ in self._ids:
            wire.refuse("id", f"{id_!r} is used twice in this answer.")
        self._ids.update(() if id_ is None else (id_,))

    def _model(self, call: CallModel) -> None:
        situation = self._situation
        held = TABLE[situation.point][table.LLM_CALL] is May.HELD
        if call.purpose == "summary" and not (held and situation.can_summarize):
            wire.refuse("purpose", "there is nothing to summarize here.")
        if call.purpose == "summary" and call.template:
            wire.refuse("template", "the prompt of a summary is no template.")
        if call.id is not None and (not held or call.id != situation.held or call.purpose == "summary"):
            what = f"{situation.held!r} is held" if held else "no call is held here"
            wire.refuse("id", f"{call.id!r} cannot be called by its id: {what}.")
        if self._pauses:
            wire.refuse("type", f"llm.call cannot follow a call of {self._pauses}, which pauses or ends the turn.")
        if call.interface is not None and call.interface not in situation.interfaces:
            known = ", ".join(situation.interfaces)
            wire.refuse("llm", f"{call.interface!r} is no interface of the agent; {known} are.")
        if (unusable := situation.unusable(call)) is not None:
            wire.refuse(*unusable)

    def _tool(self, call: CallTool) -> None:
        asked = self._reply.get(call.id or "")
        name = call.name or (asked.name if asked is not None else None)
        if name is None:
            wire.refuse("name", "is required: the id is of no call of a reply that this answer records.")
        if asked is not None and name != asked.name:
            wire.refuse("name", f"the call {asked.id!r} is of {asked.name!r}; a call of another tool needs its own id.")
        if asked is None and name not in self._situation.tools:
            wire.refuse("name", f"there is no tool {name!r}; tools: {', '.join(self._situation.tools) or 'none'}.")
        self._take(call.id)
        if name == ASK_USER or name in self._situation.enders:
            self._pauses = self._pauses or name

    def _question(self, action: AskUser) -> None:
        if ASK_USER not in self._situation.tools:
            wire.refuse("type", "nobody can be asked here.")
        self._take(action.id)

    def _replace(self, action: ReplaceContext) -> None:
        if self._replaced:
            wire.refuse("type", "the history can be replaced once in an answer.")
        _unique_messages(action.messages, "messages")
        self._replaced = True
        self._open.clear()

    def _done(self, action: Done) -> None:
        if self._pauses == ASK_USER:
            wire.refuse("type", "done cannot follow a call of ask_user, which pauses the turn.")
        if action.data is not None and not self._situation.takes_data:
            wire.refuse("data", "a sub-agent's task answers with its text and has no data.")
