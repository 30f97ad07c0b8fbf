"""The hooks of a step: before the model sees its message, and before its answer counts as final (T5, T9).

They belong to the step, so they are the main agent's; sub-agents have the hooks of their model and tool calls.
"""

from __future__ import annotations

from agentflow.message import Message, text_of
from agentflow.turn.execution import Execution
from agentflow.turn.hooks import Blocked, HookError, Hooks
from agentflow.turn.surroundings import Surroundings


async def start(turn: Surroundings, execution: Execution) -> None:
    """Call `step_start` and apply what it said. Raises `Blocked` with a hook's reason, `HookError`."""
    hooks = Hooks(turn, execution)
    if not hooks.has("step_start"):
        return
    said = await hooks.call("step_start", {"message": _asked(execution), "resumed": turn.claimed.resumed})
    if "block" in said:
        raise Blocked(said["block"])
    execution.vars = said.get("vars", {})
    if "context" in said:
        execution.step_texts.append(said["context"])
    if "message" in said:
        _replace_message(turn, execution, said["message"])
    await execution.commit()


async def end(turn: Surroundings, execution: Execution) -> str | None:
    """Call `step_end`; another answer takes the place of the one just staged. The message to go on with, if any."""
    hooks = Hooks(turn, execution)
    last = execution.messages[-1] if execution.messages else None
    if not hooks.has("step_end") or last is None or last.role != "assistant":
        return None
    said = await hooks.call("step_end", {"answer": text_of(last.content), "continuations": execution.continuations})
    if "answer" in said:
        execution.replace_answer(said["answer"])
    if execution.continuations >= execution.agent.config.settings.max_continuations:
        return None
    message: str | None = said.get("continue")
    return message


async def go_on(turn: Surroundings, execution: Execution, text: str) -> str:
    """Record the continuation, hidden from the transcript, and the model call that follows; the call's id."""
    execution.continuations += 1
    message = Message(turn.new_id(), "user", text, hidden=True)
    execution.record(message)
    execution.remember(message)
    call_id = turn.new_id()
    execution.request_call(call_id)
    await execution.commit()
    return call_id


def _asked(execution: Execution) -> str:
    asked = next((each for each in reversed(execution.messages) if each.role in ("user", "tool")), None)
    return "" if asked is None else text_of(asked.content)


def _replace_message(turn: Surroundings, execution: Execution, text: str) -> None:
    """Record the other message beside the client's, which stays in the tree and is no longer read."""
    claimed = turn.claimed
    if claimed.resumed or not claimed.messages or claimed.messages[-1].role != "user":
        raise HookError("A step_start hook returned another user message, but this step has none to replace.")
    replaced = claimed.messages[-1]
    parent = next(entry.full["parent_id"] for entry in claimed.log if entry.ref == replaced.id)
    place = claimed.previous_head
    if len(claimed.messages) > 1 and claimed.head is not None:
        place = claimed.head._replace(depth=claimed.head.depth - 1)
    execution.fork_from(place, parent)
    message = Message(turn.new_id(), "user", text)
    execution.record(message)
    execution.replace_last(message)
