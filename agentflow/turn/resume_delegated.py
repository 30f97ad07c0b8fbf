"""A turn that was handed over and paused there, taken up again in any process (T22, T34).

The runs between the main agent and the one that asked are rebuilt from their rows. The innermost goes on with the
answer, and its result becomes that of the open `delegate` call one run further out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agentflow.conversation.history import History
from agentflow.conversation.repair import OpenCall
from agentflow.errors import AgentflowError, InvalidConfig, StaleOwner, StoreError
from agentflow.message import ExecutionStatus, ToolCall, ToolCallStatus
from agentflow.store.records import RunRecord
from agentflow.text import read_json
from agentflow.tools.results import ToolResult, refused
from agentflow.turn.decide.actions import Done
from agentflow.turn.loop import step_hooks
from agentflow.turn.loop.agent_run import AgentRun
from agentflow.turn.loop.planner import take_back
from agentflow.turn.loop.sub_agents import Child, finish_run, handed_over_with, open_run
from agentflow.turn.rules.decisions import Ended, Pause
from agentflow.turn.run.ending import close_child
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.recorded_path import recorded_path
from agentflow.turn.run.staging import Position
from agentflow.turn.run.step import Step
from agentflow.turn.run.transcript import Transcript


async def go_on(step: Step, run: AgentRun, main: Execution) -> Ended:
    """Take up the turn where a sub-agent asked; what ends the main execution's part of it."""
    runs = {record.number: record for record in await step.store.runs(step.claimed.key, step.claimed.turn)}
    chain = [runs[step.claimed.asking]]
    while chain[0].parent != main.number:
        chain.insert(0, runs[chain[0].parent or 0])
    await run.prepare()
    return await _outer(step, run, main, chain)


async def _outer(step: Step, run: AgentRun, execution: Execution, chain: Sequence[RunRecord]) -> Ended:
    """A run whose open call is answered by the first of the chain."""
    held, call = execution.transcript.held, _open(execution, chain[0])
    result = await _below(step, execution, call, chain)
    step.interrupt.check()
    if isinstance(result, Pause):
        return result
    return await run.handed_back(held, call, result) if held is not None else Done()


async def _below(step: Step, parent: Execution, call: ToolCall, chain: Sequence[RunRecord]) -> ToolResult | Pause:
    record, *inner = chain
    asked = read_json(call.arguments)
    try:
        reference = parent.agent.sub_agents.get(record.agent)
        if reference is None:
            raise InvalidConfig(f"'{parent.agent.config.name}' does not list it under sub_agents any more")
        child = open_run(step, parent, step.load_agent(reference), record.number)
    except (StaleOwner, StoreError):
        raise
    except AgentflowError as error:
        return await _given_up(step, parent, chain, error)
    child.execution.transcript.say(handed_over_with(asked["message"]))
    await _take_up(step, child.execution)
    return await finish_run(step, child.execution, lambda: _again(step, child, inner))


async def _again(step: Step, child: Child, inner: Sequence[RunRecord]) -> Ended:
    """A sub-agent's run in its next step: it asked, or one below it did."""
    run = AgentRun(step, child.execution, child.inputs)
    await step_hooks.start(step, child.execution)
    child.execution.render_prompt(child.inputs)
    if not inner:
        return await run.finish(await run.begin())
    await run.prepare()
    return await run.finish(await _outer(step, run, child.execution, inner))


async def _given_up(step: Step, parent: Execution, chain: Sequence[RunRecord], error: AgentflowError) -> ToolResult:
    """The files have changed and a sub-agent cannot go on (A7): its run and those below it are closed."""
    runs = [parent]
    for number, record in enumerate(chain):
        model = parent.agent.model.name
        run = Execution(
            parent.journal, parent.agent, record.number, Transcript(model, History(model)),
            Position(parent.journal.new_branch, None, None), asyncio.get_running_loop().time(), parent=runs[-1],
        )  # fmt: skip
        runs[-1].children.append(run)
        await _take_up(step, run)
        if number + 1 < len(chain):
            _open(run, chain[number + 1])
        runs.append(run)
    close_child(runs[1], error.message, step.new_id)
    runs[1].ended(ExecutionStatus.ERROR)
    return refused(f"sub-agent '{chain[0].agent}' cannot go on: {error.message}", error.code)


def _open(run: Execution, below: RunRecord) -> ToolCall:
    """The call that waits for the run below, known as open from now on."""
    held, call_id = run.transcript.held, below.parent_call_id or ""
    for call in held.message.tool_calls if held is not None else ():
        if call.id == call_id:
            run.in_flight.open_call(OpenCall(run.number, call_id, call.name, ToolCallStatus.STARTED))
            return call
    raise LookupError(f"execution {run.number} has no open call {call_id!r}")


async def _take_up(step: Step, run: Execution) -> None:
    last = (await step.store.run_path(step.claimed.key, run.number))[-1]
    run.staging.position.move(last.place, last.message.id, forks=False)
    run.transcript.take_up([entry.message for entry in await recorded_path(step, run)])
    run.transcript.reported(await step.store.report(step.claimed.key, run.place, run.number))
    run.transcript.reserve(await step.store.call_ids(step.claimed.key, run.number))
    await take_back(step, run)
