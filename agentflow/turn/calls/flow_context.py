"""What a flow is given when it runs in a turn, as a tool or as a hook (A6)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from agentflow import clock, events
from agentflow.tools.flows.context import FlowContext
from agentflow.turn.calls.entity_data import EntityData
from agentflow.turn.calls.stored_notes import memory_of
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.step import Step


def flow_context(step: Step, execution: Execution, call_id: str, hook: Mapping[str, Any]) -> FlowContext:
    """The context of a call of this execution; `hook` is what a hook is told, empty for a tool."""
    loop, journal, agent_id = asyncio.get_running_loop(), execution.journal, execution.agent.config.name

    def emit(name: str, data: Mapping[str, Any]) -> None:
        said = {"call_id": call_id, "name": name, "data": dict(data)}
        event = events.Event(journal.session_id, None, journal.turn_id, clock.instant(), events.FLOW_EMITTED, said)
        loop.call_soon_threadsafe(journal.feed.tell, event)

    return FlowContext(
        session_id=journal.session_id,
        turn_id=journal.turn_id,
        agent_id=agent_id,
        call_id=call_id,
        inputs=step.claimed.inputs,
        vars=execution.vars,
        client=step.claimed.client,
        logger=execution.agent.logger,
        emit=emit,
        hook=hook,
        execution=0 if execution.parent is None else execution.number,
        environment=step.source.environment,
        load=EntityData(step, execution).load,
        memory=memory_of(step, execution),
    )
