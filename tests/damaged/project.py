"""A project whose sessions have a row in every table, and a value in every column that can have one."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

from agentflow import Runtime, StoreError

_LAST_COMMIT = 2  # of the turn that dies: its calls have begun

_FLOWS = '''
"""Flows of the project."""

from agentflow import FlowContext


def look(place: str) -> str:
    """Look at a place."""
    if place == "nowhere":
        raise ValueError("there is no such place")
    return place * 40


def load_customer(key: str) -> dict[str, str]:
    """Load a customer."""
    return {"name": "Ada", "number": key}
'''
_WORKER = """
def decide(request):
    answer = request["proposed"]
    if request["trigger"]["type"] == "client.messages":
        answer["state"] = {"messages": (request["state"] or {}).get("messages", 0) + 1}
    if request["trigger"]["type"] == "llm.finished":
        answer["messages"][-1]["content"] = "Better."
        answer["actions"] = [{"type": "done", "data": {"said": 1}}]
    return answer
"""
_AGENTS = {
    "rich": """
planning: {planner: "llm://planner"}
interfaces: {planner: {model: scripted/replies.yaml}}
tools: [{flow: look, max_result_chars: 80}, SaveAgentMemory]
sub_agents: [helper]
settings: {snap_session_mode: all, on_limit: stop, ask_user_expiry_secs: 100000000}
hooks:
  step_start: [{flow: GetWithSnap, with: {entity: customer, key: "4711", loader: load_customer, as: customer}}]
""",
    "helper": "description: It helps.\ntools: [look]\n",
    "compact": "context: {strategy: [{use: summarize, over_tokens: 60}]}\n",
    "worked": "worker: deciding.py:decide\n",
}
_SCRIPT = """
replies:
- {when: {purpose: planner}, text: Look first., repeat: true}
- {when: {purpose: title}, text: A title, repeat: true}
- {when: {purpose: summary}, text: "What was said.", repeat: true}
- {when: {last_user: "^ask", has_tool_result: true}, text: "You said {{ last_tool }}.", repeat: true}
- when: {last_user: "^ask"}
  text: One moment.
  tool_calls: [{name: ask_user, arguments: {questions: [{header: Plan, question: "Which one?"}]}}]
  repeat: true
- {when: {last_user: "^work", has_tool_result: true}, text: All done., reasoning: Hm., repeat: true}
- when: {last_user: "^work"}
  text: Let me look.
  provider: {thinking_blocks: [{type: thinking, thinking: Hm., signature: s}]}
  usage: {input: 1200, output: 20, cache_read: 3, cache_write: 4, cost: 0.25}
  tool_calls:
  - {name: look, arguments: {place: here}}
  - {name: look, arguments: {place: nowhere}}
  - {name: SaveAgentMemory, arguments: {topic: places, content: It is here.}}
  - {name: write_todos, arguments: {todos: [{content: Look, status: in_progress}]}}
  - {name: task, arguments: {agent: helper, prompt: "ask me"}}
  repeat: true
- {when: {last_user: "^fail"}, error: {kind: auth}, repeat: true}
- {when: {last_user: "^client", has_tool_result: true}, text: The client has done it., repeat: true}
- {when: {last_user: "^client"}, tool_calls: [{name: paint, arguments: {color: red}}], repeat: true}
- {text: Well., repeat: true}
"""
PAINT = {"name": "paint", "description": "Paint.", "parameters": {"type": "object"}}


def make(folder: Path) -> None:
    """Write the project's files, and run its sessions: `rich`, `asks`, `paints`, `compact`, `worked`, and `dead`,
    whose process was killed in the middle of a call.
    """
    for name, keys in _AGENTS.items():
        agent = folder / "agents" / name
        agent.mkdir(parents=True)
        (agent / "agent.yaml").write_text(f"name: {name}\nmodel: scripted/replies.yaml\n{keys}")
        (agent / "replies.yaml").write_text(_SCRIPT)
    (folder / "agents" / "worked" / "deciding.py").write_text(_WORKER)
    (folder / "workflows").mkdir()
    (folder / "workflows" / "flows.py").write_text(_FLOWS)
    asyncio.run(_talk(folder))
    asyncio.run(_die(folder))


async def _talk(folder: Path) -> None:
    async with Runtime.open(folder, serve_queues=False) as runtime:

        async def say(session: str, text: str, **more: Any) -> str:
            message = {"role": "user", "content": text}
            agent = None if session in known else known.add(session) or _agent(session)
            given = {"type": "client.message", "message": message, "agent_id": agent, **more}
            receipt = await runtime.submit(session, given)
            if not receipt.queued:
                await runtime.result(session, receipt.turn_id)
            return receipt.turn_id

        known: set[str] = set()
        await say("rich", "work now", turn_id="t-1", client={"state": {"a": 1}})
        await say("rich", "fail now")
        first = (await runtime.tree("rich"))["nodes"][0]["message"]["id"]
        await say("rich", "and now?")
        await runtime.records.feedback("rich", 1, "up", "good")
        await runtime.submit("rich", {"type": "head.move", "message_id": first, "turn_id": "t-move"})
        await say("rich", "elsewhere", limits={"max_iterations": 3})
        await say("rich", "ask me")
        await say("asks", "ask me")
        await say("paints", "client, paint", tools=[PAINT])
        await say("paints", "and then?", queue=True, turn_id="t-later")
        for text in ("one " * 30, "two " * 30, "three " * 30):
            await say("compact", text)
        await say("worked", "hello")
        await say("worked", "hello again")


def _agent(session: str) -> str:
    return {"asks": "rich", "paints": "rich"}.get(session, session)


async def _die(folder: Path) -> None:
    def killed(commit: int) -> None:
        if commit == _LAST_COMMIT:
            raise KeyboardInterrupt

    runtime = Runtime.open(folder, on_commit=killed)
    message = {"role": "user", "content": "work now"}
    receipt = await runtime.submit("dead", {"type": "client.message", "message": message, "agent_id": "helper"})
    with contextlib.suppress(StoreError):
        await runtime.result("dead", receipt.turn_id)
    with contextlib.suppress(StoreError):
        await runtime.close()
