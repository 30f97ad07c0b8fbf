"""The planning call before a turn's first iteration (T33).

The planner reads what the agent would read and answers with a list of steps. Its text is the turn's plan: stored
with the turn, given to the agent's model as text of the step (X4), its items the first todos. It may ask the user,
which pauses the turn like any question (T22); the call that asks is a message of the conversation then.

A planner that fails costs the turn its plan and nothing else: the call's own events say why, and the turn goes on.
"""

from __future__ import annotations

import logging
import re

from agentflow.conversation.history import BuiltRequest, History, build_request
from agentflow.conversation.questions import check_questions
from agentflow.message import Message, ToolCall
from agentflow.models.assembly import Reply
from agentflow.models.fallback.candidates import Candidates
from agentflow.models.fallback.fitting import Need
from agentflow.models.protocol import Model
from agentflow.store.rows import changes
from agentflow.text import compact_json, preview
from agentflow.tools.calls import Prepared
from agentflow.tools.results import ToolResult, refused
from agentflow.tools.todo_items import MAX_CONTENT, MAX_TODOS, Todo
from agentflow.tools.tool import ASK_USER_TOOL, tool_schemas
from agentflow.turn.calls import left_open
from agentflow.turn.calls.side_call import SideCall, SideCallFailed, ask_aside
from agentflow.turn.calls.tool_batch import ToolBatch
from agentflow.turn.decide.triggers import ReplyFinished
from agentflow.turn.rules.decisions import Pause, RunTools, within
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.step import Step

PLANNER_PROMPT = """You plan; somebody else does the work. Read the conversation and write the plan for answering the \
user's last message: a numbered list, one short step a line, in working order, nothing else. Plan only what the agent \
described below can do with its tools. When one step is enough, write that one. When the plan depends on a decision \
that only the user can make, call ask_user instead of writing a plan."""

_ROUNDS = 3  # replies until a planner that writes no plan is given up
_NOT_RUN = "Not run: while planning only one call of ask_user is possible."
_ITEM = re.compile(r"(?:[-*•]|\d+[.)])\s(.*)", re.DOTALL)
_BOX = re.compile(r"\[[ xX]?\]\s")
_SCHEMAS = tool_schemas([ASK_USER_TOOL])
_SCHEMAS_TEXT = compact_json(_SCHEMAS)

_log = logging.getLogger("agentflow.turn")


class Planner:
    """Plans one turn of an execution."""

    def __init__(self, step: Step, execution: Execution) -> None:
        self._step = step
        self._execution = execution

    async def run(self) -> Pause | ReplyFinished | None:
        """Have plan and todos of the turn ready for its next main call; a pause when the planner asks the user first,
        and its failure when it has none to give.

        A turn that has its plan, or made a main call without one, is not planned any more. Raises `Interrupted`.
        """
        agent = self._execution.agent
        return None if agent.planner is None or self._execution.is_planned else await self._plan(agent.planner)

    async def _plan(self, planners: Candidates) -> Pause | ReplyFinished | None:
        for _ in range(_ROUNDS):
            try:
                call, reply = await self._call(planners)
            except SideCallFailed as failed:
                _log.warning("turn %s goes on without a plan: %s", self._step.claimed.turn_id, failed)
                return ReplyFinished(failed.call_id, "planner", None, None, error=failed.error)
            if not reply.tool_calls:
                if reply.text.strip() and reply.finish_reason != "length":
                    adopt(self._execution, reply.text.strip())
                return None
            paused = self._answer_calls(call.id, reply, call.model)
            if paused is not None:
                return paused
        _log.warning("turn %s goes on without a plan: its planner wrote none", self._step.claimed.turn_id)
        return None

    async def _call(self, planners: Candidates) -> tuple[SideCall, Reply]:
        prompt, can_ask = self._prompt(), ASK_USER_TOOL.name in self._execution.agent.tools
        tools, text = (_SCHEMAS, _SCHEMAS_TEXT) if can_ask else ((), "")

        def call(model: Model) -> SideCall:
            request = self._request(prompt, model, len(text))
            return SideCall(self._step.new_id(), "planner", model, request, prompt, tools, text)

        first = self._request(prompt, planners.models[0], len(text))
        need = Need.of(first.messages, first.chars, with_tools=bool(tools))
        return await ask_aside(self._step, self._execution, planners, need, call)

    def _prompt(self) -> str:
        tools = [f"- {tool.name}: {tool.description}" for tool in self._execution.agent.tools.values()]
        sections = [PLANNER_PROMPT, "# The agent's tools\n" + "\n".join(tools)]
        if self._execution.prompt.strip():
            sections.append("# The agent's instructions\n" + self._execution.prompt)
        return "\n\n".join(sections)

    def _request(self, prompt: str, model: Model, tools_chars: int) -> BuiltRequest:
        """The step as the agent reads it, with what this model gave of its own in it (T15)."""
        transcript = self._execution.transcript
        current = History(model.name, before=transcript.earlier)
        current.extend(transcript.messages, model=model.name)
        return build_request(prompt, transcript.earlier, transcript.step_texts, current, tools_chars)

    def _answer_calls(self, call_id: str, reply: Reply, model: Model) -> Pause | None:
        """Record a reply that calls tools: the first `ask_user` pauses the turn, all else gets an error result."""
        calls = left_open.identified(self._execution, reply.tool_calls, self._step.new_id)
        provider = {"model": model.name, **reply.provider} if reply.provider else None
        said = Message(call_id, "assistant", reply.text.strip() or None, calls, provider=provider)
        message = within(said, self._execution.agent.config.settings.max_tool_calls_per_reply)
        calls = message.tool_calls
        if message is not said:
            self._execution.staging.add(changes.KeepReply(compact_json(said.as_dict()), call_id))
        self._execution.staging.record(message)
        batch = ToolBatch(self._execution, _plan(calls), _not_run, self._step.new_id)
        batch.stage(_plan(calls), calls, message.id)
        if batch.asked is None:
            self._execution.transcript.remember(message, *batch.results)
            return None
        checked = check_questions(batch.asked.arguments)
        questions = checked if isinstance(checked, tuple) else ()
        return Pause(batch.asked.call.id, questions, self._execution.number)


async def take_back(step: Step, execution: Execution) -> None:
    """Have back what the execution planned before its pause, todos and plan."""
    if execution.agent.config.planning is None:
        return
    claimed = step.claimed
    planned = await step.store.planned(claimed.key, claimed.turn, execution.number)
    if planned.todos is not None:
        execution.todos.restore(planned.todos.number, planned.todos.items)
    if planned.plan is not None:
        give(execution, planned.plan)
    if planned.begun or planned.plan is not None:
        execution.planned()


def _plan(calls: tuple[ToolCall, ...]) -> RunTools:
    ask = next((call for call in calls if call.name == ASK_USER_TOOL.name), None)
    return RunTools(ask=ask, refused=tuple((call, _NOT_RUN) for call in calls if call is not ask))


async def _not_run(prepared: Prepared) -> ToolResult:
    return refused(_NOT_RUN, "refused")


def adopt(execution: Execution, plan: str) -> None:
    """Give the plan to the step, and make its items the first todos; it is kept for a step that resumes."""
    is_main = execution.parent is None
    turn, number = execution.journal.turn, execution.number
    execution.staging.add(changes.PlanTurn(plan, turn) if is_main else changes.PlanExecution(plan, number))
    give(execution, plan)
    todos = plan_items(plan)
    if todos:
        execution.todos.keep(todos, streamed=is_main)


def give(execution: Execution, plan: str) -> None:
    """Let the agent's model read the plan before the step's own messages (X4)."""
    execution.transcript.say(f"The plan for the current request, whose steps are your todo list:\n{plan}")


def plan_items(plan: str) -> tuple[Todo, ...]:
    """The lines of a plan that are items of a list, as pending todos; long ones are cut, so is a long list."""
    marked = [found[1].strip() for line in plan.splitlines() if (found := _ITEM.fullmatch(line.strip()))]
    items = [item[found.end() :].strip() if (found := _BOX.match(item)) else item for item in marked]
    return tuple(Todo(preview(item, MAX_CONTENT), "pending") for item in items[:MAX_TODOS])
