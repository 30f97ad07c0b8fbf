"""How a turn that could not end by itself is closed: by its user, by a limit, or after its process died.

One pure function serves all of them, so that whatever is recorded stays valid for the provider (T24, T30, C36):
every open call gets exactly one result, and text the user has seen stays, with a marker that says why it stops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentflow.message import ToolCallStatus

ASK_USER = "ask_user"
ABORTED_BY_USER = "<ABORTED BY USER>"
INTERRUPTED = "<INTERRUPTED>"

_PLACEHOLDERS = {
    ToolCallStatus.STARTED: "Not finished: {why} This call had been started; its outcome is unknown.",
    ToolCallStatus.PLANNED: "Not run: {why} This call had not been started.",
}
_NOT_ANSWERED = "Not answered: {why}"


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A tool call without a result: `status` is planned or started."""

    execution: int
    id: str
    name: str
    status: ToolCallStatus


@dataclass(frozen=True, slots=True)
class Closing:
    """What is recorded to close a turn.

    `results` has one text per open call, in their order. `text` is the assistant message to record, null for none;
    its first `answer_chars` characters are what the user has seen.
    """

    results: tuple[tuple[OpenCall, str], ...]
    text: str | None
    answer_chars: int


def close(open_calls: Sequence[OpenCall], seen: str, why: str, *, marker: str | None, always: bool = False) -> Closing:
    """Close what is open. `seen` is the text streamed so far and not recorded yet, `why` a sentence for the results.

    With `marker` the text is followed by a newline and the marker; `always` records the marker even without text.
    """
    results = tuple((call, _placeholder(call).format(why=why)) for call in open_calls)
    if not seen.strip():
        return Closing(results, marker if always else None, 0)
    return Closing(results, seen if marker is None else f"{seen}\n{marker}", len(seen))


def _placeholder(call: OpenCall) -> str:
    return _NOT_ANSWERED if call.name == ASK_USER else _PLACEHOLDERS[call.status]
