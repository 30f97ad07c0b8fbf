"""Sub-agents: an agent's run inside another one's, for a piece of work or for the rest of the turn (T34, T35).

A task's run knows only its prompt and comes back with a text. A run that the turn was handed to reads the user's
message, may ask the user, and its answer is the turn's. Both have a history, limits and an interface of their own;
their calls and usage count in the turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentflow import clock
from agentflow.agents.loaded_agent import LoadedAgent
from agentflow.config.inputs import check_inputs
from agentflow.conversation.history import History
from agentflow.conversation.repair import ASK_USER
from agentflow.errors import AgentflowError, StaleOwner, StoreError
from agentflow.live.interrupt import Interrupted
from agentflow.message import ExecutionStatus, Message, ToolCall, text_of
from agentflow.store.rows import inserts
from agentflow.telemetry import shapes, spans
from agentflow.text import preview
from agentflow.tools.results import ToolResult, refused
from agentflow.turn.calls.limit_question import ask_about_limit
from agentflow.turn.decide.actions import Fail
from agentflow.turn.rules.decisions import AskLimit, Ended, Pause
from agentflow.turn.run.ending import close_child
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.staging import Position
from agentflow.turn.run.step import Step
from agentflow.turn.run.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Child:
    """A run that has begun; `inputs` are those of the request that its agent knows."""

    execution: Execution
    inputs: Mapping[str, Any]


Run = Callable[[Step, Child, Message], Awaitable[Ended]]
"""`(step, child, the message it begins with) -> what ended the run`."""

_PARTIAL_CHARS = 2000

_log = logging.getLogger("agentflow.turn")


async def task(step: Step, parent: Execution, call: ToolCall, arguments: Mapping[str, Any], run: Run) -> ToolResult:
    """Run a sub-agent on a prompt; it cannot ask the user (T22)."""
    prompt = Message(step.new_id(), "user", str(arguments["prompt"]))
    result = await _call(step, parent, call, str(arguments["agent"]), prompt, None, run)
    if isinstance(result, Pause):
        raise RuntimeError("a task's sub-agent has no ask_user")
    return result


async def delegate(
    step: Step, parent: Execution, call: ToolCall, arguments: Mapping[str, Any], run: Run
) -> ToolResult | Pause:
    """Hand the turn over: the sub-agent reads the user's message and, as text of this step, the parent's note."""
    said = next((message for message in reversed(parent.transcript.messages) if message.role == "user"), None)
    note = str(arguments["message"])
    message = Message(step.new_id(), "user", note if said is None else said.content)
    return await _call(step, parent, call, str(arguments["agent"]), message, None if said is None else note, run)


async def _call(
    step: Step, parent: Execution, call: ToolCall, name: str, message: Message, note: str | None, run: Run
) -> ToolResult | Pause:
    if (too_deep := _too_deep(parent)) is not None:
        return too_deep
    if parent.staging:  # a hook of this call: it is told before what the sub-agent does
        await parent.commit()
    heard = parent.heard and note is not None
    try:
        agent = step.load_agent(parent.agent.sub_agents[name])
        child = _begin(step, parent, call, agent if heard else _without_questions(agent), heard=heard)
    except (StaleOwner, StoreError):
        raise
    except AgentflowError as error:
        return refused(f"sub-agent '{name}' cannot run: {error.message}", error.code)
    if note is not None:
        child.execution.transcript.say(handed_over_with(note))
    return await finish_run(step, child.execution, lambda: run(step, child, message))


def _too_deep(parent: Execution) -> ToolResult | None:
    """Each agent says how deep there may be sub-agents below it; the first that would be exceeded refuses (T35)."""
    above: Execution | None = parent
    while above is not None:
        allowed = above.agent.config.settings.max_subagent_depth
        if allowed and parent.depth + 1 - above.depth > allowed:
            below = f"below '{above.agent.config.name}' sub-agents may be {allowed} deep (max_subagent_depth)"
            return refused(f"{below}, this call would be deeper", "refused")
        above = above.parent
    return None


def open_run(step: Step, parent: Execution, agent: LoadedAgent, number: int, *, heard: bool = True) -> Child:
    """A run of `agent` below `parent`, nothing staged. Raises `InvalidInput` for inputs it needs and nobody gave.

    One that is `heard` has the turn, and with it what the turn's client performs (C37).
    """
    journal = parent.journal
    agent = agent.with_client_tools(step.claimed.options.tools) if heard else agent
    given = {name: value for name, value in step.claimed.inputs.items() if name in agent.config.inputs}
    inputs = check_inputs(agent.config.inputs, given)
    child = Execution(
        journal, agent, number, Transcript(agent.model.name, History(agent.model.name)),
        Position(journal.new_branch, None, None, root_of=number), asyncio.get_running_loop().time(),
        parent=parent, heard=heard, blobs=parent.staging.blobs,
    )  # fmt: skip
    parent.children.append(child)
    return Child(child, inputs)


def _begin(step: Step, parent: Execution, call: ToolCall, agent: LoadedAgent, *, heard: bool) -> Child:
    journal = parent.journal
    child = open_run(step, parent, agent, journal.new_execution(), heard=heard)
    child.execution.staging.add(
        inserts.InsertBlob(agent.config.hash, agent.config_text),
        inserts.InsertExecution(
            child.execution.number, journal.turn, agent.config.name, agent.config.hash, ExecutionStatus.RUNNING,
            clock.instant(), parent.number, call.id,
        ),
    )  # fmt: skip
    return child


def handed_over_with(note: str) -> str:
    """The step text of a run that the turn was handed to."""
    return f"The conversation was handed over to you with this note: {note}"


def _without_questions(agent: LoadedAgent) -> LoadedAgent:
    """Nobody outside can be asked: not the user (T22), nor the client (C38)."""
    kept = {name: tool for name, tool in agent.tools.items() if name != ASK_USER and name not in agent.client_tools}
    return agent.with_tools(kept)


async def finish_run(step: Step, child: Execution, run: Callable[[], Awaitable[Ended]]) -> ToolResult | Pause:
    """Run a begun sub-agent to its end and stage that end on its parent (T35).

    An interruption leaves everything to the turn's own end, which closes what is open here too.
    """
    name, journal = child.agent.config.name, child.journal
    with spans.span(lambda: shapes.run(name, journal.session_id, journal.step, child.number)) as span:
        came_to = await _ended(step, child, run)
        if isinstance(came_to, ToolResult) and not came_to.ok:
            span.fail(came_to.error_code or "sub_agent_failed", came_to.text)
        return came_to


async def _ended(step: Step, child: Execution, run: Callable[[], Awaitable[Ended]]) -> ToolResult | Pause:
    limit = child.agent.config.settings.turn_timeout_secs
    try:
        async with asyncio.timeout(limit or None):
            ended = await run()
    except Interrupted:
        return refused("the turn was interrupted", "interrupted")
    except (StaleOwner, StoreError):
        raise
    except TimeoutError:
        return _failed(step, child, f"it did not finish within turn_timeout_secs ({limit:g})")
    except AgentflowError as error:
        return _failed(step, child, f"{error.message} ({error.code})")
    except Exception as error:
        _log.exception("the run of sub-agent %s failed inside agentflow", child.agent.config.name)
        return _failed(step, child, f"{type(error).__name__}: {error} (internal_error)")
    if isinstance(ended, AskLimit) and child.heard:
        ended = ask_about_limit(child, ended.limit, child.agent.config.settings, step.new_id)
    if isinstance(ended, Pause):
        return ended
    if isinstance(ended, Fail):
        return _failed(step, child, f"{ended.error.message} ({ended.error.code})")
    if isinstance(ended, AskLimit):
        return _failed(step, child, f"it reached {ended.limit}")
    return _answered(child, ended.limit)


def _answered(child: Execution, limit: str | None) -> ToolResult:
    last = child.transcript.messages[-1] if child.transcript.messages else None
    answer = text_of(last.content).strip() if last is not None and last.role == "assistant" else ""
    if not answer:
        child.ended(ExecutionStatus.ERROR)
        return _refused(child, "answered nothing", "no_answer", _said(child))
    child.ended(ExecutionStatus.DONE)
    notice = "" if limit is None or child.heard else f"\n[The sub-agent reached {limit}.]"
    return ToolResult(True, answer + notice)


def _failed(step: Step, child: Execution, reason: str) -> ToolResult:
    """Close what the run left open; the parent reads the reason and a bounded part of what was done."""
    said = _said(child)
    shown = close_child(child, reason, step.new_id)
    child.ended(ExecutionStatus.ERROR)
    return _refused(child, f"failed: {reason}", "sub_agent_failed", [*said, *([shown] if shown else [])])


def _said(child: Execution) -> list[str]:
    texts = [text_of(message.content) for message in child.transcript.messages if message.role == "assistant"]
    return [text for text in texts if text.strip()]


def _refused(child: Execution, what: str, code: str, texts: Sequence[str]) -> ToolResult:
    said, partial = f"sub-agent '{child.agent.config.name}' {what}", preview("\n".join(texts), _PARTIAL_CHARS)
    return refused(said if not partial else f"{said}\nWhat it had said so far: {partial}", code)
