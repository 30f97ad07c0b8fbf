"""One model call, attempts included: streamed, told, timed, and given back whole or with what came of it (T12, T16)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from agentflow import clock
from agentflow.errors import ModelError
from agentflow.events import MODEL_LOADING, MODEL_RETRYING, Event
from agentflow.live.event_feed import Feed
from agentflow.models.assembly import Assembler, Reply
from agentflow.models.errors import call_limit, too_slow
from agentflow.models.nothing_said import nothing_said
from agentflow.models.protocol import Delta, Loading, Model, ModelRequest, ReasoningDelta, TextDelta, ToolFragment
from agentflow.models.retry import jitter, retry_delay
from agentflow.telemetry import shapes, spans
from agentflow.text import StreamSanitiser
from agentflow.turn.calls.sent_files import SentFiles
from agentflow.turn.run.in_flight import OpenStream

CHECKPOINT_SECS = 2.0
MAX_REPLY = 5_000_000  # characters of text, reasoning and calls (Z3)
MAX_CALLS = 10_000  # in one reply
_LONG_REPLY = 250_000  # characters; what is longer is read beside the loop
_AT_ONCE = 50  # deltas that are read before somebody else has a turn


async def stream_reply(
    model: Model,
    request: ModelRequest,
    stream: OpenStream,
    feed: Feed,
    turn_id: str,
    checkpoint: Callable[[str], Awaitable[None]],
    *,
    timeout_secs: float,
    retries: int,
    files: SentFiles | None = None,
) -> Reply:
    """The complete reply. The request is asked with its `files` filled in.

    Retries rate limits and passing faults while nothing has been shown, honouring `Retry-After`. `checkpoint` is
    given the text so far, at most every two seconds (T30). Raises the last `ModelError`; `stream` then holds what
    was shown and reported.
    """
    shape = partial(
        shapes.model_call, model.name, feed.session_id, request.call_id, request.purpose, scripted=model.scripted
    )
    with spans.span(shape) as span:
        span.say(lambda: shapes.asked(request.messages), contents=True)
        try:
            return await _attempts(
                model, request, stream, feed, turn_id, checkpoint, timeout_secs=timeout_secs, retries=retries,
                files=files,
            )  # fmt: skip
        finally:
            span.say(lambda: _replied(stream))
            span.say(lambda: _text(stream), contents=True)


async def _attempts(
    model: Model,
    request: ModelRequest,
    stream: OpenStream,
    feed: Feed,
    turn_id: str,
    checkpoint: Callable[[str], Awaitable[None]],
    *,
    timeout_secs: float,
    retries: int,
    files: SentFiles | None,
) -> Reply:
    limit, key = call_limit(getattr(model, "own_timeout_secs", None), timeout_secs)
    await _ready(model, stream, feed, turn_id)
    while True:
        stream.attempts += 1
        stream.assembler = Assembler()
        feed.open_stream(turn_id, request.call_id, stream.told)
        try:
            async with asyncio.timeout(limit or None):
                length = await _read(model, _asked(model, request, stream, files), stream, feed, checkpoint)
                assembled = stream.assembler.reply
                reply = assembled() if length <= _LONG_REPLY else await asyncio.to_thread(assembled)
            empty = nothing_said(reply, request, model.name)
            if reply.finish_reason is not None and empty is None:
                return reply
            failure = empty or ModelError("cut", "The model's stream ended before the reply was complete.")
        except TimeoutError:
            failure = too_slow(limit, key)
        except ModelError as error:
            failure = error
        finally:
            feed.close_stream(request.call_id)
        if files is not None and not stream.has_shown and files.refuse(failure):
            _tell_retry(feed, turn_id, stream, failure, 0.0)
            continue
        share = jitter(request.call_id, stream.attempts)
        delay = None if stream.has_shown else retry_delay(failure, stream.attempts, retries, jitter=share)
        if delay is None:
            raise failure
        _tell_retry(feed, turn_id, stream, failure, delay)
        await asyncio.sleep(delay)


def _tell_retry(feed: Feed, turn_id: str, stream: OpenStream, failure: ModelError, delay: float) -> None:
    told = {
        "call_id": stream.call_id, "attempt": stream.attempts, "error": str(failure), "next_secs": round(delay, 3),
    }  # fmt: skip
    feed.tell(Event(feed.session_id, None, turn_id, clock.instant(), MODEL_RETRYING, told))


def _asked(model: Model, request: ModelRequest, stream: OpenStream, files: SentFiles | None) -> ModelRequest:
    if files is None:
        return request
    stream.sent = {**(stream.sent or {}), "files": files.said(model)}
    return files.request(request, model)


def _replied(stream: OpenStream) -> Mapping[str, Any]:
    reply = stream.assembler.reply()
    return shapes.model_replied(reply.usage, reply.finish_reason, stream.attempts, stream.first_token_ms)


def _text(stream: OpenStream) -> Mapping[str, Any]:
    reply = stream.assembler.reply()
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.tool_calls]
    return shapes.answered(reply.text, calls, reply.finish_reason)


async def _ready(model: Model, stream: OpenStream, feed: Feed, turn_id: str) -> None:
    """Have the model loaded before its time is counted; whoever watches is told what they wait for."""
    if isinstance(model, Loading) and not model.is_loaded():
        said = {"call_id": stream.call_id, "model": model.name}
        feed.hold(stream.call_id, Event(feed.session_id, None, turn_id, clock.instant(), MODEL_LOADING, said))
        try:
            await model.load()
        finally:
            feed.let_go(stream.call_id)
        stream.started = asyncio.get_running_loop().time()


async def _read(
    model: Model,
    request: ModelRequest,
    stream: OpenStream,
    feed: Feed,
    checkpoint: Callable[[str], Awaitable[None]],
) -> int:
    """Read the stream to its end; how many characters it had."""
    clock = asyncio.get_running_loop().time
    due = clock() + CHECKPOINT_SECS
    shown = {
        kind: _Shown(stream, feed, kind, make) for kind, make in (("text", TextDelta), ("reasoning", ReasoningDelta))
    }
    texts, reasonings = shown["text"], shown["reasoning"]
    deltas = model.stream(request)
    room, count = MAX_REPLY, 0
    try:
        async for delta in deltas:
            count += 1
            if not count % _AT_ONCE:
                await asyncio.sleep(0)
            if (room := room - _length(delta)) < 0:
                raise ModelError("bad_reply", f"The model's reply has more than {MAX_REPLY:,} characters: given up.")
            if type(delta) is TextDelta:
                texts.show(texts.sanitiser.feed(delta.text))
                if clock() >= due:
                    await checkpoint(stream.assembler.text)
                    due = clock() + CHECKPOINT_SECS
            elif type(delta) is ReasoningDelta:
                reasonings.show(reasonings.sanitiser.feed(delta.text))
            else:
                stream.assembler.feed(delta)
                if stream.assembler.calls > MAX_CALLS:
                    raise ModelError("bad_reply", f"The model's reply has more than {MAX_CALLS:,} calls: given up.")
    finally:
        texts.show(texts.sanitiser.end())
        reasonings.show(reasonings.sanitiser.end())
        await deltas.aclose()
    return MAX_REPLY - room


def _length(delta: Delta) -> int:
    if isinstance(delta, TextDelta | ReasoningDelta):
        return len(delta.text)
    if isinstance(delta, ToolFragment):
        return sum(len(text or "") for text in (delta.id, delta.name, delta.arguments))
    return 0


class _Shown:
    """The text or the reasoning of a stream on its way to whoever reads: sanitised, assembled, told."""

    __slots__ = ("_feed", "_kind", "_make", "_offset", "_stream", "sanitiser")

    def __init__(
        self, stream: OpenStream, feed: Feed, kind: str, make: Callable[[str], TextDelta | ReasoningDelta]
    ) -> None:
        self.sanitiser = StreamSanitiser()
        self._stream, self._feed, self._kind, self._make = stream, feed, kind, make
        self._offset = 0

    def show(self, text: str) -> None:
        if not text:
            return
        if self._stream.first_token_ms is None:
            self._stream.first_token_ms = self._stream.milliseconds()
        self._stream.assembler.feed(self._make(text))
        self._feed.delta(self._stream.call_id, self._offset, self._kind, text)
        self._offset += len(text)
