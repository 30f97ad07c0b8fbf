"""litellm brought into the process: seconds of work and 500,000 objects, so when and how is settled here.

It reads `.env`, fetches a price table and header lists from public hosts, and retries, unless told otherwise before
it is imported. Nothing else imports it, and nothing here asks a host.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import os
import threading
import warnings
from typing import Any

from agentflow.models.own_process import is_own_process
from agentflow.models.wire.answer_body import listen

_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # the price table inside the package, not the one on the network
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",  # the same for the headers Anthropic's models take
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
    # A table's dashes come as a hundred equal pieces; so many are a model that cannot stop.
    "REPEATED_STREAMING_CHUNK_LIMIT": 1000,
}


def quiet() -> None:
    """Ignore what litellm warns of in its own code: where warnings are errors, its calls would fail by them.

    Said again for every call, because a test runner takes such filters back after each test.
    """
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"litellm\b")
    warnings.filterwarnings("ignore", r"Items? .*`ReadOnly` qualifier", UserWarning, r"pydantic\b")
    # What it prepared for a call that was given up before it went out; told by no module, so by its names.
    warnings.filterwarnings("ignore", r"coroutine '.*(completion|streaming).*' was never awaited", RuntimeWarning)


def is_loaded() -> bool:
    return bool(load.cache_info().currsize)


@functools.cache
def load() -> Any:
    """litellm, imported at the first call and set up."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    quiet()
    litellm = _imported()
    for setting, switch in _SETTINGS.items():
        setattr(litellm, setting, switch)
    return litellm


def _imported() -> Any:
    """The collector would go through all that is being made again and again: a third of the import's time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        import litellm
        from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport

        listen(LiteLLMAiohttpTransport)
    finally:
        if was_enabled:
            gc.enable()
    if is_own_process():
        gc.freeze()
    return litellm


async def loaded() -> Any:
    """litellm, loaded in a thread where that is still to be done.

    Not one of the loop's own threads: those are waited for when the loop is closed, and an import goes on for seconds
    after nobody wants it any more.
    """
    if not is_loaded():
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()
        threading.Thread(target=_load_for, args=(loop, ended), name="litellm", daemon=True).start()
        await ended
    quiet()
    return load()


def _load_for(loop: asyncio.AbstractEventLoop, ended: asyncio.Future[None]) -> None:
    """Load it and say so; what fails is raised again by whoever asks next, for nothing is remembered of it."""
    try:
        with contextlib.suppress(Exception):
            load()
    finally:
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits
            loop.call_soon_threadsafe(lambda: None if ended.done() else ended.set_result(None))


def idle_clients(litellm: Any, *, shared_too: bool) -> list[Any]:
    """Its clients of this event loop, taken out of its cache; with `shared_too` the one it shares among loops."""
    from litellm.caching.evicted_client_closer import running_loop_token

    cache, mine = litellm.in_memory_llm_clients_cache, f"-{running_loop_token()}"
    clients = {key: client for key, client in list(cache.cache_dict.items()) if key.endswith(mine)}
    for key in clients:
        cache.delete_cache(key)
    shared = vars(litellm).get("module_level_aclient")
    return [*clients.values(), *([shared] if shared and shared_too else [])]
