"""Chats are named after a turn, beside everything else: a name can neither delay nor fail a turn (R7, T10)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentflow import clock
from agentflow.agents.loaded_agent import LoadedAgent
from agentflow.clock import Instant, NewId
from agentflow.errors import AgentflowError, ModelError
from agentflow.live.event_feed import Feed, Feeds
from agentflow.message import Usage
from agentflow.models.assembly import Reply
from agentflow.models.protocol import Model, ModelRequest, parameters_of
from agentflow.records.naming import PROMPT, name_in, title_messages
from agentflow.store.protocol import Store
from agentflow.store.rows import changes, inserts
from agentflow.store.rows.written import Row
from agentflow.telemetry import spans
from agentflow.text import compact_json, digest
from agentflow.turn.calls.model_stream import stream_reply
from agentflow.turn.opening import Opening
from agentflow.turn.run.in_flight import OpenStream

FINISH_SECS = 10.0


@dataclass(frozen=True, slots=True)
class _Asked:
    """A title call that went out, with which parameters, and what came of it: a name, or why there is none."""

    stream: OpenStream
    messages: list[dict[str, Any]]
    parameters: Mapping[str, Any]
    at: Instant
    name: str | None
    reply: Reply | None
    failure: AgentflowError | None


class ChatNames:
    """The names that are being found in this process, at most one a session at a time."""

    def __init__(self, store: Store, feeds: Feeds, new_id: NewId) -> None:
        self._store = store
        self._feeds = feeds
        self._new_id = new_id
        self._tasks: dict[str, asyncio.Task[None]] = {}  # by session

    def begin(self, agent: LoadedAgent, opening: Opening) -> None:
        """Find a name in a task of its own, unless one is being found."""
        session_id = opening.session_id
        if session_id not in self._tasks:
            task = asyncio.get_running_loop().create_task(
                self._named(agent, opening), name=f"name of {session_id}", context=spans.apart()
            )
            self._tasks[session_id] = task
            task.add_done_callback(lambda _: self._tasks.pop(session_id, None))

    async def finish(self, seconds: float = FINISH_SECS) -> None:
        """Wait for the names that are being found, at most so long; the others are tried again after a later turn."""
        try:
            if self._tasks:
                await asyncio.wait(list(self._tasks.values()), timeout=seconds)
        finally:
            self.drop()

    def drop(self) -> None:
        """Find no more names now."""
        for task in self._tasks.values():
            task.cancel()

    async def _named(self, agent: LoadedAgent, opening: Opening) -> None:
        """Nobody waits for it, so nothing may leave it."""
        try:
            if await self._store.ledger.begin_naming(opening.session_key):
                await self._keep(agent, opening, await self._ask(agent, opening))
        except AgentflowError as error:
            agent.logger.warning("session %s has no name yet: %s", opening.session_id, error)
        except Exception:
            agent.logger.exception("session %s has no name: naming it failed", opening.session_id)

    async def _ask(self, agent: LoadedAgent, opening: Opening) -> _Asked:
        """One call, without a second attempt: a later turn tries again."""
        model, call_id, at = agent.naming_model, self._new_id(), clock.instant()
        messages = title_messages(opening.user, opening.reply)
        chars = sum(len(message["content"]) for message in messages)
        started = asyncio.get_running_loop().time()
        stream = OpenStream(call_id, "title", model.name, PROMPT, chars, started, with_tools=False, streamed=False)
        request = ModelRequest(call_id, "title", messages, (), chars, opening.session_id, opening.turn)
        reply = None
        try:
            reply = await self._replied(agent, model, request, stream)
            return _Asked(stream, messages, parameters_of(model), at, name_in(reply), reply, None)
        except AgentflowError as error:
            level = logging.DEBUG if _is_unscripted(error) else logging.WARNING
            agent.logger.log(level, "session %s has no name yet: %s", opening.session_id, error)
            return _Asked(stream, messages, parameters_of(model), at, None, reply, error)

    async def _replied(self, agent: LoadedAgent, model: Model, request: ModelRequest, stream: OpenStream) -> Reply:
        unheard = Feed(request.session_id)
        limit = agent.config.settings.llm_timeout_secs
        return await stream_reply(model, request, stream, unheard, "", _no_checkpoint, timeout_secs=limit, retries=0)

    async def _keep(self, agent: LoadedAgent, opening: Opening, asked: _Asked) -> None:
        """Of an unobserved agent the name alone stays (R5)."""
        if _is_unscripted(asked.failure):
            return
        written = _rows(opening.step, asked) if agent.config.settings.observability else ()
        told = await self._store.ledger.end_naming(opening.session_key, written, asked.name, clock.instant())
        if told is not None:
            self._feeds.publish(opening.session_id, *told)


def _is_unscripted(failure: AgentflowError | None) -> bool:
    """Whether nobody was asked: few scripts have a reply to title calls."""
    return isinstance(failure, ModelError) and failure.kind == "script"


def _rows(step: int, asked: _Asked) -> tuple[Row, ...]:
    """The call as rows of no turn: it counts for the session, and `step` says after which one it was made (X6)."""
    stream, reply = asked.stream, asked.reply
    usage = (stream.assembler.usage if reply is None else reply.usage) or Usage()
    prompt, texts = digest(PROMPT), {"messages": compact_json(asked.messages)}
    if asked.parameters:
        texts["parameters"] = compact_json(asked.parameters)
    sent = {name: digest(text) for name, text in texts.items()}
    return (
        inserts.InsertBlob(prompt, PROMPT),
        *(inserts.InsertBlob(sent[name], text) for name, text in texts.items()),
        inserts.InsertLlmCall(
            id=stream.call_id, turn=0, execution=0, step=step, iteration=0, purpose="title", model=stream.model,
            status="requested", requested_at=asked.at, branch=None, depth=None,
        ),
        changes.EndLlmCall(
            status="completed" if asked.failure is None else "errored",
            duration_ms=stream.milliseconds(), first_token_ms=stream.first_token_ms, attempts=stream.attempts,
            request_chars=stream.request_chars, prompt_hash=prompt, tools_hash=None,
            finish_reason=None if reply is None else reply.finish_reason,
            input=usage.input, output=usage.output, cache_read=usage.cache_read, cache_write=usage.cache_write,
            cost=None if usage.cost is None else str(usage.cost),
            error=None if asked.failure is None else compact_json(asked.failure.as_dict()),
            checkpoint=None, request=compact_json(sent),
            finish_word=None if reply is None else reply.finish_word, id=stream.call_id,
        ),
    )  # fmt: skip


async def _no_checkpoint(text: str) -> None:
    """The text is no answer, so none of it is worth keeping."""
