"""The body of a provider's answer as it comes off the wire, read before the model library makes something of it.

The library invents a finish reason for a stream that had none, drops refusals and content that is no text, and makes
an empty reply of a page that is no reply at all. Here passes every byte of an answer on its way to the library: the
provider's own finish word and the first words are kept, and shapes the library would lose are rewritten to the ones
it reads. Pure but for `listen`.
"""

from __future__ import annotations

import json
import re
import weakref
from collections.abc import AsyncIterator
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any

from agentflow.text import preview, read_json

_HEAD_BYTES = 2000
_LONGEST_LINE = 1_000_000
_EVENT = re.compile(rb"^(?:data|event):", re.MULTILINE)
_SAYS_ITS_FINISH = re.compile(rb'"(?:choices|candidates)"|"message_start"')
_FINISH = re.compile(
    rb'"(?P<key>finish_reason|finishReason|stop_reason|stopReason|done_reason|blockReason)"\s*:\s*"(?P<word>[^"\\]{1,100})"'
    rb'|"type"\s*:\s*"response\.(?P<state>completed|incomplete|failed)"'
)
_OTHER_SHAPE = re.compile(
    rb'"refusal"\s*:\s*"[^"]|"(?:content|reasoning_content|reasoning)"\s*:\s*[^"n\s]|"function_call"\s*:\s*\{'
)
_TEXTS = ("content", "reasoning_content", "reasoning")

ANSWER: ContextVar[AnswerBody | None] = ContextVar("agentflow_answer", default=None)
"""Set while a call is made: the answer to it is read here."""


class AnswerBody:
    """What was sent in answer to one call.

    `finish_word`: why the provider stopped, in its own word. `refused`: the text is a refusal. `unread`: content that
    has no text. All stay empty when the library did not go through the transport that is listened to.
    """

    def __init__(self) -> None:
        self.connected = False
        self.status = 0
        self.head = b""
        self.finish_word: str | None = None
        self.refused = False
        self.unread: str | None = None
        self.is_binary = False
        self._by_choice = False
        self._rest = b""

    @property
    def has_events(self) -> bool:
        return _EVENT.search(self.head) is not None

    @property
    def says_its_finish(self) -> bool:
        """Whether it has a format in which a complete reply carries a finish reason."""
        return _SAYS_ITS_FINISH.search(self.head) is not None

    def begins(self) -> str:
        """The first words of the body."""
        return " ".join(self.head.decode("utf-8", "replace").split())

    def attach(self, response: Any) -> None:
        """Read the body of a response that is no refusal, as its reader does."""
        if response.status_code >= 400:
            return
        self.connected, self.status = True, response.status_code
        self.is_binary = response.headers.get("content-type", "").startswith("application/vnd.amazon")
        # The response must not hold itself: it closes its connection when it is let go.
        kept = weakref.ref(response)
        response.aiter_bytes = lambda chunk_size=None: self._relay(kept(), chunk_size)

    async def _relay(self, response: Any, chunk_size: int | None) -> AsyncIterator[bytes]:
        async with aclosing(type(response).aiter_bytes(response, chunk_size)) as chunks:
            async for chunk in chunks:
                if whole_lines := self.feed(chunk):
                    yield whole_lines
        if rest := self.end():
            yield rest

    def feed(self, chunk: bytes) -> bytes:
        """The lines that are whole now, as the library shall read them."""
        if len(self.head) < _HEAD_BYTES:
            self.head += chunk[: _HEAD_BYTES - len(self.head)]
        if self.is_binary:
            self._find_finish(chunk)
            return chunk
        text = self._rest + chunk if self._rest else chunk
        end = text.rfind(b"\n") + 1 or (len(text) if len(text) > _LONGEST_LINE else 0)
        self._rest = text[end:]
        return self._read(text[:end])

    def end(self) -> bytes:
        """What stood after the last line's end."""
        rest, self._rest = self._rest, b""
        return self._read(rest)

    def _read(self, lines: bytes) -> bytes:
        self._find_finish(lines)
        if b'"choices"' in lines and _OTHER_SHAPE.search(lines):
            return b"".join(map(self._mended, lines.splitlines(keepends=True)))
        return lines

    def _find_finish(self, text: bytes) -> None:
        """A choice's own reason counts more than what some servers say beside it, such as the stop text."""
        for found in _FINISH.finditer(text):
            of_choice = found["key"] in (b"finish_reason", b"finishReason")
            if of_choice or not self._by_choice:
                self.finish_word = (found["word"] or found["state"]).decode("utf-8", "replace")
            self._by_choice |= of_choice

    def _mended(self, line: bytes) -> bytes:
        start = line.find(b"{")
        try:
            event = read_json(line[start:]) if start >= 0 else None
        except ValueError:  # no JSON: the library will say so
            return line
        choices = event.get("choices") if isinstance(event, dict) else None
        deltas = [choice.get("delta") for choice in choices or () if isinstance(choice, dict)]
        mended = [self._mend(delta) for delta in deltas if isinstance(delta, dict)]
        if not any(mended):
            return line
        return line[:start] + json.dumps(event).encode() + line[len(line.rstrip(b"\r\n")) :]

    def _mend(self, delta: dict[str, Any]) -> bool:
        """Whether anything of a choice's delta had to be rewritten."""
        before = dict(delta)
        for key in _TEXTS:
            if delta.get(key) is not None and not isinstance(delta[key], str) and not _is_thinking(delta[key]):
                delta[key] = self._text(delta[key])
        if refusal := delta.get("refusal"):
            delta.update(content=(delta.get("content") or "") + str(refusal), refusal=None)
            self.refused = True
        if isinstance(delta.get("function_call"), dict) and not delta.get("tool_calls"):
            delta["tool_calls"] = [{"index": 0, "type": "function", "function": delta.pop("function_call")}]
        return delta != before

    def _text(self, value: Any) -> str | None:
        text = text_in(value)
        if not text and value not in ([], {}, ""):
            self.unread = preview(json.dumps(value), 200)
        return text or None


def text_in(value: Any) -> str:
    """The text of content in whatever shape: parts, lists of parts, objects that have some; else empty."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return "".join(map(text_in, value))
    if isinstance(value, dict):
        return next((text for key in ("text", "content", "refusal") if (text := text_in(value.get(key)))), "")
    return ""


def _is_thinking(value: Any) -> bool:
    """Reasoning among the parts of the content, which the library tells apart itself."""
    return isinstance(value, list) and any(isinstance(part, dict) and part.get("type") == "thinking" for part in value)


def listen(transport: type[Any]) -> None:
    """Have each answer that comes through this class of transports read by the `ANSWER` of its call."""
    original = transport.handle_async_request

    async def handle_async_request(self: Any, request: Any) -> Any:
        response = await original(self, request)
        if (answer := ANSWER.get()) is not None:
            answer.attach(response)
        return response

    setattr(transport, "handle_async_request", handle_async_request)  # noqa: B010  # a method of the library's class
