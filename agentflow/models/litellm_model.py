"""A model litellm knows: one attempt, streamed, with all that litellm would do by itself switched off."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import os
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping
from decimal import Decimal
from typing import Any
from weakref import WeakKeyDictionary

from agentflow.config.document.credentials import unexpanded
from agentflow.config.keys.base import plain
from agentflow.errors import ModelError
from agentflow.models.protocol import Delta, ModelRequest, UsageReport
from agentflow.models.providers import listed_reads
from agentflow.models.wire import litellm_loading
from agentflow.models.wire.answer_body import ANSWER, AnswerBody
from agentflow.models.wire.cache_marks import MARK, mark, wants_marks
from agentflow.models.wire.call_ids import accepted_ids, ids_of, rewrite_ids
from agentflow.models.wire.ending import Heard, finish_of, refused_by
from agentflow.models.wire.links import leave_out_links
from agentflow.models.wire.litellm_wire import ChunkReader, system_apart, usage_of, wire_messages
from agentflow.secrets.known import learn, learn_environment
from agentflow.text import sanitise

_NEVER_SECS = 30 * 86_400.0
"""litellm ends a wait for bytes after ten minutes unless it is told a time."""

_open_streams: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()


class LitellmModel:
    """A model by its litellm string, with the keys of an interface in agent.yaml; absent ones are not sent.

    `extra` is passed on to litellm. How long a call may take is its caller's matter, who cancels it.
    """

    scripted = False
    own_timeout_secs: float | None = None
    """The time limit of its interface, null where the agent's holds."""
    parameters: dict[str, Any]
    """What goes out beside messages and tools, credentials as the file writes them or masked."""

    def __init__(
        self,
        model: str,
        *,
        api_base: str | None = None,
        api_key: str | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        max_output_tokens: int | None = None,
        reasoning_effort: str | None = None,
        extra: Mapping[str, Any] | None = None,
        reads: Collection[str] | None = None,
        marks_cache: bool = True,
    ) -> None:
        self.name = model
        self._marks_cache = marks_cache
        self._reads = None if reads is None else frozenset(reads)
        learn_environment(os.environ)  # the library reads keys there by itself
        if api_key:
            learn(api_key)  # where the model was made by a program; from a file it is known already
        given = {
            "temperature": temperature,
            "top_p": top_p,
            "max_tokens": max_output_tokens,
            "reasoning_effort": reasoning_effort,
        }
        place = {"api_base": api_base, "api_key": api_key}
        told = {
            **(extra or {}),
            **{key: value for key, value in given.items() if value is not None},
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        self.parameters = _told(told)
        self._arguments: dict[str, Any] = {
            **told,
            **{key: value for key, value in place.items() if value is not None},
            "model": model,
            "num_retries": 0,
            "max_retries": 0,
            "timeout": _NEVER_SECS,
        }

    def is_loaded(self) -> bool:
        return litellm_loading.is_loaded()

    async def load(self) -> None:
        """Import litellm, in a thread."""
        await litellm_loading.loaded()

    @property
    def reads(self) -> frozenset[str] | None:
        """What it reads besides text: as its interface says, else as litellm's table does (W4)."""
        return self._reads if self._reads is not None else listed_reads(self.name)

    async def warm(self) -> None:
        """Load litellm and the classes it builds on first use, so that the first call does not wait for them.

        Under a frozen clock it cannot be loaded: warm up first.
        """
        litellm = await litellm_loading.loaded()
        await litellm.acompletion(
            model="openai/none", messages=[{"role": "user", "content": "."}], mock_response=".", api_key="none"
        )

    async def close(self) -> None:
        """Close the connections litellm keeps, unless a stream of any model is open on them.

        Models share them; they are opened again when they are needed.
        """
        if not self.is_loaded() or _open_streams.get(asyncio.get_running_loop()):
            return
        shared_too = not any(_open_streams.values())
        for client in litellm_loading.idle_clients(litellm_loading.load(), shared_too=shared_too):
            with contextlib.suppress(Exception):  # a connection that is broken already is closed
                await client.close()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """One attempt, streamed, as `Model.stream` promises (T12, T16).

        Where a provider refuses the marks of what it may keep, and names them, the call is made without (W6).
        """
        said = False
        try:
            async with contextlib.aclosing(self._stream(request, marks=self._marks_cache)) as deltas:
                async for delta in deltas:
                    said = True
                    yield delta
            return
        except ModelError as error:
            if said or not self._marks_cache or error.kind != "bad_request" or MARK not in str(error):
                raise
        async with contextlib.aclosing(self._stream(request, marks=False)) as deltas:
            async for delta in deltas:
                yield delta

    async def _stream(self, request: ModelRequest, *, marks: bool) -> AsyncGenerator[Delta, None]:
        litellm = await litellm_loading.loaded()
        loop = asyncio.get_running_loop()
        chunks: Any = None
        heard = Heard(self.name, ChunkReader(), AnswerBody())
        _open_streams[loop] = _open_streams.get(loop, 0) + 1
        try:
            with _listening(heard.body):
                chunks = await litellm.acompletion(
                    **self._arguments, **self._conversation(litellm, request, marks=marks)
                )
            while True:
                with _listening(heard.body):
                    chunk = await anext(chunks, None)
                if chunk is None:
                    break
                for delta in heard.reader.read(chunk):
                    yield delta
                if report := self._report(litellm, chunk):
                    yield report
            for delta in heard.reader.end():
                yield delta
        except Exception as error:
            # Not chained: the library's exceptions carry the request, credentials included.
            raise refused_by(error, heard, streaming=chunks is not None) from None
        finally:
            _open_streams[loop] -= 1
            if chunks is not None:
                await chunks.aclose()
        finish = finish_of(heard)
        if isinstance(finish, ModelError):
            raise finish
        yield finish

    def _conversation(self, litellm: Any, request: ModelRequest, *, marks: bool) -> dict[str, Any]:
        provider = litellm.get_llm_provider(self.name, api_base=self._arguments.get("api_base"))[1]
        messages = wire_messages(request.messages, apart=system_apart(self.name, provider))
        leave_out_links(messages, provider)
        rewrite_ids(messages, accepted_ids(ids_of(messages), self.name, provider))
        tools = copy.deepcopy(list(request.tools))
        if marks and wants_marks(self.name, provider):
            mark(messages, tools)
        return {"messages": messages, **({"tools": tools} if tools else {})}

    def _report(self, litellm: Any, chunk: Any) -> UsageReport | None:
        report = getattr(chunk, "usage", None)
        if report is None:
            return None
        usage = usage_of(report, self._cost(litellm, report))
        return UsageReport(usage) if usage else None

    def _cost(self, litellm: Any, report: Any) -> Decimal | None:
        """In US dollars by the table inside the package; null for a model it does not know (B36)."""
        with contextlib.suppress(Exception):  # a price is never worth a failed call
            prices = litellm.cost_per_token(model=self.name, usage_object=report)
            return Decimal(repr(round(sum(prices), 12)))
        return None


def _told(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as JSON that can be stored and shown."""
    shown = unexpanded(plain(arguments), ("extra",))
    told: dict[str, Any] = json.loads(sanitise(json.dumps(shown, default=str, ensure_ascii=False)))
    return told


@contextlib.contextmanager
def _listening(body: AnswerBody) -> Iterator[None]:
    """What is asked meanwhile is answered into `body`."""
    token = ANSWER.set(body)
    try:
        yield
    finally:
        ANSWER.reset(token)
