"""What must be true in the end, when everything has calmed down: asked of two fresh processes."""

from __future__ import annotations

import asyncio
import itertools
import json
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from agentflow import Event, TurnAlreadyActive
from tests.simulation.ledger import Heard, Sent, Violation

if TYPE_CHECKING:
    from tests.simulation.machine import Process
    from tests.simulation.world import World

_MOST_TURNS = 12
_CHANGED_LATER = ("hooked", "hookchief", "chief", "served", "leanserved")  # hooks and workers have the last word


def check(world: World) -> None:
    """Raises `Violation`."""
    world.slots += [None, None]
    world.hosts += [world.hosts[0], "another"]
    world._back_at += [0, 0]
    first, second = world._open(len(world.slots) - 2), world._open(len(world.slots) - 1)
    sessions = [session for (session,) in world.rows.all("SELECT id FROM session ORDER BY key")]
    for session in sessions:
        _goes_on(world, first, session)
    world.until(world.all_answered, "a client waits for ever")
    for session in sessions:
        views = _views(world, (first, second), session)
        if views[0] != views[1]:
            raise Violation("two processes see another session", f"{views[0]}\n{views[1]}")
        log = world.call(first, _events(first, session), "reading events")
        _check_heard(world, session, log)
        _check_tree(world.call(second, second.runtime.tree(session), "reading the tree"), views[0], session)
        _check_totals(world, session, views[0])
    for sent in world.ledger.sent:
        _check_kept(world, sent)
    _check_settled(world)
    _check_usage(world)
    _check_results(world, second)


def _goes_on(world: World, process: Process, session: str) -> None:
    """Every session takes another message and answers it (the first claim of DESIGN)."""
    runtime, agent = process.runtime, world.agent_of(int(session[1:]))
    answers = []
    for number in range(_MOST_TURNS):
        status = world.call(process, _quiet(process, session), "a session that comes to rest")
        try:
            result = world.call(process, runtime.run(session, agent, f"final {number}"), "a final turn")
        except TurnAlreadyActive:  # one of the queue, begun by another process just now
            continue
        answers.append((status["status"], result.state, result.answer, result.error))
        if result.state == "done" and str(result.answer or "").startswith("calmly"):
            world.call(process, _quiet(process, session), "a session that comes to rest")
            return
    raise Violation("a session does not go on", f"{session}: {answers}")


def _views(world: World, processes: tuple[Process, Process], session: str) -> list[dict[str, Any]]:
    """The session as both see it at rest; a turn that waited may begin in a third process between the two reads."""
    views: list[dict[str, Any]] = []
    for _ in range(_MOST_TURNS):
        world.call(processes[0], _quiet(processes[0], session), "a session that comes to rest")
        views = [world.call(each, each.runtime.session(session), "reading a session") for each in processes]
        if views[0] == views[1]:
            break
    return views


async def _quiet(process: Process, session: str) -> dict[str, Any]:
    """Its status once nothing runs."""
    status = await process.runtime.status(session)
    while status["status"] == "running":
        await asyncio.sleep(0.5)
        status = await process.runtime.status(session)
    return status


async def _events(process: Process, session: str) -> list[Event]:
    async with aclosing(process.runtime.events(session)) as told:  # type: ignore[type-var]
        return [event async for event in told]


def _check_heard(world: World, session: str, log: list[Event]) -> None:
    """What was told live is what is logged, in order and without a gap (T42)."""
    for heard in world.ledger.heard:
        if heard.session == session:
            _check_reader(world, heard, log)


def _check_reader(world: World, heard: Heard, log: list[Event]) -> None:
    turn_id = None if heard.turn_id is None else _real_id(world, heard.session, heard.turn_id)
    upto = heard.events[-1].seq or 0 if heard.events else heard.after
    logged = [event for event in log[heard.after : upto] if turn_id in (None, event.turn_id, _queues(event))]
    for live, kept in itertools.zip_longest(heard.events, logged):
        if live != kept:
            raise Violation("told live and logged differently", f"{live}\n{kept}")
    last = heard.events[-1] if heard.events else None
    if heard.ended and turn_id is not None and last is not None and last.type != "done" and not heard.told_dead:
        raise Violation("events of a turn end elsewhere", f"{heard.turn_id}: {last}")
    _check_deltas(world, heard, log)


def _queues(event: Event) -> str | None:
    """The turn that waits by this event, which is no turn's own."""
    return event.data["turn_id"] if event.type == "turn.queued" else None


def _real_id(world: World, session: str, turn_id: str) -> str:
    aliases = world.rows.all(
        "SELECT target FROM alias JOIN session ON key = session_key WHERE id = ? AND kind = 'turn' AND alias = ?",
        session, turn_id,
    )  # fmt: skip
    return str(aliases[0][0]) if aliases else turn_id


def _check_deltas(world: World, heard: Heard, log: list[Event]) -> None:
    """What was streamed of a reply is its recorded text, or the beginning of it (T43).

    A reader who is talked over by another request looks the log up, and the end of a reply may reach it there.
    """
    if world.agent_of(int(heard.session[1:])) in _CHANGED_LATER:
        return
    texts = {
        event.data["message"]["id"]: event.data["message"]["content"] or ""
        for event in log
        if event.type == "message.new"
    }
    for (call, kind), text in heard.deltas.items():
        kept = texts.get(call)
        if kind != "text" or kept is None or not text.strip():
            continue
        if not kept.startswith(text):
            raise Violation("streamed and stored differently", f"{heard.session} {call}: {text!r}, stored {kept!r}")


def _check_tree(tree: dict[str, Any], view: dict[str, Any], session: str) -> None:
    parents = {node["message"]["id"]: node["parent_id"] for node in tree["nodes"]}
    lost = {id_: parent for id_, parent in parents.items() if parent is not None and parent not in parents}
    if lost:
        raise Violation("a node hangs on nothing", f"{session}: {lost}")
    path, node = [], tree["head_id"]
    while node is not None:
        path.append(node)
        node = parents[node]
    shown = [message["id"] for message in view["messages"]]
    hidden = {each["message"]["id"] for each in tree["nodes"] if each["message"].get("hidden")}
    if [each for each in reversed(path) if each not in hidden] != shown:
        raise Violation("the path is not the tree's", f"{session}: {path[::-1]}, shown {shown}")


def _check_totals(world: World, session: str, view: dict[str, Any]) -> None:
    (row,) = world.rows.all(
        "SELECT sum(llm_call.input), sum(llm_call.output), (SELECT count(*) FROM turn WHERE session_key = key) "
        "FROM session LEFT JOIN llm_call ON session_key = key WHERE session.id = ?",
        session,
    )
    totals = view["totals"]
    if (totals["input"], totals["output"], totals["turns"]) != row:
        raise Violation("usage is not counted once", f"{session}: {totals} of {row}")


def _check_kept(world: World, sent: Sent) -> None:
    """What was acknowledged is in the tree or waits, or its turn was taken out of the queue."""
    turn_id = sent.receipt.turn_id
    if not turn_id:
        return
    found = world.rows.all(
        "SELECT state, config_hash FROM turn JOIN session ON key = session_key WHERE session.id = ?1 AND turn.id = "
        "coalesce((SELECT target FROM alias WHERE session_key = key AND kind = 'turn' AND alias = ?2), ?2)",
        sent.session, turn_id,
    )  # fmt: skip
    waits = world.rows.all(
        "SELECT input FROM queue_entry JOIN session ON key = session_key WHERE session.id = ?", sent.session
    )
    if not found and not any(turn_id in text for (text,) in waits):
        raise Violation("an acknowledged turn is gone", f"{sent}")
    if any(begun == "" for _, begun in found) and sent.session in world.ledger.emptied:
        return
    for text in sent.texts:
        kept = world.rows.all(
            "SELECT 1 FROM message JOIN session ON key = session_key WHERE session.id = ? AND content LIKE ? LIMIT 1",
            sent.session, f"%{text}%",
        )  # fmt: skip
        if not kept and not any(text in waiting for (waiting,) in waits):
            raise Violation("an acknowledged message is gone", f"{text}: {sent}, {found}")


def _check_settled(world: World) -> None:
    for (session, call), text in world.ledger.settled.items():
        found = world.rows.all(
            "SELECT message.content, tool_call.status FROM tool_call JOIN session ON key = tool_call.session_key "
            "LEFT JOIN message ON message.session_key = key AND message.id = result_id "
            "WHERE session.id = ? AND tool_call.id = ?",
            session, call,
        )  # fmt: skip
        if not any(status == "voided" or text in (content or "") for content, status in found):
            raise Violation("a settled result is gone", f"{session} {call}: {text}, recorded {found}")


def _check_usage(world: World) -> None:
    for call, given, taken, status in world.rows.all("SELECT id, input, output, status FROM llm_call"):
        told = [(usage.input, usage.output) for usage in world.ledger.used.get(call, [])]
        if status == "completed" and (given, taken) != (told[-1] if told and given is not None else (None, None)):
            raise Violation("usage is not what the model said", f"{call}: {given}, {taken}, said {told}")


def _check_results(world: World, process: Process) -> None:
    """A result is the same whoever asks, and when."""
    for session, result in world.results:
        now = world.call(process, process.runtime.result(session, result.turn_id), "a result")
        then_dict, now_dict = result.as_dict(), now.as_dict()
        if result.state == "aborted" or now.step_order != result.step_order or now.state != result.state:
            continue
        for name in ("answer", "usage", "limit", "error", "turn_id"):
            if json.dumps(then_dict[name]) != json.dumps(now_dict[name]):
                raise Violation("a result has changed", f"{session} {name}: {then_dict}, then {now_dict}")
