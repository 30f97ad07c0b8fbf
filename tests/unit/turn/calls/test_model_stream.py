"""One model call: what its time is counted from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from agentflow.events import MODEL_LOADING
from agentflow.live.event_feed import Feed
from agentflow.models.protocol import Delta, FinishReason, ModelRequest, TextDelta
from agentflow.turn.calls.model_stream import stream_reply
from agentflow.turn.run.in_flight import OpenStream


class SlowToLoad:
    """A model that is there only once it was loaded."""

    name = "slow/to-load"
    scripted = False

    def __init__(self) -> None:
        self.ready = False
        self.loads = 0

    def is_loaded(self) -> bool:
        return self.ready

    async def load(self) -> None:
        self.ready, self.loads = True, self.loads + 1

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        yield TextDelta("Hi")
        yield FinishReason("stop")

    async def close(self) -> None:
        """Nothing is kept open."""


def test_loading_is_told_once_and_is_not_the_models_time() -> None:
    """A first call waits for a library of seconds: whoever watches is told, and no figure of the call has it."""

    async def run() -> tuple[list[str], list[int], int]:
        model, feed = SlowToLoad(), Feed("s-1")
        reader = feed.subscribe()
        first_tokens = []
        for call_id in ("c-1", "c-2"):
            long_ago = asyncio.get_running_loop().time() - 1000
            started = long_ago if call_id == "c-1" else asyncio.get_running_loop().time()
            stream = OpenStream(call_id, "main", model.name, "", 1, started, with_tools=False)
            await stream_reply(
                model, ModelRequest(call_id, "main", [{"role": "user", "content": "hi"}]), stream, feed, "t-1",
                _kept, timeout_secs=5, retries=0,
            )  # fmt: skip
            first_tokens.append(stream.first_token_ms or 0)
        told = [event for event in await reader.take(0) if event.type == MODEL_LOADING]
        return [event.data["call_id"] for event in told], first_tokens, model.loads

    told, first_tokens, loads = asyncio.run(run())
    assert (told, loads) == (["c-1"], 1)
    assert max(first_tokens) < 500_000


async def _kept(text: str) -> None:
    """Nothing is written."""
