"""A turn that was handed over and paused there, taken up again in any process (T22, T34).

The runs between the main agent and the one that asked are rebuilt from their rows. The innermost goes on with the
answer, and its result becomes that of the open `delegate` call one run further out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from agentflow.conversation.repair import OpenCall
from agentflow.message import ToolCall, ToolCallStatus
from agentflow.store.turn_records import RunRecord
from agentflow.tools.builtin import DELEGATE
from agentflow.tools.calls import finalize
from agentflow.tools.results import ToolResult
from agentflow.turn.decisions import Pause
from agentflow.turn.execution import Execution
from agentflow.turn.loop import Ended, Loop
from agentflow.turn.planner import take_back
from agentflow.turn.subagents import finish_run, handed_over_with, open_run
from agentflow.turn.surroundings import Surroundings


async def go_on(turn: Surroundings, main: Execution) -> Ended:
    """Take up the turn where a sub-agent asked; what ends the main execution in the end."""
    runs = {record.number: record for record in await turn.store.runs(turn.claimed.key, turn.claimed.turn)}
    chain = [runs[turn.claimed.asking]]
    while chain[0].parent != main.number:
        chain.insert(0, runs[chain[0].parent or 0])
    return await _outer(turn, main, chain)


async def _outer(turn: Surroundings, run: Execution, chain: Sequence[RunRecord]) -> Ended:
    """A run whose open call is answered by the first of the chain."""
    result = await _below(turn, run, chain)
    if isinstance(result, Pause):
        return result
    held, call_id = run.held, chain[0].parent_call_id or ""
    if held is None:
        raise LookupError(f"execution {run.number} waits for no call")
    call = _call(run, call_id)
    run.open_calls[call_id] = OpenCall(run.number, call_id, call.name, ToolCallStatus.STARTED)
    recorded = run.call_finished(call_id, turn.new_id(), finalize(result, run.agent.tools[DELEGATE]), None)
    answer = result.text if result.ok else None
    return await Loop(turn, run).go_on(held.message, [*held.results, recorded], answer)


async def _below(turn: Surroundings, parent: Execution, chain: Sequence[RunRecord]) -> ToolResult | Pause:
    record, *inner = chain
    call = _call(parent, record.parent_call_id or "")
    asked = json.loads(call.arguments)
    agent = turn.load_agent(parent.agent.sub_agents[asked["agent"]])
    run = open_run(turn, parent, agent, record.number)
    run.step_texts.append(handed_over_with(asked["message"]))
    await _take_up(turn, run)
    if inner:
        return await finish_run(turn, run, lambda: _outer(turn, run, inner))
    call_id = turn.new_id()
    run.request_call(call_id)
    await run.commit()
    return await finish_run(turn, run, lambda: Loop(turn, run).run(call_id))


async def _take_up(turn: Surroundings, run: Execution) -> None:
    path = await turn.store.run_path(turn.claimed.key, run.number)
    run.take_up([entry.message for entry in path])
    run.head, run.last_message_id = path[-1].place, path[-1].message.id
    run.report = await turn.store.report(turn.claimed.key, run.head, run.number)
    run.current.reserve(await turn.store.call_ids(turn.claimed.key, run.number))
    await take_back(turn, run)


def _call(run: Execution, call_id: str) -> ToolCall:
    held = run.held
    for call in held.message.tool_calls if held is not None else ():
        if call.id == call_id:
            return call
    raise LookupError(f"execution {run.number} has no open call {call_id!r}")
