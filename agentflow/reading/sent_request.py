"""The exact request of a model call that was made, made again from rows (R5, R6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentflow.conversation.history import History, build_request, lean
from agentflow.conversation.tree import Place
from agentflow.errors import CallNotFound, RequestNotKept, TurnNotFound
from agentflow.media.provider import filled, sent_files
from agentflow.message import Message
from agentflow.reading.lookup import turn_of
from agentflow.store.counted import SentCall
from agentflow.store.protocol import Store
from agentflow.store.records import SessionRecord
from agentflow.text import stored_json


async def sent_request(
    store: Store, record: SessionRecord, call: int | str, turn: int | str | None, *, with_bytes: bool = True
) -> dict[str, Any]:
    """`{session_id, call_id, purpose, model, parameters, messages, tools}` as they were handed to the model.

    `parameters` is what went out beside them, temperature and the like, credentials left out; null where the model
    tells of none, as a scripted one, or was called by an older agentflow. Not `with_bytes`, files are references.

    `call` counts the calls of the turn from 1, in the order they were asked for, or is a call's id; `turn` is a number
    or a name, null for the newest. Raises `TurnNotFound`, `CallNotFound`, `RequestNotKept`.
    """
    number = await turn_number(store, record, turn)
    found = await store.ledger.sent(record.key, number, call)
    detail = {"session_id": record.id, "call": call}
    if found is None:
        which = f"model call {call}" if isinstance(call, str) else f"model call {call} in turn {number}"
        raise CallNotFound(f"Session {record.id!r} has no {which}; `agentflow trace` lists them.", detail=detail)
    if not found.model:
        raise RequestNotKept(
            f"The request of model call {found.id} was erased with its turn: settings.observability is false.",
            detail=detail,
        )
    if found.sent is None:
        raise RequestNotKept(
            f"The request of model call {found.id} was not kept: the call did not come to its end in the process that "
            "made it, or it was made by an older agentflow.", detail=detail,
        )  # fmt: skip
    sent = stored_json(found.sent)
    messages = await _messages(store, record, found, sent)
    return {
        "session_id": record.id,
        "call_id": found.id,
        "purpose": found.purpose,
        "model": found.model,
        "parameters": stored_json(found.blobs[sent["parameters"]]) if "parameters" in sent else None,
        "messages": await _with_files(store, record, messages, sent["files"])
        if with_bytes and "files" in sent
        else messages,
        "tools": stored_json(found.blobs[found.tools]) if found.tools is not None else [],
    }


async def turn_number(store: Store, record: SessionRecord, turn: int | str | None) -> int:
    """The number of the turn that a number or a name means, of the newest for null. Raises `TurnNotFound`."""
    number = record.turns if turn is None else turn
    if isinstance(number, str):
        number = (await turn_of(store, record, number)).number or 0
    if not 1 <= number <= record.turns:
        raise TurnNotFound(
            f"Session {record.id!r} has no turn {turn}; its turns are 1 to {record.turns}.",
            detail={"session_id": record.id, "turn": turn},
        )
    return number


async def _messages(store: Store, record: SessionRecord, call: SentCall, sent: dict[str, Any]) -> list[dict[str, Any]]:
    if "messages" in sent:
        kept: list[dict[str, Any]] = stored_json(call.blobs[sent["messages"]])
        return kept
    place = None if call.branch is None or call.depth is None else Place(call.branch, call.depth)
    path = [entry.message for entry in await store.path(record.key, place, lean_before=None)]
    prompt = "" if call.prompt is None else call.blobs[call.prompt]
    messages = rebuilt(path, prompt, [call.blobs[key] for key in sent["texts"]], call.model, sent)
    if "changed" in sent:
        first, count, key = sent["changed"]
        messages[first : first + count] = stored_json(call.blobs[key])
    return messages


async def _with_files(
    store: Store, record: SessionRecord, messages: list[dict[str, Any]], given: dict[str, Any]
) -> list[dict[str, Any]]:
    """The messages with their files as that model was given them (W4)."""
    kept = await store.ledger.files(record.key, sorted(set(sent_files(messages))))
    return filled(messages, kept.bodies, given["reads"], given["refused"])


def rebuilt(
    path: Sequence[Message], prompt: str, texts: Sequence[str], model: str, sent: dict[str, Any]
) -> list[dict[str, Any]]:
    """What a loop's call read: the path up to its place, written as it was then."""
    first = len(path) - sent["current"]
    earlier = History(sent["reader"])
    earlier.extend(lean(path[:first]) if sent["lean"] else path[:first])
    current = History(model, before=earlier)
    current.extend(path[first:], model=model)
    return build_request(prompt, earlier, texts, current, 0).messages
