"""Reading the log: rows hold references, the texts are joined in for a whole page at once (R3, T40).

Each type that leaves a part of itself elsewhere is rebuilt by the function of `events.py` that made it, so what is
read equals what was streamed live. A text that was erased (R5) reads as null.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentflow import events
from agentflow.context.summary import summary_of
from agentflow.events import Event, ModelCall
from agentflow.message import ENDED, Message, ToolCall, TurnState, Usage
from agentflow.store.reads.messages import ANSWER, ANSWER_MESSAGE, CONTENT, ORIGINAL, PARENT, answer_of
from agentflow.store.reads.questions import asked_call
from agentflow.store.reads.sessions import loaded, usage_of
from agentflow.store.rows.messages import message_of
from agentflow.store.sql.transaction import Tx
from agentflow.text import compact_json, stored_json

_PAGE = """
SELECT e.seq, e.turn, turn.id, turn.config_hash, e.at, e.type, e.ref, e.data FROM event e
LEFT JOIN turn ON turn.session_key = e.session_key AND turn.number = e.turn
WHERE e.session_key = ? AND e.seq > ? ORDER BY e.seq LIMIT ?
"""
_IN_PAGE = "e.session_key = ? AND e.seq > ? AND e.seq <= ?"
# Each message once: every call of a reply refers to the reply, which has all of them.
_MESSAGES = f"""
SELECT p.id, m.copied_from, {CONTENT} FROM (
    SELECT DISTINCT e.session_key, e.ref FROM event e
    WHERE {_IN_PAGE} AND e.type IN ('{events.MESSAGE_NEW}', '{events.TOOL_CALL_REQUESTED}',
                                    '{events.TOOL_CALL_COMPLETED}', '{events.TOOL_CALL_ERRORED}',
                                    '{events.CONTEXT_REPLACED}')
) told JOIN message m ON m.session_key = told.session_key AND m.id = told.ref {PARENT} {ORIGINAL}
"""
_TELLING_OF_MESSAGES = {
    events.MESSAGE_NEW, events.TOOL_CALL_REQUESTED, events.TOOL_CALL_COMPLETED, events.TOOL_CALL_ERRORED,
    events.CONTEXT_REPLACED,
}  # fmt: skip
_QUESTIONS = f"""
SELECT q.execution, q.call_id, q.questions FROM event e
JOIN question q ON q.session_key = e.session_key AND q.call_id = e.ref
WHERE {_IN_PAGE} AND e.type = '{events.ASK_USER}'
"""
_CLIENT_TOOLS = f"""
SELECT q.execution, q.call_id, q.questions, m.calls FROM event e
JOIN question q ON q.session_key = e.session_key AND q.call_id = e.ref
LEFT JOIN tool_call c ON c.session_key = q.session_key AND c.execution = q.execution AND c.id = q.call_id
LEFT JOIN message m ON m.session_key = c.session_key AND m.id = c.reply_id
WHERE {_IN_PAGE} AND e.type = '{events.CLIENT_TOOLS}'
"""
_TODOS = f"""
SELECT DISTINCT l.turn, l.execution, l.number, l.items FROM event e
JOIN todo_list l ON l.session_key = e.session_key AND l.turn = e.turn
WHERE {_IN_PAGE} AND e.type = '{events.TODOS_CHANGED}'
"""
_LLM_CALLS = f"""
SELECT DISTINCT c.id, c.iteration, c.purpose, c.model, c.finish_reason, c.error, c.input, c.output, c.cache_read,
       c.cache_write, c.cost
FROM event e JOIN llm_call c ON c.session_key = e.session_key AND c.id = e.ref
WHERE {_IN_PAGE} AND e.type IN ('{events.LLM_CALL_REQUESTED}', '{events.LLM_CALL_COMPLETED}',
                                '{events.LLM_CALL_ERRORED}')
"""
_STEPS = f"""
SELECT e.seq, step.state, {ANSWER} FROM event e
JOIN step ON step.session_key = e.session_key AND step.number = CAST(e.ref AS INTEGER) {ANSWER_MESSAGE}
WHERE {_IN_PAGE} AND e.type = '{events.DONE}'
"""
_TURNS = f"""
SELECT DISTINCT t.number, t.state, t.input, t.output, t.cache_read, t.cache_write, t.cost, t.limit_name, t.error,
       t.data
FROM event e JOIN turn t ON t.session_key = e.session_key AND t.number = e.turn
WHERE {_IN_PAGE} AND e.type IN ('{events.TURN_COMPLETED}', '{events.ERROR}', '{events.DONE}')
"""


class _Logged(NamedTuple):
    seq: int
    turn: int | None
    turn_id: str | None
    config_hash: str | None
    at: int
    type: str
    ref: str | None
    data: str | None


class _Node(NamedTuple):
    message: Message
    parent_id: str | None
    copied_from: str | None
    calls: Mapping[str, ToolCall]


class _Call(NamedTuple):
    call: ModelCall
    finish_reason: str | None
    error: dict[str, Any]
    usage: Usage


class _Step(NamedTuple):
    state: str
    answer: str | None


class _Turn(NamedTuple):
    state: str
    usage: Usage
    limit: str | None
    error: dict[str, Any] | None
    data: Any


@dataclass(slots=True)
class _Texts:
    """What a page of the log refers to."""

    nodes: Mapping[str | None, _Node] = field(default_factory=dict)
    calls: Mapping[str | None, _Call] = field(default_factory=dict)
    questions: Mapping[tuple[int, str], str] = field(default_factory=dict)
    client_tools: Mapping[tuple[int, str], tuple[str, str | None]] = field(default_factory=dict)
    todos: Mapping[tuple[int | None, str], str] = field(default_factory=dict)
    steps: Mapping[int, _Step] = field(default_factory=dict)
    turns: Mapping[int | None, _Turn] = field(default_factory=dict)


def read_events(tx: Tx, session_id: str, after: int, limit: int) -> list[Event]:
    """The logged events with `seq > after`, at most `limit`, in order; empty for an unknown session."""
    found = tx.one("SELECT key FROM session WHERE id = ?", session_id)
    page = [] if found is None else [_Logged(*row) for row in tx.all(_PAGE, found[0], after, limit)]
    if not page:
        return []
    texts = _texts(tx, {logged.type for logged in page}, (found[0], after, page[-1].seq))
    return [
        Event(
            session_id, logged.seq, logged.turn_id, logged.at, logged.type,
            _rebuilt(logged, texts),
        )
        for logged in page
    ]  # fmt: skip


def _rebuilt(logged: _Logged, texts: _Texts) -> dict[str, Any]:
    """The entry's data; that of a sub-agent's run has its number on top."""
    rebuild = _REBUILD.get(logged.type, _as_stored)
    if logged.data is None or f'"{events.SUB_EXECUTION}"' not in logged.data:
        return rebuild(logged, texts)
    stored = loaded(logged.data)
    execution = stored.pop(events.SUB_EXECUTION)
    return rebuild(logged._replace(data=compact_json(stored) if stored else None), texts) | {"execution": execution}


def _texts(tx: Tx, types: set[str], page: tuple[int, int, int]) -> _Texts:
    """One query for each kind of reference that the page has."""
    texts = _Texts()
    if types & _TELLING_OF_MESSAGES:
        texts.nodes = {row[2]: _node(message_of(row[2:]), row[0], row[1]) for row in tx.all(_MESSAGES, *page)}
    if types & {events.LLM_CALL_REQUESTED, events.LLM_CALL_COMPLETED, events.LLM_CALL_ERRORED}:
        texts.calls = {
            row[0]: _Call(ModelCall(*row[:4]), row[4], loaded(row[5]) or {}, usage_of(row[6:10], row[10]))
            for row in tx.all(_LLM_CALLS, *page)
        }
    if events.ASK_USER in types:
        texts.questions = {(execution, call): asked for execution, call, asked in tx.all(_QUESTIONS, *page)}
    if events.CLIENT_TOOLS in types:
        texts.client_tools = {
            (execution, call): (asked, calls) for execution, call, asked, calls in tx.all(_CLIENT_TOOLS, *page)
        }
    if events.TODOS_CHANGED in types:
        texts.todos = {(turn, f"{of}:{number}"): items for turn, of, number, items in tx.all(_TODOS, *page)}
    if events.DONE in types:
        texts.steps = {seq: _Step(state, answer_of(*answer)[0]) for seq, state, *answer in tx.all(_STEPS, *page)}
    if types & {events.TURN_COMPLETED, events.ERROR, events.DONE}:
        texts.turns = {
            number: _Turn(state, usage_of(tokens, cost), limit, loaded(error), loaded(data))
            for number, state, *tokens, cost, limit, error, data in tx.all(_TURNS, *page)
        }
    return texts


def _node(message: Message, parent_id: str | None, copied_from: str | None) -> _Node:
    return _Node(message, parent_id, copied_from, {call.id: call for call in message.tool_calls})


def _as_stored(logged: _Logged, texts: _Texts) -> dict[str, Any]:
    return loaded(logged.data) or {}


def _turn_started(logged: _Logged, texts: _Texts) -> dict[str, Any]:
    return events.turn_started(logged.turn_id or "", logged.config_hash or "").full


def _llm_call(logged: _Logged, texts: _Texts) -> dict[str, Any]:
    """A call that a repair gave up says all it knows in the entry itself."""
    if logged.data is not None:
        return _as_stored(logged, texts)
    found = texts.calls.get(logged.ref) or _Call(ModelCall(logged.ref or "", None, None, None), None, {}, Usage())
    if logged.type == events.LLM_CALL_REQUESTED:
        return events.llm_call_requested(found.call).full
    if logged.type == events.LLM_CALL_COMPLETED:
        return events.llm_call_completed(found.call, found.finish_reason, found.usage).full
    return events.llm_call_errored(found.call, found.error, found.usage).full


def _message_new(logged: _Logged, texts: _Texts) -> dict[str, Any]:
    node = texts.nodes.get(logged.ref)
    if node is None:
        return {"message": {"id": logged.ref, "role": None, "content": None}, "parent_id": None}
    return events.message_new(node.message, node.parent_id, node.copied_from).full


def _tool_call_requested(logged: _Logged, texts: _Texts) -> dict[str, Any]:
    call_id, node = loaded(logged.data)["id"], texts.nodes.get(logged.ref)
    call = None if node is None else node.calls.get(call_id)
    if call is not None:
        return events.tool_call_requested(call, logged.ref or "").full
    return {"id": call_id, "name": None, "arguments": None, "reply_id": logged.ref}


def _tool_call_ended(logged: _Logged, texts: _Texts) -> dict[str, Any]:
    ok, node = logged.type == events.TOOL_CALL_COMPLETED, texts.nodes.get(logged.ref)
    if node is None:
        return {"id": None, "name": None, "result" if ok else "error": None}
    return events.tool_call_ended(node.message, ok=ok).full


def _ask_user(logged: _Logged, texts: _Texts) -> dict[str, Any]:
    execution, call_id = loaded(logged.data)["execution"], logged.ref or ""
    return events.ask_user(call_id, loaded(texts.questions.get((execution, call_id))), execution).full


def _client_tools(logged: _Logged, texts: _Texts) -> dict[str, Any]:
    execution, call_id = loaded(logged.data)["execution"], logged.ref or ""
    asked, calls = texts.client_tools[execution, call_id]
    names = {id_: name for id_, name, _ in stored_json(calls)} if calls is not None else {}
    told = [asked_call(each, names.get(each["tool_call_id"]), calls).as_dict() for each in loaded(asked)]
    return events.client_tools(call_id, told, execution).full


def _todo(logged: _Logged, texts: _Texts) -> dict[str, Any]:
    if logged.ref is None:
        return events.todo([], 0, 0).full
    return events.todo(loaded(texts.todos.get((logged.turn, logged.ref))), 0, 0).full


def _context_replaced(logged: _Logged, texts: _Texts) -> dict[str, Any]:
    node = texts.nodes.get(logged.ref)
    summary = None if node is None else summary_of(node.message.content)
    return events.context_replaced(summary, logged.ref, loaded(logged.data)).full


def _error(logged: _Logged, texts: _Texts) -> dict[str, Any]:
    return events.error(texts.turns[logged.turn].error or {}).full


def _turn_completed(logged: _Logged, texts: _Texts) -> dict[str, Any]:
    turn = texts.turns[logged.turn]
    return events.turn_completed(turn.state, turn.usage, turn.error, turn.data).full


def _done(logged: _Logged, texts: _Texts) -> dict[str, Any]:
    """A pause says so in the entry itself: a stop may have ended its step and turn since (T25)."""
    step, turn = texts.steps[logged.seq], texts.turns[logged.turn]
    number, turn_id = int(logged.ref or 0), logged.turn_id or ""
    if logged.data is not None:
        answer = step.answer if step.state not in ENDED else None
        return events.done(turn_id, answer, TurnState.PAUSED_ASK_USER, number).full
    return events.done(
        turn_id, step.answer, step.state, number, limit=turn.limit, failure=turn.error, data=turn.data
    ).full


_REBUILD: dict[str, Callable[[_Logged, _Texts], dict[str, Any]]] = {
    events.TURN_STARTED: _turn_started,
    events.LLM_CALL_REQUESTED: _llm_call,
    events.LLM_CALL_COMPLETED: _llm_call,
    events.LLM_CALL_ERRORED: _llm_call,
    events.MESSAGE_NEW: _message_new,
    events.TOOL_CALL_REQUESTED: _tool_call_requested,
    events.TOOL_CALL_COMPLETED: _tool_call_ended,
    events.TOOL_CALL_ERRORED: _tool_call_ended,
    events.ASK_USER: _ask_user,
    events.CLIENT_TOOLS: _client_tools,
    events.TODOS_CHANGED: _todo,
    events.CONTEXT_REPLACED: _context_replaced,
    events.ERROR: _error,
    events.TURN_COMPLETED: _turn_completed,
    events.DONE: _done,
}
