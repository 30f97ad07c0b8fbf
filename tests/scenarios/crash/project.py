"""The agents of the crash tests, the same for the process that dies and for the one that goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentflow import FlowContext, ModelRequest

LONG = "one two three four five six "
ASKED = {"questions": [{"header": "Place", "question": "Which one?"}]}

AGENTS: dict[str, dict[str, Any]] = {
    "worker": {"tools": ["mark", "wait"]},
    "one-by-one": {"tools": ["mark"], "settings": {"max_parallel_tools": 1}},
    "planned": {"tools": ["mark"], "planning": {"planner": "llm://main"}},
    "hooked": {"tools": ["mark"], "hooks": {"step_start": ["look"], "step_end": ["look"]}},
    "full": {
        "tools": ["mark"],
        "context": {"window": 17_000, "strategy": [{"use": "summarize", "over_tokens": 10}]},
    },
    "chief": {"tools": ["mark"], "sub_agents": ["worker"]},
}


def write(project: Path) -> None:
    """The project folder with its agents."""
    for name, keys in AGENTS.items():
        folder = project / "agents" / name
        folder.mkdir(parents=True)
        given = {"name": name, "model": f"scripted/{name}", "prompt": "You are under test.", **keys}
        given["settings"] = {"name_chats": False, **given.get("settings", {})}
        (folder / "agent.yaml").write_text(json.dumps(given), encoding="utf-8")


def marks(project: Path, session_id: str) -> list[str]:
    """What the tools of a session did, over all processes."""
    file = project / f"{session_id}.marks"
    return file.read_text().split() if file.exists() else []


def flows(project: Path) -> list[Callable[..., Any]]:
    def mark(x: str, ctx: FlowContext) -> str:
        """Leave a mark that outlives the process."""
        with (project / f"{ctx.session_id}.marks").open("a") as file:
            file.write(f"{x}\n")
        return f"marked {x}"

    async def wait(ctx: FlowContext) -> str:
        """Wait for what never comes."""
        await asyncio.Event().wait()
        return "it came"

    def look(ctx: FlowContext) -> None:
        """See a step begin or end."""

    return [mark, wait, look]


def _call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def _plan(said: str) -> list[dict[str, Any]]:
    """The replies to a message, one after the other."""
    match said:
        case "tools":
            return [
                {"text": "Both.", "tool_calls": [_call("mark", x="a"), _call("mark", x="b")]},
                {"tool_calls": [_call("mark", x="c")]},
                {"text": "Done."},
            ]
        case "ask":
            return [
                {"tool_calls": [_call("mark", x="a"), _call("ask_user", **ASKED)]},
                {"tool_calls": [_call("mark", x="b")]},
                {"text": "Done."},
            ]
        case "wait":
            calls = [_call("mark", x="a"), _call("wait")]
            return [{"text": "Waiting.", "tool_calls": calls}, {"text": "Done."}]
        case "stream":
            return [{"text": LONG, "chunk_size": 4}]
        case "hang":
            return [{"text": LONG, "chunk_size": 4, "delay_secs": 0.01}]
        case "task":
            calls = [_call("task", agent="worker", prompt="tools"), _call("mark", x="d")]
            return [{"tool_calls": calls}, {"text": "Done."}]
        case "delegate":
            return [{"tool_calls": [_call("delegate", agent="worker", message="ask")]}]
    return [{"text": "fine"}]


def replies(request: ModelRequest) -> dict[str, Any]:
    """What this message is answered with, as far as it is answered already; a handed over one by its note."""
    if request.purpose != "main":
        return {"text": f"1. {request.purpose}"}
    messages = list(request.messages)
    users = [number for number, message in enumerate(messages) if message["role"] == "user"]
    said = messages[users[-1]]["content"]
    noted = any("note: ask" in str(message["content"]) for message in messages if message["role"] == "system")
    plan = _plan("ask" if noted else str(said))
    done = sum(message["role"] == "assistant" for message in messages[users[-1] :])
    return plan[min(done, len(plan) - 1)]
