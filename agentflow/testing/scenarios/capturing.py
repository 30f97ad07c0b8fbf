"""A test without Python made of a real session."""

from __future__ import annotations

from typing import Any

from agentflow import Runtime, captured_scenario, read_json


async def capture_scenario(runtime: Runtime, session_id: str, turn: int | str | None = None) -> tuple[str, list[str]]:
    """The text of a `*.test.yaml` that passes, and what it lacks, a sentence each.

    It has the whole session, or one turn by its number or id with what was said before as its history. Secrets are
    taken out. Raises `SessionNotFound`, `TurnNotFound`, and `InvalidInput` where the words are not there any more.
    """
    session = await runtime.session(session_id)
    events = [event async for event in runtime.events(session_id)]
    turn_id = None if turn is None else (await runtime.trace(session_id, turn))["turn_id"]
    export = read_json(await runtime.records.export(session_id) or "{}")
    requests = {row["id"]: row["request"] or {} for row in export["rows"]["turn"]}
    inputs: dict[str, Any] = next((request["inputs"] for request in requests.values() if request.get("inputs")), {})
    explained = await runtime.explain(session["agent_id"], inputs=inputs)
    tools = [tool["function"]["name"] for tool in explained["tools"]]
    files = {row["hash"]: row["body"] for row in export["rows"]["blob"] if row["hash"].startswith("file-")}
    return captured_scenario(session, events, tools, requests=requests, turn_id=turn_id, files=files)
