"""How a turn that could not end by itself is closed: by its user, by a failure, or after its process died.

One pure function serves all of them, so that whatever is recorded stays valid for the provider (T24, T30, C36):
every open call gets exactly one result, and text the user has seen stays, with a marker that says why it stops.
A result that somebody outside has given and nobody has recorded yet is the call's result, whoever closes it (C34).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agentflow.message import Message, ToolCall, ToolCallStatus
from agentflow.text import cut_middle

ASK_USER = "ask_user"
ABORTED_BY_USER = "<ABORTED BY USER>"
INTERRUPTED = "<INTERRUPTED>"

_PLACEHOLDERS = {
    ToolCallStatus.STARTED: "Not finished: {why} This call had been started; its outcome is unknown.",
    ToolCallStatus.PLANNED: "Not run: {why} This call had not been started.",
}
_NOT_ANSWERED = "Not answered: {why}"
_LOST = "Not finished: the result of this call was lost; its outcome is unknown."
_GIVEN_CHARS = 50_000  # of a given result; where the call's own turn records it, the tool says how many


class Given(NamedTuple):
    """A call's result from outside its turn."""

    ok: bool
    text: str


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A tool call without a recorded result: `status` is planned or started, `given` what waits to be recorded."""

    execution: int
    id: str
    name: str
    status: ToolCallStatus
    given: Given | None = None


@dataclass(frozen=True, slots=True)
class ClosedCall:
    """The one result of a call that was open: `finished` with what was given, else `closed` with a placeholder.

    `full` is the whole text where that had to be cut.
    """

    call: OpenCall
    status: ToolCallStatus
    ok: bool
    text: str
    full: str | None = None


@dataclass(frozen=True, slots=True)
class Closing:
    """What is recorded to close a turn.

    `results` has one entry per open call, in their order. `text` is the assistant message to record, null for none;
    its first `answer_chars` characters are what the user has seen.
    """

    results: tuple[ClosedCall, ...]
    text: str | None
    answer_chars: int


def close(open_calls: Sequence[OpenCall], seen: str, why: str, *, marker: str | None, always: bool = False) -> Closing:
    """Close what is open. `seen` is the text streamed so far and not recorded yet, `why` a sentence for the results.

    With `marker` the text is followed by a newline and the marker; `always` records the marker even without text.
    """
    results = tuple(_closed(call, why) for call in open_calls)
    if not seen.strip():
        return Closing(results, marker if always else None, 0)
    return Closing(results, seen if marker is None else f"{seen}\n{marker}", len(seen))


def _closed(call: OpenCall, why: str) -> ClosedCall:
    if call.given is not None:
        text = cut_middle(call.given.text, _GIVEN_CHARS)
        full = None if text == call.given.text else call.given.text
        return ClosedCall(call, ToolCallStatus.FINISHED, call.given.ok, text, full)
    words = _NOT_ANSWERED if call.name == ASK_USER else _PLACEHOLDERS[call.status]
    return ClosedCall(call, ToolCallStatus.CLOSED, False, words.format(why=why))


class Mended(NamedTuple):
    """A path whose calls and results were not in pairs, made whole; messages with the id "" are new.

    `closed` are the calls that had no result, `left_out` the ids of results that answer no call.
    """

    messages: list[Message]
    closed: tuple[str, ...]
    left_out: tuple[str, ...]


def mend(path: Sequence[Message], awaited: Collection[str] = ()) -> Mended | None:
    """Each call with exactly one result before the next message (C36); null where that is so already.

    The calls `awaited` may have none yet when their reply is the last one of the path.
    """
    mended, closed, left_out = list[Message](), list[str](), list[str]()
    unanswered: dict[str, ToolCall] = {}

    def close_all(but: Collection[str]) -> None:
        for call in unanswered.values():
            if call.id not in but:
                mended.append(Message("", "tool", _LOST, (), call.id, call.name))
                closed.append(call.id)

    for message in path:
        if message.role != "tool":
            close_all(())
            unanswered = {call.id: call for call in message.tool_calls}
        elif unanswered.pop(message.tool_call_id or "", None) is None:
            left_out.append(message.id)
            continue
        mended.append(message)
    close_all(awaited)
    return Mended(mended, tuple(closed), tuple(left_out)) if closed or left_out else None
