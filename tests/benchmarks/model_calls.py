"""What a warm model call costs in CPU, through litellm and through httpx alone: per call, and per streamed delta."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from time import process_time
from typing import Any

import httpx

from agentflow.models.litellm_model import LitellmModel
from agentflow.models.protocol import ModelRequest
from tests.benchmarks.report import Figure
from tests.benchmarks.workload import Sizes, median
from tests.stub_server import Answer, StubServer

_FEW = 3
_MOST = 2000  # deltas of one call; a real reply has fewer
Call = Callable[[int], Awaitable[None]]


def measure(folder: Path, sizes: Sizes) -> list[Figure]:
    with _provider() as base:
        ours, ours_each = asyncio.run(_measured(_through_litellm(base), sizes))
        floor, floor_each = asyncio.run(_measured(_through_httpx(base), sizes))
    return [
        Figure("warm model call through litellm, CPU", "ms", ours, floor),
        Figure("each delta through litellm, CPU", "ms", ours_each, floor_each),
    ]


async def _measured(call: Call, sizes: Sizes) -> tuple[float, float]:
    """CPU milliseconds of a call with few deltas, and of each further delta."""
    deltas = min(sizes.deltas, _MOST)
    await call(_FEW)
    few = median([await _cpu_ms(call, _FEW) for _ in range(sizes.repeats)])
    many = median([await _cpu_ms(call, _FEW + deltas) for _ in range(sizes.repeats)])
    return few, max(many - few, 0.0) / deltas


async def _cpu_ms(call: Call, deltas: int) -> float:
    started = process_time()
    await call(deltas)
    return (process_time() - started) * 1000


def _through_litellm(base: str) -> Call:
    async def call(deltas: int) -> None:
        model = LitellmModel(f"openai/m-{deltas}", api_base=base, api_key="none")
        async for _ in model.stream(ModelRequest("call", "main", [{"role": "user", "content": "Go."}])):
            pass

    return call


def _through_httpx(base: str) -> Call:
    client = httpx.AsyncClient()

    async def call(deltas: int) -> None:
        body = {"model": f"m-{deltas}", "stream": True, "messages": [{"role": "user", "content": "Go."}]}
        async with client.stream("POST", f"{base}/chat/completions", json=body) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    json.loads(line[6:])

    return call


@contextmanager
def _provider() -> Iterator[str]:
    """A provider in a process of its own; the name of the model says how many deltas it sends."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there,), daemon=True)
    process.start()
    there.close()  # so that a provider that could not start is an error here
    try:
        yield here.recv()
    finally:
        process.terminate()
        process.join()


def _serve(told: Connection) -> None:
    asyncio.run(_serving(told))


async def _serving(told: Connection) -> None:
    async with StubServer(_answer) as stub:
        told.send(stub.openai_base)
        await asyncio.Event().wait()


def _answer(body: dict[str, Any]) -> Answer:
    return Answer(text=["word ", "next "] * (int(body["model"].rpartition("-")[2]) // 2))
