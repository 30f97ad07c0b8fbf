"""What the columns of one row must be together: the data of an event by its type, a pause by its kind."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import Any

from agentflow import events
from agentflow.conversation.inbox import parse_input
from agentflow.errors import InvalidInput
from agentflow.store.portable import Row

Misfits = Iterator[tuple[str, str]]

_INT, _TEXT = "a whole number", "a text"

# What readers of the log rely on in an event's data; fields that are not listed may be anything.
_TOLD: Mapping[str, Mapping[str, str]] = {
    events.SESSION_CREATED: {"agent_id": _TEXT},
    events.STEP_STARTED: {"order": _INT},
    events.TOOL_CALL_REQUESTED: {"id": _TEXT},
    events.CALL_VOIDED: {"id": _TEXT},
    events.ASK_USER: {"execution": _INT},
    events.CLIENT_TOOLS: {"execution": _INT},
    events.ASK_USER_ANSWERED: {"tool_call_id": _TEXT},
    events.TURN_QUEUED: {"turn_id": _TEXT},
    events.HOOK_COMPLETED: {"point": _TEXT, "flow": _TEXT, "outcome": _TEXT},
    events.STEP_COMPLETED: {"order": _INT, "state": _TEXT},
}
# What erasing leaves as null, where it is there.
_FIGURES = ("kept", "copied", "tokens_before", "tokens_after", "tokens", "window", "duration_ms", "version")
_WORDS = ("head_id", "previous_head_id", "reason", "strategy", "call_id", "name", "error", "tool_call_id")
_OF_TURNS = (events.ERROR, events.TURN_COMPLETED, events.DONE)
MAX_DATA = 8_000_000
"""Bytes of one entity's data when it is unpacked."""
_NUMBERED = {events.TODOS_CHANGED: 2, events.HOOK_COMPLETED: 2, events.DONE: 1}


def misshapen(table: str, row: Row) -> Misfits:
    """`(column, what it must be)` where a row's columns, each sound by itself or null, do not go together."""
    look = _LOOKS.get(table)
    return iter(()) if look is None else look(row)


def _event(row: Row) -> Misfits:
    data: dict[str, Any] = row["data"] or {}
    wanted = {**dict.fromkeys(_FIGURES, _INT), **dict.fromkeys(_WORDS, _TEXT), events.SUB_EXECUTION: _INT}
    told = _TOLD.get(row["type"], {})
    for name, kind in (wanted | dict(told)).items():
        value = data.get(name)
        if value is None and name not in told:
            continue
        if not isinstance(value, int if kind == _INT else str) or isinstance(value, bool):
            yield "data", f"an object in which {name} is {kind}"
    if row["type"] in _OF_TURNS and not row["turn"]:
        yield "turn", "the number of a turn"
    if row["type"] == events.CONTEXT_REPLACED and row["data"] is None:
        yield "data", "an object"
    parts = _NUMBERED.get(row["type"])
    if parts is not None and row["ref"] is not None and not _are_numbers(row["ref"], parts):
        yield "ref", f"{parts} whole number{'s' if parts > 1 else ''}, with a colon between them"
    if row["type"] == events.DONE and row["ref"] is None:
        yield "ref", "the number of a step"


def _are_numbers(ref: str, count: int) -> bool:
    parts = ref.split(":")
    return len(parts) == count and all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts)


def _question(row: Row) -> Misfits:
    asked = row["questions"]
    if row["kind"] == "questions" and not (isinstance(asked, list) and all(map(_is_question, asked))):
        yield "questions", "a list in which each has header, question, options and multi_select"
    if row["kind"] == "tools" and not (isinstance(asked, list) and all(map(_is_named_call, asked))):
        yield "questions", "a list in which each has tool_call_id"
    if (row["branch"] is None) != (row["depth"] is None):
        yield "depth", "there with a branch, or neither"


def _is_question(value: Any) -> bool:
    options = value.get("options") if isinstance(value, dict) else None
    return (
        isinstance(options, list)
        and all(isinstance(each, dict) and isinstance(each.get("label"), str) for each in options)
        and isinstance(value.get("header"), str)
        and isinstance(value.get("question"), str)
        and isinstance(value.get("multi_select"), bool)
    )


def _is_named_call(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("tool_call_id"), str)
        and isinstance(value.get("arguments", {}), dict | type(None))
    )


def _turn(row: Row) -> Misfits:
    """What the requests of a turn said (C8)."""
    said = row["request"] or {}
    client = said.get("client", {})
    are_objects = all(isinstance(each, dict) for each in (said.get("inputs", {}), said.get("limits", {}), client))
    if not are_objects or client.keys() - {"state", "context", "forwarded_props"}:
        yield "request", "an object of the objects inputs, limits and client"
    elif not isinstance(client.get("context", []), list):
        yield "request", "an object in which client.context is a list"


def _queued(row: Row) -> Misfits:
    try:
        parse_input(row["input"])
    except InvalidInput as refused:
        yield "input", f"an input ({refused.message})"


def _placed(row: Row) -> Misfits:
    if (row["branch"] is None) != (row["depth"] is None):
        yield "depth", "there with a branch, or neither"


def _version(row: Row) -> Misfits:
    yield from _placed(row)
    if row["kind"] == "agent" and not isinstance(row["value"], dict | type(None)):
        yield "value", "an object"


def data_hash(body: bytes) -> str | None:
    """Of packed data, unpacked no further than it may be large; null for what is none."""
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(body, MAX_DATA)
        if not unpacking.eof:
            return None
        canonical = json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
    except (zlib.error, ValueError, RecursionError):
        return None
    return sha256(canonical.encode()).hexdigest()


def _data(row: Row) -> Misfits:
    if row["body"] is not None and data_hash(row["body"]) != row["hash"]:
        yield "hash", "the hash of the data as canonical JSON"


_WHOLE = {"messages", "parameters", "passed_over", "files"}


def _call(row: Row) -> Misfits:
    """The references from which a call's request is made again (R5)."""
    yield from _placed(row)
    made = row["request"]
    if made is None:
        return
    files = made.get("files", {})
    if not isinstance(files, dict) or not isinstance(files.get("refused", []), list):
        yield "request", "an object in which files is what a model was given of them"
    if isinstance(made.get("messages"), str) and made.keys() <= _WHOLE:
        return
    changed = made.get("changed", [0, 0, ""])
    is_reading = (
        isinstance(made.get("lean"), bool)
        and isinstance(made.get("current"), int)
        and isinstance(made.get("reader"), str)
        and isinstance(made.get("texts"), list)
        and all(isinstance(each, str) for each in made["texts"])
    )
    if not is_reading or not (isinstance(changed, list) and [type(each) for each in changed] == [int, int, str]):
        yield "request", "an object of messages, or of lean, current, reader, texts and changed"


def _branch(row: Row) -> Misfits:
    """Ancestors have lower numbers, so that every way up ends."""
    if row["parent"] is not None and row["number"] is not None and row["parent"] >= row["number"]:
        yield "parent", "a lower number than its own"


def _claimed(row: Row) -> Misfits:
    yield from _placed(row)
    if row["turn"] is not None and "owner" in row and (row["owner"] is None or row["lease_until"] is None):
        yield "owner", "there with its lease while a turn runs"


_LOOKS: Mapping[str, Callable[[Row], Misfits]] = {
    "session": _claimed,
    "event": _event,
    "question": _question,
    "turn": _turn,
    "queue_entry": _queued,
    "state_version": _version,
    "llm_call": _call,
    "snapshot_data": _data,
    "branch": _branch,
    "execution": _branch,
}
