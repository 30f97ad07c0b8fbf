"""Inputs that wait for their turn: which turn an input joins, which it repeats, and what a turn delivers (C19–C22)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

from agentflow.clock import NewId
from agentflow.conversation.inbox import ClientAppend, ClientMessage, ClientMessages, TurnOptions
from agentflow.message import Message

Deliverable = ClientMessage | ClientAppend | ClientMessages


@dataclass(frozen=True, slots=True)
class Entry:
    """One queued turn: the inputs it was given, as they arrived, and the other turn ids that name it (C22)."""

    turn_id: str
    inputs: tuple[Deliverable, ...]
    aliases: tuple[str, ...] = ()

    @property
    def merges(self) -> bool:
        """Whether later submits may join it: only a turn that was itself queued with `merge` (C22)."""
        first = self.inputs[0]
        return not isinstance(first, ClientMessages) and first.queue == "merge"

    def message_ids(self) -> set[str]:
        return {message.id for waiting in self.inputs for message in waiting.messages if message.id}


class Enqueued(NamedTuple):
    """`entry` is the last of the queue now: an added one, or the former last one with this submit `joined` to it."""

    entry: Entry
    joined: bool


def enqueue(entries: Sequence[Entry], submit: Deliverable, new_id: NewId) -> Enqueued:
    """Where a submit waits. `entries` are those waiting already, first to start first.

    A merge joins the last entry when that is a merge itself, and its own turn id becomes an alias; everything else
    goes to the end as a turn of its own (C21, C22).
    """
    last = entries[-1] if entries else None
    if last is None or not last.merges or isinstance(submit, ClientMessages) or submit.queue != "merge":
        return Enqueued(Entry(submit.turn_id or new_id(), (submit,)), joined=False)
    alias = (submit.turn_id,) if submit.turn_id else ()
    return Enqueued(replace(last, inputs=(*last.inputs, submit), aliases=(*last.aliases, *alias)), joined=True)


def repeated(entries: Sequence[Entry], submit: Deliverable) -> Entry | None:
    """The waiting turn that a resent submit names: by turn id, else by a single message's id (C19)."""
    for entry in entries:
        if submit.turn_id is not None:
            if submit.turn_id == entry.turn_id or submit.turn_id in entry.aliases:
                return entry
        elif isinstance(submit, ClientMessage) and submit.message.id in entry.message_ids():
            return entry
    return None


def delivered(entry: Entry) -> Deliverable:
    """The entry as one input: its messages in arrival order, an id that was sent again only once (C22)."""
    if len(entry.inputs) == 1:
        return replace(entry.inputs[0], turn_id=entry.turn_id)
    options = reduce(TurnOptions.then, (waiting.options for waiting in entry.inputs))
    return ClientAppend(
        agent_id=next((waiting.agent_id for waiting in reversed(entry.inputs) if waiting.agent_id is not None), None),
        turn_id=entry.turn_id,
        stream=options.stream,
        client=options.client,
        inputs=options.inputs,
        limits=options.limits,
        tools=options.tools,
        messages=_messages(entry.inputs),
        queue="merge",
    )


def _messages(inputs: Sequence[Deliverable]) -> tuple[Message, ...]:
    waiting: list[Message] = []
    earlier: set[str] = set()
    for each in inputs:
        news = [message for message in each.messages if message.id not in earlier]
        earlier.update(message.id for message in news if message.id)
        waiting += news
    return tuple(waiting)
