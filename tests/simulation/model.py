"""A model that answers by chance: in time, late, never, cut, wrong, refused, with calls of every kind."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Callable
from typing import Any

from agentflow import ModelRequest
from agentflow.errors import ModelError, ModelErrorKind
from agentflow.message import Usage
from agentflow.models.protocol import Delta, FinishReason, ReasoningDelta, TextDelta, ToolFragment, UsageReport
from agentflow.text import compact_json

_ERRORS: list[ModelErrorKind] = [
    "rate_limited", "unavailable", "timeout", "auth", "bad_request", "context_overflow", "cut",
]  # fmt: skip
_MOST_ROUNDS = 4
_QUESTIONS = [
    [{"header": "Place", "question": "Which one?"}],
    [{"header": "Plan", "question": "Which plan?", "options": [{"label": "Pro"}, {"label": "Free"}]}],
    [{"header": "One", "question": "First?"}, {"header": "Two", "question": "Second?"}],
]


class SimulatedModel:
    """`world()` has `calm`, `chance`, `count` and `asked(request)`, which checks what goes out, and `used`."""

    scripted = True

    def __init__(self, name: str, world: Callable[[], Any]) -> None:
        self.name = name
        self._world = world

    async def close(self) -> None:
        """Nothing to release."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        world = self._world()
        number = world.count("model", request.session_id)
        rng = world.chance("model", request.session_id, number)
        world.asked(request)
        if world.calm:
            for delta in self._text(f"calmly {number}"):
                yield delta
            return
        await asyncio.sleep(rng.choice([0, 0, 0, 0.1, 1.0]))
        async for delta in self._reply(request, rng, number):
            yield delta

    async def _reply(self, request: ModelRequest, rng: random.Random, number: int) -> AsyncGenerator[Delta, None]:
        kind = rng.random()
        if kind < 0.06:
            raise self._error(rng)
        if kind < 0.08:
            await asyncio.get_running_loop().create_future()
        cut = rng.random() < 0.05
        if kind < 0.20:
            yield ReasoningDelta("hmm ")
        calls = self._calls(request, rng)
        text = "" if calls and rng.random() < 0.6 else f"reply {number} of {request.session_id}"
        for piece in (text[at : at + 7] for at in range(0, len(text), 7)):
            if rng.random() < 0.15:
                await asyncio.sleep(rng.choice([0.05, 2.2]))
            yield TextDelta(piece)
            if cut and rng.random() < 0.3:
                raise self._error(rng) if rng.random() < 0.5 else ModelError("cut", "cut on purpose")
        for index, (id_, name, arguments) in enumerate(calls):
            yield ToolFragment(index, id_, name, arguments[:3])
            yield ToolFragment(index, None, None, arguments[3:])
        if rng.random() < 0.85:
            usage = Usage(input=rng.randint(1, 99), output=rng.randint(1, 9))
            self._world().used(request.call_id, usage)
            yield UsageReport(usage)
        if not cut:
            yield FinishReason("length" if rng.random() < 0.04 else "tool_calls" if calls else "stop")

    def _text(self, text: str) -> list[Delta]:
        return [TextDelta(text), FinishReason("stop")]

    def _error(self, rng: random.Random) -> ModelError:
        kind = rng.choice(_ERRORS)
        return ModelError(kind, f"{kind} on purpose", retry_after=0.7 if kind == "rate_limited" else None)

    def _calls(self, request: ModelRequest, rng: random.Random) -> list[tuple[str | None, str, str]]:
        offered = [each["function"]["name"] for each in request.tools]
        if not offered or request.purpose not in ("main", "planner"):
            return []
        rounds = 0
        for message in reversed(request.messages):
            if message["role"] == "user":
                break
            rounds += message["role"] == "assistant"
        if rounds >= _MOST_ROUNDS or rng.random() > 0.62 - 0.1 * rounds:
            return []
        names = [rng.choice(offered) for _ in range(rng.choice([1, 1, 2, 3]))]
        if "task" in offered and rng.random() < 0.5:
            names[0] = rng.choice(["task", "delegate", "delegate"])
        elif "ask_user" in offered and rng.random() < 0.15:
            names[0] = "ask_user"
        return [self._call(name, index, rng) for index, name in enumerate(names)]

    def _call(self, name: str, index: int, rng: random.Random) -> tuple[str | None, str, str]:
        given: Any = {}
        if name == "ask_user":
            given = {"questions": rng.choice(_QUESTIONS)}
        elif name == "task":
            given = {"agent": rng.choice(["helper", "helper", "asker"]), "prompt": "do it"}
        elif name == "delegate":
            given = {"agent": "asker", "message": "take over"}
        elif name == "write_todos":
            given = {"todos": [{"content": f"item {rng.randint(1, 3)}", "status": "pending"}]}
        elif name == "mark":
            given = {"n": rng.randint(1, 9)}
        wrong = rng.random()
        if wrong < 0.04:
            given = {"what": "is this"}
        elif wrong < 0.06:
            return None, name, '{"half": '
        elif wrong < 0.08:
            name = "nobody"
        id_ = rng.choice([None, "call_0", f"call_{index}", f"c{rng.getrandbits(40):x}", f"c{rng.getrandbits(40):x}"])
        return id_, name, compact_json(given) if given else rng.choice(["{}", "", "null"])


def sent_text(request: ModelRequest) -> str:
    """What went out, for a history."""
    return json.dumps([(each["role"], each.get("content")) for each in request.messages], ensure_ascii=False)
