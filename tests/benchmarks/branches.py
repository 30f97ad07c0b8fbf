"""A large tree: what its turns cost, and what a client pays that sends its whole view every time (C5)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import perf_counter
from typing import Any

from agentflow import Runtime
from tests.benchmarks.report import Figure
from tests.benchmarks.texts import QUESTION
from tests.benchmarks.workload import AGENT, Sizes, median, open_runtime

_TEXT = "Some text of ordinary length, as people write it. " * 4


def measure(folder: Path, sizes: Sizes) -> list[Figure]:
    turn, switch, resent = asyncio.run(_ours(folder, sizes))
    name = f"{sizes.messages:,} messages"
    return [
        Figure(f"turn among {name} on {sizes.branches} branches", "ms", turn),
        Figure("turn that goes to another branch of them, by its view", "ms", switch),
        Figure(f"a view of {name} sent again, until its turn is recorded", "ms", resent, target=60),
    ]


async def _ours(folder: Path, sizes: Sizes) -> tuple[float, float, float]:
    async with open_runtime(folder) as runtime:
        trunk = _talk("trunk", sizes.messages // 2)
        branches = [_branch(trunk, number, sizes) for number in range(sizes.branches)]
        for view in branches:
            await _send(runtime, "tree", view)
        turns, switches = [], []
        for number in range(sizes.repeats):
            started = perf_counter()
            await runtime.run("tree", AGENT, QUESTION)
            turns.append(perf_counter() - started)
            started = perf_counter()
            await _send(runtime, "tree", [*branches[number % len(branches)], _user(f"again-{number}")])
            switches.append(perf_counter() - started)
        await _send(runtime, "straight", _talk("straight", sizes.messages))
        resent = [await _resend(runtime, f"more-{number}") for number in range(sizes.repeats)]
    return median(turns) * 1000, median(switches) * 1000, median(resent) * 1000


async def _resend(runtime: Runtime, id_: str) -> float:
    """Seconds until a client's whole view and one new message are recorded."""
    messages = (await runtime.session("straight"))["messages"]
    return await _send(runtime, "straight", [*messages, _user(id_)])


def _branch(trunk: list[dict[str, Any]], number: int, sizes: Sizes) -> list[dict[str, Any]]:
    """The trunk up to a fork of its own, and this branch's share of the messages."""
    fork = len(trunk) * number // sizes.branches // 2 * 2
    share = max(sizes.messages // 2 // sizes.branches, 2)
    return [*trunk[: len(trunk) - fork], *_talk(f"branch-{number}", share)]


def _talk(name: str, count: int) -> list[dict[str, Any]]:
    """Questions and answers in turn, a question at the end."""
    asked = [_user(f"{name}-{number}") for number in range(0, count, 2)]
    answers = [{"id": f"{name}-{number}", "role": "assistant", "content": _TEXT} for number in range(1, count - 1, 2)]
    talk = [message for pair in zip(asked, answers, strict=False) for message in pair]
    return [*talk, asked[-1]]


def _user(id_: str) -> dict[str, Any]:
    return {"id": id_, "role": "user", "content": _TEXT}


async def _send(runtime: Runtime, session: str, view: list[dict[str, Any]]) -> float:
    """Seconds until the view is merged and its turn recorded; returns once the turn has ended."""
    started = perf_counter()
    receipt = await runtime.submit(session, {"type": "client.messages", "agent_id": AGENT, "messages": view})
    recorded = perf_counter() - started
    await runtime.result(session, receipt.turn_id)
    return recorded
