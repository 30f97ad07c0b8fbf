"""The models litellm knows, and the only place that imports it.

litellm takes seconds to import, reads `.env` and fetches a price table unless told otherwise, retries on its own and
estimates usage it was not given. Here it is loaded on the first call, in a thread, with all of that switched off.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import os
import warnings
from collections.abc import AsyncGenerator, Mapping
from decimal import Decimal
from typing import Any
from weakref import WeakKeyDictionary

from agentflow.models.errors import Facts, model_error
from agentflow.models.failures import facts_of
from agentflow.models.litellm_wire import ChunkReader, system_apart, usage_of, wire_messages
from agentflow.models.protocol import Delta, ModelRequest, UsageReport

_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # the price table inside the package, not the one on the network
    "LITELLM_MODE": "PRODUCTION",  # do not load `.env` into this process
    "LITELLM_LOG": "ERROR",
}
_SETTINGS = {
    "suppress_debug_info": True,
    "telemetry": False,
    # Let it fill in what a provider insists on: tools where the history has calls, a first user message ...
    "modify_params": True,
    # ... but never count tokens itself: that is slow, and an estimate would pass for the provider's own report.
    "disable_token_counter": True,
}

_open_streams: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()


def _quiet() -> None:
    """Ignore what litellm warns of in its own code: where warnings are errors, its calls would fail by them.

    Said again for every call, because a test runner takes such filters back after each test.
    """
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"litellm\b")
    warnings.filterwarnings("ignore", r"Items? .*`ReadOnly` qualifier", UserWarning, r"pydantic\b")
    # What it prepared for a call that was given up before it went out; told by no module, so by its names.
    warnings.filterwarnings("ignore", r"coroutine '.*(completion|streaming).*' was never awaited", RuntimeWarning)


@functools.cache
def _load() -> Any:
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    _quiet()
    import litellm

    for setting, switch in _SETTINGS.items():
        setattr(litellm, setting, switch)
    return litellm


def _idle_clients(litellm: Any) -> list[Any]:
    """Its clients of this event loop, taken out of its cache; and the one it shares among loops, if no loop streams."""
    from litellm.caching.evicted_client_closer import running_loop_token

    cache, mine = litellm.in_memory_llm_clients_cache, f"-{running_loop_token()}"
    clients = {key: client for key, client in list(cache.cache_dict.items()) if key.endswith(mine)}
    for key in clients:
        cache.delete_cache(key)
    shared = vars(litellm).get("module_level_aclient")
    return [*clients.values(), *([shared] if shared and not any(_open_streams.values()) else [])]


async def _loaded() -> Any:
    if not _load.cache_info().currsize:
        return await asyncio.to_thread(_load)
    _quiet()
    return _load()


class LitellmModel:
    """A model by its litellm string, with the keys of an interface in agent.yaml; absent ones are not sent.

    `timeout_secs` bounds each wait for bytes and the whole stream; 0 = no limit. `extra` is passed on to litellm.
    """

    scripted = False

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
        timeout_secs: float = 120.0,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = model
        self._timeout_secs = timeout_secs or None
        self._secrets = (api_key,) if api_key else ()
        given = {
            "api_base": api_base,
            "api_key": api_key,
            "temperature": temperature,
            "top_p": top_p,
            "max_tokens": max_output_tokens,
            "reasoning_effort": reasoning_effort,
            "timeout": self._timeout_secs,
        }
        self._arguments: dict[str, Any] = {
            **(extra or {}),
            **{key: value for key, value in given.items() if value is not None},
            "model": model,
            "stream": True,
            "stream_options": {"include_usage": True},
            "num_retries": 0,
            "max_retries": 0,
        }

    async def warm(self) -> None:
        """Load litellm and the classes it builds on first use, so that the first call does not wait for them.

        Under a frozen clock it cannot be loaded: warm up first.
        """
        litellm = await _loaded()
        await litellm.acompletion(
            model="openai/none", messages=[{"role": "user", "content": "."}], mock_response=".", api_key="none"
        )

    async def close(self) -> None:
        """Close the connections litellm keeps, unless a stream of any model is open on them.

        Models share them; they are opened again when they are needed.
        """
        if not _load.cache_info().currsize or _open_streams.get(asyncio.get_running_loop()):
            return
        for client in _idle_clients(_load()):
            with contextlib.suppress(Exception):  # a connection that is broken already is closed
                await client.close()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """One attempt, streamed, as `Model.stream` promises (T12, T16)."""
        litellm = await _loaded()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout_secs if self._timeout_secs else None
        chunks: Any = None
        reader = ChunkReader()
        _open_streams[loop] = _open_streams.get(loop, 0) + 1
        try:
            async with asyncio.timeout_at(deadline):
                chunks = await litellm.acompletion(**self._arguments, **self._conversation(litellm, request))
            while True:
                # A time limit must not stay open across a yield: it would cancel whoever reads the stream.
                async with asyncio.timeout_at(deadline):
                    chunk = await anext(chunks, None)
                if chunk is None:
                    break
                for delta in reader.read(chunk):
                    yield delta
                if report := self._report(litellm, chunk):
                    yield report
            for delta in reader.end():
                yield delta
        except Exception as error:
            # Not chained: the library's exceptions carry the request, credentials included.
            raise model_error(self.name, facts_of(error, streaming=chunks is not None), secrets=self._secrets) from None
        finally:
            _open_streams[loop] -= 1
            if chunks is not None:
                await chunks.aclose()
        if not reader.finished:
            raise model_error(self.name, _CUT)

    def _conversation(self, litellm: Any, request: ModelRequest) -> dict[str, Any]:
        provider = litellm.get_llm_provider(self.name, api_base=self._arguments.get("api_base"))[1]
        messages = wire_messages(request.messages, apart=system_apart(self.name, provider))
        return {"messages": messages, **({"tools": copy.deepcopy(list(request.tools))} if request.tools else {})}

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


_CUT = Facts(text="the stream ended before a finish_reason", streaming=True)
