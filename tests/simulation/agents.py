"""The agents of the simulation, their tools, hooks and worker; what each does is decided by the world it runs in."""

from __future__ import annotations

import asyncio
import json
import logging
import tempfile
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from agentflow import FlowContext
from agentflow.agents.loading import Agents
from agentflow.config.last_good import AgentFiles
from tests.simulation.model import SimulatedModel


class Stage(Protocol):
    """What tools, hooks and the worker ask of the world."""

    calm: bool

    def chance(self, *key: object) -> Any:
        """A random source of its own for each key."""

    def ran(self, context: FlowContext) -> None:
        """A tool has its effect."""

    def goes_on(self, context: FlowContext) -> None:
        """A tool has another effect, later."""

    def count(self, *key: object) -> int:
        """How often this was asked before."""


_stage: list[Stage] = []


def set_stage(stage: Stage | None) -> None:
    _stage[:] = [] if stage is None else [stage]


def stage() -> Stage:
    return _stage[0]


# -- tools -------------------------------------------------------------------------------------------------------------


async def mark(ctx: FlowContext, n: int = 0) -> str:
    """Leave a mark."""
    stage().ran(ctx)
    return f"marked {ctx.call_id} {n}"


async def slow(ctx: FlowContext) -> str:
    """Take a while."""
    stage().ran(ctx)
    await asyncio.sleep(stage().chance("slow", ctx.idempotency_key).choice([0.0, 0.2, 1.5, 2.5]))
    stage().goes_on(ctx)
    return "slowly done"


async def hang(ctx: FlowContext) -> str:
    """Never come back."""
    stage().ran(ctx)
    await asyncio.get_running_loop().create_future()
    return "never"


async def broken(ctx: FlowContext) -> str:
    """Fail."""
    stage().ran(ctx)
    raise ValueError("broken on purpose")


def threaded(ctx: FlowContext) -> str:
    """Work on a thread."""
    stage().ran(ctx)
    return "threaded"


async def final(ctx: FlowContext) -> str:
    """End the turn with this answer."""
    stage().ran(ctx)
    return f"final {ctx.call_id}"


async def outside(ctx: FlowContext) -> str:
    """Somebody else does it."""
    raise AssertionError("a call of a worker tool was run here")


# -- hooks -------------------------------------------------------------------------------------------------------------


async def _moved(point: str, ctx: FlowContext, **answers: Any) -> Any:
    """Usually nothing; sometimes late, an error, or one of the answers."""
    world = stage()
    rng = world.chance("hook", point, ctx.session_id, world.count("hook", point, ctx.session_id))
    if world.calm:
        return None
    kind = rng.random()
    if kind < 0.15:
        await asyncio.sleep(rng.choice([0.1, 2.0]))
    elif kind < 0.19:
        raise ValueError(f"{point} raises on purpose")
    elif kind < 0.40 and answers:
        name = rng.choice(sorted(answers))
        return {name: answers[name]}
    return None


async def at_step_start(ctx: FlowContext, message: str, resumed: bool) -> Any:
    """step_start"""
    said = {"context": "today is a feast"} if resumed else {"context": "hm", "message": f"instead of {message}"}
    return await _moved("step_start", ctx, **said)


async def at_step_end(ctx: FlowContext, answer: str) -> Any:
    """step_end"""
    return await _moved("step_end", ctx, **{"continue": "go on", "answer": f"better {answer}"})


async def at_pre_tool(ctx: FlowContext, call: Any) -> Any:
    """pre_tool"""
    return await _moved("pre_tool", ctx, deny="not now", arguments={})


async def at_post_model(ctx: FlowContext, text: str) -> Any:
    """post_model"""
    return await _moved("post_model", ctx, text=f"polished {text}")


# -- the worker --------------------------------------------------------------------------------------------------------


async def decide(request: dict[str, Any]) -> Any:
    """Takes what is proposed, mostly; late, replaced, settled or refused now and then."""
    world, trigger = stage(), request["trigger"]["type"]
    session = request["session_id"]
    rng = world.chance("worker", session, world.count("worker", session))
    proposed = request["proposed"]
    if world.calm:
        return proposed
    kind = rng.random()
    if kind < 0.08:
        await asyncio.sleep(rng.choice([0.1, 1.0]))
    elif kind < 0.10:
        raise ValueError("the worker fails on purpose")
    elif kind < 0.16:
        return {**proposed, "state": {"n": rng.randint(1, 3)}}
    elif kind < 0.30 and trigger in _DECISIONS:
        return _DECISIONS[trigger](request, rng)
    return proposed


def _reply(request: dict[str, Any], rng: Any) -> Any:
    """Another text for the reply, its calls left out."""
    message = request["trigger"].get("message")
    proposed = request["proposed"]
    if not message or message.get("tool_calls") or not message.get("content"):
        return proposed
    return {**proposed, "messages": [*proposed["messages"][:-1], {**message, "content": "in the worker's words"}]}


def _replace(request: dict[str, Any], rng: Any) -> Any:
    proposed = request["proposed"]
    if len(request["messages"]) < 4 or request["messages"][-1]["role"] != "user":
        return proposed
    keep = [{"id": request["messages"][-1]["id"]}]
    replace = {"type": "context.replace", "summary": "it was said before", "messages": keep}
    return {**proposed, "actions": [replace, *proposed["actions"]]} if rng.random() < 0.3 else proposed


def _execute(request: dict[str, Any], rng: Any) -> Any:
    call = request["trigger"]["id"]
    return rng.choice(
        [
            {"actions": [{"type": "tool.result", "id": call, "result": "by the worker"}]},
            {"actions": [{"type": "tool.error", "id": call, "error": "not by the worker"}]},
        ]
    )


_DECISIONS: dict[str, Callable[[dict[str, Any], Any], Any]] = {
    "llm.finished": _reply,
    "client.messages": _replace,
    "tool.execute": _execute,
}

# -- the project -------------------------------------------------------------------------------------------------------

_TOOLS = ["mark", "slow", "hang", "broken", "threaded"]
_LIMITS = {
    "tool_timeout_secs": 3,
    "llm_timeout_secs": 6,
    "llm_retries": 2,
    "turn_timeout_secs": 40,
    "max_iterations": 8,
    "max_parallel_tools": 2,
}
_HOOKS = {
    "step_start": [{"flow": "at_step_start", "timeout_secs": 1.5}],
    "step_end": [{"flow": "at_step_end"}],
    "pre_tool": [{"flow": "at_pre_tool", "on_error": "ignore"}],
    "post_model": [{"flow": "at_post_model"}],
}
_MAKING_ROOM = {"window": 20_000, "strategy": [{"use": "summarize", "over_tokens": 90}]}
_WORKER = {
    "worker": "tests.simulation.agents:decide",
    "tools": ["mark", {"flow": "outside", "handler": "worker", "timeout_secs": 8}],
}


def _agent(name: str, settings: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"The {name} agent.",
        "model": f"scripted/{name}",
        "prompt": "You are simulated.",
        "tools": _TOOLS,
        "settings": {**_LIMITS, "logging_level": "off", "name_chats": False, **(settings or {})},
        **keys,
    }


_FULL = {"lean_history": False}
_PATIENT = {"tool_timeout_secs": 70, "llm_timeout_secs": 60, "turn_timeout_secs": 200}  # longer than a lease
AGENTS: dict[str, dict[str, Any]] = {
    each["name"]: each
    for each in (
        _agent("plain", _FULL, tools=[*_TOOLS, {"flow": "final", "ends_turn": True}]),
        _agent("lean", {"ask_user_expiry_secs": 15, "on_limit": "ask", "max_tool_calls": 4}, planning=True),
        _agent("hooked", _FULL, hooks=_HOOKS),
        _agent("helper", {**_FULL, "max_iterations": 4}),
        _agent("asker", {**_FULL, "ask_user_expiry_secs": 20}, hooks={"step_end": _HOOKS["step_end"]}),
        _agent("chief", _FULL, sub_agents=["helper", "asker"]),
        _agent("hookchief", _FULL, sub_agents=["helper", "asker"], hooks=_HOOKS),
        _agent("patient", {**_FULL, **_PATIENT}, tools=["mark", "hang"]),
        _agent("short", _FULL, context=_MAKING_ROOM),
        _agent("idle", {"lean_history": True}, context={"strategy": [{"use": "reset", "idle_secs": 5}]}),
        _agent("planned", _FULL, planning={"planner": "llm://main"}),
        _agent("served", _FULL, **_WORKER),
        _agent("leanserved", **_WORKER, sub_agents=["helper"]),
    )
}
LEADERS = [
    "plain",
    "lean",
    "patient",
    "hooked",
    "chief",
    "hookchief",
    "short",
    "idle",
    "planned",
    "served",
    "leanserved",
]
_FLOWS: list[Callable[..., Any | Awaitable[Any]]] = [
    mark, slow, hang, broken, threaded, final, outside, at_step_start, at_step_end, at_pre_tool, at_post_model,
]  # fmt: skip


@cache
def agents() -> Agents:
    """The agents as every process has them."""
    folder = tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    root = Path(folder.name)
    _folders.append(folder)
    for name, keys in AGENTS.items():
        path = root / "agents" / name / "agent.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(keys), encoding="utf-8")
    files = AgentFiles(root, report=lambda error: logging.getLogger("tests").error("%s", error))
    return Agents(files, root, _FLOWS, lambda interface, _: SimulatedModel(interface.model, stage), "simulated")


_folders: list[tempfile.TemporaryDirectory[str]] = []
