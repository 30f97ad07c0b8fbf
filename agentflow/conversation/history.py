"""Histories as the model reads them: exchanges, the lean view, and the one builder of every request.

The unit is the exchange: an assistant message with all its results (X3). Results are recorded as they arrive and
sent in call order (T14), so a history is first grouped into exchanges and only then written out.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from agentflow.errors import InvalidInput
from agentflow.media.counting import part_chars
from agentflow.media.files import described, hashes_in, is_file
from agentflow.message import Content, Message, ToolCall, text_of
from agentflow.text import holds_object

WireMessage = dict[str, Any]


class UnpairedHistory(AssertionError):
    """A request would have gone out with an open or orphaned tool call: a fault of agentflow, never of a user (T7)."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One indivisible piece of history: any message, and for an assistant with calls its results in call order.

    `open` names the calls that have no result yet.
    """

    message: Message
    results: tuple[Message, ...] = ()
    open: tuple[str, ...] = ()

    def messages(self) -> tuple[Message, ...]:
        return (self.message, *self.results)


def exchanges(path: Iterable[Message]) -> list[Exchange]:
    """The path, root first, grouped into exchanges.

    Raises `UnpairedHistory` for a result that answers no call of the assistant message before it, or twice.
    """
    grouped: list[Exchange] = []
    pending: dict[str, Message | None] | None = None
    asking: Message | None = None
    for message in path:
        if message.role == "tool":
            call_id = message.tool_call_id or ""
            if pending is None or call_id not in pending or pending[call_id] is not None:
                raise UnpairedHistory(f"message {message.id}: a result for call {call_id!r}, which is not open here")
            pending[call_id] = message
            continue
        if asking is not None and pending is not None:
            grouped.append(_close(asking, pending))
            asking, pending = None, None
        if message.tool_calls:
            asking, pending = message, {call.id: None for call in message.tool_calls}
        else:
            grouped.append(Exchange(message))
    if asking is not None and pending is not None:
        grouped.append(_close(asking, pending))
    return grouped


def _close(asking: Message, pending: dict[str, Message | None]) -> Exchange:
    return Exchange(
        asking,
        tuple(result for result in pending.values() if result is not None),
        tuple(call_id for call_id, result in pending.items() if result is None),
    )


def lean(path: Iterable[Message]) -> list[Message]:
    """What a later turn reads of an earlier one: user and system messages and assistant text (X1).

    An assistant message with text and calls keeps its text; results, and calls without text, are left out.
    """
    kept: list[Message] = []
    for message in path:
        if message.role == "tool":
            continue
        if message.role != "assistant":
            kept.append(message)
        elif text_of(message.content).strip():
            kept.append(
                Message(message.id, "assistant", message.content) if message.tool_calls or message.provider else message
            )
    return kept


@dataclass(slots=True)
class History:
    """A growing, already checked list of wire messages and its length in characters.

    Checking and writing out happen once per message, never once per model call: a request copies references.
    `reader` is the model by whose rules it is counted (X5).
    `before` is what the same requests read before it: a call id that stands there is written out otherwise here.
    `summarized`: it begins with a summary of what is not read any more (X18). `files` are the hashes it names (W4).
    """

    reader: str | None = None
    wire: list[WireMessage] = field(default_factory=list)
    chars: int = 0
    before: History | None = None
    summarized: bool = False
    files: set[str] = field(default_factory=set)
    _ids: set[str] = field(default_factory=set)

    def extend(self, path: Iterable[Message], *, model: str | None = None) -> None:
        """Add whole exchanges; provider data goes along only to `model` (T15).

        Raises `UnpairedHistory` for an exchange with an open call.
        """
        for exchange in exchanges(path):
            message = exchange.message
            if message.summary and not self.wire:
                self.summarized = True
            if isinstance(message.content, str) and not message.tool_calls and message.provider is None:
                if message.content.strip():  # plain text, which is most of a long history
                    self.wire.append({"role": message.role, "content": message.content})
                    self.chars += len(message.content)
                continue
            if exchange.open:
                raise UnpairedHistory(f"message {message.id}: open calls {', '.join(exchange.open)}")
            for written in self._written(exchange, model):
                self.wire.append(written)
                self.chars += wire_chars(written, self.reader)
                self.files.update(hashes_in(written.get("content")))

    @property
    def call_ids(self) -> Set[str]:
        """The ids of its calls, as they are written out."""
        return self._ids

    def _written(self, exchange: Exchange, model: str | None) -> Iterable[WireMessage]:
        message = exchange.message
        if message.tool_calls:
            renamed = {call.id: self._unique(call.id) for call in message.tool_calls}
            yield _assistant(message, renamed, model)
            for result in exchange.results:
                call_id = result.tool_call_id or ""
                yield {
                    "role": "tool",
                    "tool_call_id": renamed[call_id],
                    "name": result.name or "",
                    "content": text_of(result.content) or "(no output)",
                }
            if shown := _files_of(exchange.results):
                yield {"role": "user", "content": shown}
        elif message.role == "assistant":
            if text_of(message.content).strip():
                yield _assistant(message, {}, model)
        elif filled := _content(message.content):
            yield {"role": message.role, "content": filled}

    def _unique(self, call_id: str) -> str:
        """A provider that numbers its calls afresh in every reply must not make two calls of one request look alike."""
        wanted = _unused(call_id, self._ids, self.before.call_ids if self.before is not None else ())
        self._ids.add(wanted)
        return wanted


def _unused(call_id: str, *taken: Collection[str]) -> str:
    """The id, or the first of `id_2`, `id_3` and so on that is not taken: the same for the same history."""
    wanted, attempt = call_id, 1
    while any(wanted in each for each in taken):
        attempt += 1
        wanted = f"{call_id}_{attempt}"
    return wanted


def _files_of(results: Sequence[Message]) -> list[dict[str, Any]]:
    """The files of an exchange's results, each after a text that says whose it is: no provider but a few takes them
    inside a result, all of them from the user (W4).
    """
    shown: list[dict[str, Any]] = []
    for result in results:
        for part in result.content if isinstance(result.content, list) else ():
            if is_file(part):
                shown += ({"type": "text", "text": f"[result of {result.name or 'a tool'}: {described(part)}]"}, part)
    return shown


def _assistant(message: Message, renamed: dict[str, str], model: str | None) -> WireMessage:
    written: WireMessage = {"role": "assistant", "content": _content(message.content)}
    if message.tool_calls:
        written["tool_calls"] = [
            {
                "id": renamed[call.id],
                "type": "function",
                "function": {"name": call.name, "arguments": replayed_arguments(call)},
            }
            for call in message.tool_calls
        ]
    provider = message.provider
    if provider is not None and model is not None and provider.get("model") == model:
        written.update({key: value for key, value in provider.items() if key != "model"})
    return written


def _content(content: Content) -> Content:
    """The content without empty text, which strict providers refuse; null when nothing is left (T7)."""
    if isinstance(content, list):
        parts = [part for part in content if part.get("type") != "text" or str(part.get("text", "")).strip()]
        return parts or None
    return content if content and content.strip() else None


def replayed_arguments(call: ToolCall) -> str:
    """The arguments as they are sent again: what cannot be parsed as an object is replayed as `{}` (T13)."""
    raw = call.arguments.strip()
    if raw in ("", "null"):
        return "{}"
    return call.arguments if holds_object(raw) else "{}"


def wire_chars(written: WireMessage, model: str | None) -> int:
    """Characters of one wire message that a provider would count: content, names, arguments, provider data (X5).

    `model` reads it: what is no text counts by that model's rule.
    """
    content = written.get("content")
    total = len(content) if isinstance(content, str) else sum(part_chars(part, model) for part in content or ())
    for call in written.get("tool_calls", ()):
        total += len(call["function"]["name"]) + len(call["function"]["arguments"])
    for key in ("thinking_blocks", "reasoning_content"):
        if key in written:
            total += len(json.dumps(written[key], ensure_ascii=False))
    return total


@dataclass(frozen=True, slots=True)
class BuiltRequest:
    """The messages of one request, system prompt first, and its characters, tool schemas included (X5).

    `files` are the hashes of the files its messages name; null where they have to be looked through for them (W4).
    """

    messages: list[WireMessage]
    chars: int
    files: Set[str] | None = None


def build_request(
    prompt: str, earlier: History, step_texts: Sequence[str], current: History, tools_chars: int
) -> BuiltRequest:
    """The one request builder (T7): prompt, earlier turns, text of this step (X4), the current turn.

    `step_texts` become system messages between the earlier turns and the step's own messages, so the prefix stays
    what it was (prompt caching).
    """
    head: list[WireMessage] = [{"role": "system", "content": prompt}] if prompt.strip() else []
    between: list[WireMessage] = [{"role": "system", "content": text} for text in step_texts if text.strip()]
    chars = len(prompt) + earlier.chars + sum(map(len, step_texts)) + current.chars + tools_chars
    return BuiltRequest([*head, *earlier.wire, *between, *current.wire], chars, earlier.files | current.files)


def checked_wire(messages: Sequence[Any]) -> list[WireMessage]:
    """Wire messages made elsewhere, as a request may go out with them: a call id that comes again is another (T7, T14).

    Raises `InvalidInput` for what is no message, and for a call without its one result directly after it.
    """
    checked: list[WireMessage] = []
    taken: set[str] = set()
    open_calls: list[tuple[str, str]] = []  # as given, as written
    for number, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("system", "user", "assistant", "tool"):
            raise InvalidInput(f"messages[{number}] has no role of system, user, assistant, tool")
        if role == "tool":
            answered = next((each for each in open_calls if each[0] == message.get("tool_call_id")), None)
            if answered is None:
                raise InvalidInput(f"messages[{number}] is a result for a call that is not open there")
            open_calls.remove(answered)
            checked.append(message if len(set(answered)) == 1 else {**message, "tool_call_id": answered[1]})
            continue
        if open_calls:
            raise InvalidInput(f"messages[{number}] comes before the result of call {open_calls[0][0]!r}")
        calls = message.get("tool_calls") or ()
        for call in calls:
            open_calls.append((call["id"], _unused(call["id"], taken)))
            taken.add(open_calls[-1][1])
        renamed = [{**call, "id": id_} for call, (_, id_) in zip(calls, open_calls, strict=True)]
        checked.append(message if renamed == list(calls) else {**message, "tool_calls": renamed})
    if open_calls:
        raise InvalidInput(f"call {open_calls[0][0]!r} has no result")
    return checked
