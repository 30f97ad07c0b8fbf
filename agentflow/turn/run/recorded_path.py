"""The path of an execution as it is recorded, and its one repair where rows are unpaired (T7, C36).

Nothing that runs here leaves a call without its result; a hand or a fault outside may. Then the path goes on as
copies on a branch of their own, as after a `context.replace`: calls that had no result get a placeholder, results of
no call are left out. The old rows stay where they are, and the log and the trace tell what was done.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from agentflow import events
from agentflow.conversation.repair import Mended, mend
from agentflow.store.records import AGENT, STATE, PathEntry
from agentflow.store.rows import changes, inserts
from agentflow.text import compact_json
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.step import Step

_log = logging.getLogger("agentflow.turn")


async def recorded_path(step: Step, execution: Execution, held: str | None = None) -> list[PathEntry]:
    """The whole path, root first, each call with its result; nothing of it may be staged.

    `held` is a model call that is requested and waits: when the path is repaired it moves along.
    """
    path = await _read(step, execution)
    messages = [entry.message for entry in path]
    awaited = set(execution.in_flight.calls)
    if mend(messages, awaited) is None:
        return path
    awaited |= set(await step.store.open_calls(step.claimed.key, execution.number))
    mended = mend(messages, awaited)
    if mended is None:
        return path
    _log.warning(
        "session %s: its history was damaged from outside and is repaired: %d calls had no result, %d results no call",
        execution.journal.session_id, len(mended.closed), len(mended.left_out),
    )  # fmt: skip
    await _repair(step, execution, path, mended, held)
    return await _read(step, execution)


async def _read(step: Step, execution: Execution) -> list[PathEntry]:
    return await step.store.path(execution.journal.session_key, execution.place, lean_before=None)


async def _repair(step: Step, execution: Execution, path: list[PathEntry], mended: Mended, held: str | None) -> None:
    staging, recorded = execution.staging, {entry.message.id: entry for entry in path}
    previous_head_id, in_force = staging.position.message_id, await carried_over(step, execution)
    rest = mended.messages[len(path) :]
    if mended.messages[: len(path)] != [entry.message for entry in path]:
        staging.leave_path()
        rest = mended.messages
    for message in rest:
        entry = recorded.get(message.id)
        if entry is not None:
            staging.record_copy(step.new_id(), entry)
        else:
            staging.record(replace(message, id=step.new_id()))
    branch, depth = execution.place or (None, None)
    if held is not None:
        staging.add(changes.MoveLlmCall(branch, depth, held))
    for kind, value in in_force:
        number = step.versions.next()
        turn = execution.journal.turn
        staging.add(inserts.InsertStateVersion(number, kind, compact_json(value), turn, branch, depth))
    staging.tell(events.history_repaired(mended.closed, mended.left_out, staging.position.message_id, previous_head_id))
    await execution.commit()


async def carried_over(step: Step, execution: Execution) -> list[tuple[str, object]]:
    """State and configuration to write at the head of another path (X18), where a worker's do not write themselves."""
    if execution.carry_over is not None:
        execution.carry_over()
    if execution.carry_over is not None or execution.parent is not None:
        return []
    versions = await step.store.versions(execution.journal.session_key, execution.place)
    step.versions.seen(versions.last)
    kept = ((STATE, versions.state), (AGENT, versions.agent or None))
    return [(kind, value) for kind, value in kept if value is not None]
