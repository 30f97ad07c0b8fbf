"""The requests of two turns, made again from rows and compared call by call (R6)."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from agentflow import clock
from agentflow.errors import CallNotFound
from agentflow.reading.compare.differences import differences
from agentflow.reading.sent_request import sent_request, turn_number
from agentflow.reading.trace import turn_trace
from agentflow.store.protocol import Store
from agentflow.store.records import SessionRecord
from agentflow.text import stored_json

Turn = tuple[SessionRecord, int | str]
"""A turn of a session, by its number or one of its ids."""


async def compared_turns(store: Store, a: Turn, b: Turn, call: int | None) -> dict[str, Any]:
    """`{a, b, calls, call, first, configuration, prompt, tools, history, model}`.

    `a` and `b` are `{session_id, turn, turn_id, calls}`. The calls of the turn's own agent are paired by their order:
    `calls` has for each pair the first section that differs, null where none does, `only a` or `only b` where the other
    turn has no such call. The rest, as `differences` tells it, is of the pair `call`, from 1: the first that differs
    unless given. Raises `TurnNotFound`, `CallNotFound`, and `RequestNotKept` for what was not kept.
    """
    (told_a, sent_a), (told_b, sent_b) = await _requests(store, *a), await _requests(store, *b)
    if call is not None and call > min(len(sent_a), len(sent_b)):
        raise CallNotFound(
            f"There is no call {call} in both turns; they have {len(sent_a)} and {len(sent_b)}.",
            detail={"call": call, "calls": [len(sent_a), len(sent_b)]},
        )
    found = [differences(one, other) for one, other in zip(sent_a, sent_b, strict=False)]
    calls = [_told(one, other, found, number) for number, (one, other) in enumerate(zip_longest(sent_a, sent_b))]
    shown = call or next((number for number, each in enumerate(found, 1) if each["first"]), min(len(found), 1) or None)
    nothing = differences(_NOTHING, _NOTHING)
    return {"a": told_a, "b": told_b, "calls": calls, "call": shown, **(found[shown - 1] if shown else nothing)}


_NOTHING: dict[str, Any] = {"configuration": {}, "messages": [], "tools": [], "model": "", "parameters": {}}


def _told(one: object, other: object, found: list[dict[str, Any]], number: int) -> str | None:
    if one is None or other is None:
        return "only b" if one is None else "only a"
    first: str | None = found[number]["first"]
    return first


async def _requests(
    store: Store, record: SessionRecord, turn: int | str
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What is told of a turn, and each request of its own agent."""
    rows = await store.trace(record.key, await turn_number(store, record, turn))
    assert rows is not None  # its number was found
    trace = turn_trace(rows, clock.instant(), alive=True)
    kept = await store.ledger.blob(record.key, rows.turn["config_hash"])
    configuration = {} if kept is None else stored_json(kept)
    asked = [
        node["call_id"]
        for step in trace["steps"]
        for node in step["nodes"]
        if node["kind"] == "model_call" and node["purpose"] == "main"
    ]
    sent = [
        {**await sent_request(store, record, call, trace["turn"], with_bytes=False), "configuration": configuration}
        for call in asked
    ]
    told = {"session_id": record.id, "turn": trace["turn"], "turn_id": trace["turn_id"], "calls": len(sent)}
    return told, sent
