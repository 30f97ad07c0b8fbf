"""Deltas in, one reply out; and which ids its tool calls get. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from agentflow.clock import NewId
from agentflow.message import ToolCall, Usage
from agentflow.models.argument_pieces import Ending, joined, value_of
from agentflow.models.protocol import (
    Delta,
    FinishReason,
    ProviderData,
    ReasoningDelta,
    TextDelta,
    ToolFragment,
    UsageReport,
)
from agentflow.text import sanitise


@dataclass(frozen=True, slots=True)
class RawCall:
    """A tool call as the provider gave it: id and name may be missing, `arguments` is whatever text came."""

    id: str | None
    name: str | None
    arguments: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a stream amounted to. Without `finish_reason` it was cut (T12); `finish_word` is the provider's own for it.

    `provider` is what goes beside the message (T15), without the name of the model.
    """

    text: str
    reasoning: str
    tool_calls: tuple[RawCall, ...]
    usage: Usage | None
    finish_reason: str | None
    provider: dict[str, Any] | None
    finish_word: str | None = None

    @property
    def finish(self) -> FinishReason | None:
        return None if self.finish_reason is None else FinishReason(self.finish_reason, self.finish_word)


class _OpenCall:
    __slots__ = ("_ending", "_read", "_value", "arguments", "id", "index", "name")

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.id: str | None = None
        self.name = ""
        self.arguments: list[str] = []
        self._ending = Ending()
        self._read, self._value = 0, None  # pieces, and the value they were

    def complete(self) -> bool:
        """Whether the arguments are a whole JSON object already."""
        if not self.arguments or not self.arguments[-1].rstrip().endswith("}"):
            return False
        return self._ending.is_there(self.arguments) and isinstance(self.value(), dict)

    def value(self) -> Any:
        """What the arguments are so far."""
        if self._read != len(self.arguments):
            self._read, self._value = len(self.arguments), value_of("".join(self.arguments))
        return self._value

    def is_told_again(self, fragment: ToolFragment) -> bool:
        """Whether a fragment without id repeats this whole call, as some servers do where the stream ends."""
        told = self.id and not fragment.id and fragment.name == self.name and fragment.index == self.index
        return bool(told) and self.complete() and value_of(fragment.arguments) == self.value()

    def add(self, fragment: ToolFragment) -> None:
        self.id = self.id or fragment.id or None
        # A name may come in pieces before the arguments; some servers repeat the whole of it with every piece.
        repeated = fragment.id and fragment.name == self.name
        if fragment.name and not self.arguments and not repeated:
            self.name += fragment.name
        if fragment.arguments:
            self.arguments.append(fragment.arguments)

    def raw(self) -> RawCall:
        return RawCall(self.id, sanitise(self.name) or None, sanitise(joined(self.arguments)))


class Assembler:
    """Collects one stream. `feed` costs well under a microsecond; the texts are joined when they are read.

    Tool fragments are grouped by index and id, whichever the provider gives (B28): parallel calls under one index,
    whole calls in one fragment, ids or indexes left out, names in pieces.
    """

    __slots__ = (
        "_by_id", "_calls", "_last", "_latest", "_provider", "_reasoning", "_text",
        "finish_reason", "finish_word", "offset", "usage",
    )  # fmt: skip

    def __init__(self) -> None:
        self.offset = 0  # characters of text so far: where the next text delta begins
        self.finish_reason: str | None = None
        self.finish_word: str | None = None
        self.usage: Usage | None = None
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[_OpenCall] = []
        self._last: _OpenCall | None = None
        self._latest: dict[int, _OpenCall] = {}
        self._by_id: dict[str, _OpenCall] = {}
        self._provider: dict[str, Any] = {}

    def feed(self, delta: Delta) -> None:
        if type(delta) is TextDelta:
            self._text.append(delta.text)
            self.offset += len(delta.text)
        elif type(delta) is ReasoningDelta:
            self._reasoning.append(delta.text)
        elif isinstance(delta, ToolFragment):
            self._fragment(delta)
        elif isinstance(delta, UsageReport):
            self.usage = delta.usage
        elif isinstance(delta, FinishReason):
            self.finish_reason, self.finish_word = delta.reason, delta.word
        elif isinstance(delta, ProviderData):
            self._provider.update(delta.data)

    @property
    def calls(self) -> int:
        """How many calls there are so far."""
        return len(self._calls)

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def reasoning(self) -> str:
        return "".join(self._reasoning)

    def reply(self) -> Reply:
        """All of it, texts made storable (T43)."""
        return Reply(
            sanitise(self.text),
            sanitise(self.reasoning),
            once_each(call.raw() for call in self._calls),
            self.usage,
            self.finish_reason,
            dict(self._provider) or None,
            self.finish_word,
        )

    def _fragment(self, fragment: ToolFragment) -> None:
        latest = self._last if fragment.index is None else self._latest.get(fragment.index)
        if fragment.name and latest is not None and latest.is_told_again(fragment):
            return
        call = self._continued(fragment)
        if call is None:
            call = _OpenCall(fragment.index)
            self._calls.append(call)
        call.add(fragment)
        self._last = call
        if fragment.index is not None:
            self._latest[fragment.index] = call
        if fragment.id:
            self._by_id[fragment.id] = call

    def _continued(self, fragment: ToolFragment) -> _OpenCall | None:
        """The call this fragment goes on with; null for the beginning of another one."""
        latest = self._last if fragment.index is None else self._latest.get(fragment.index)
        if not fragment.id:
            # A name where the arguments are whole already begins another call.
            return None if latest is not None and fragment.name and latest.complete() else latest
        known = self._by_id.get(fragment.id)
        if known is not None and (known.index == fragment.index or not fragment.name):
            return None if fragment.name and fragment.arguments and known.complete() else known
        # An id that comes late, or a new one for every piece: without a name it belongs to the unfinished call.
        return latest if latest is not None and not fragment.name and not latest.complete() else None


def once_each(calls: Iterable[RawCall]) -> tuple[RawCall, ...]:
    """Without those that are told again: the same id, the same name and equal arguments (T14)."""
    heard = list(calls)
    times: Counter[str | None] = Counter(call.id for call in heard if call.id)
    kept: list[RawCall] = []
    told: list[tuple[str | None, str | None, Any]] = []
    for call in heard:
        if times[call.id] > 1:
            said = (call.id, call.name, value_of(call.arguments))
            if said in told:
                continue
            told.append(said)
        kept.append(call)
    return tuple(kept)


def settle_calls(raw_calls: Iterable[RawCall], taken_ids: Collection[str], new_id: NewId) -> tuple[ToolCall, ...]:
    """The calls under ids that are unique: the provider's where it gave one nobody has, else one of ours (T14).

    A call without a name keeps `""`, which no tool has.
    """
    settled: dict[str, ToolCall] = {}
    for raw in raw_calls:
        usable = raw.id and raw.id not in taken_ids and raw.id not in settled
        call_id = raw.id if raw.id and usable else new_id()
        settled[call_id] = ToolCall(call_id, raw.name or "", raw.arguments)
    return tuple(settled.values())
