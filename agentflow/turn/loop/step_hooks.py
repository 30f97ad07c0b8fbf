"""The hooks around a run: before the model sees its message, and before its answer counts as final (T5, T9, T35)."""

from __future__ import annotations

from agentflow.errors import Blocked, HookError
from agentflow.message import Message, text_of
from agentflow.turn.calls.hooks import Hooks
from agentflow.turn.decide.actions import Done
from agentflow.turn.rules.limits import reached
from agentflow.turn.run.draft_answer import keep_shown, replace_answer, staged_answer
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.step import Step


async def start(step: Step, execution: Execution) -> None:
    """Call `step_start` and apply what it said. Raises `Blocked` with a hook's reason, `HookError`."""
    if not Hooks(step, execution).has("step_start"):
        return
    text = await _start(step, execution, await _asked(step))
    if text is not None and execution.parent is None:
        await _replace_message(step, execution, text)
    await execution.commit()


async def start_child(step: Step, execution: Execution, message: Message) -> str | None:
    """The same for a sub-agent's run that begins: its message is not recorded yet, another text may take its place."""
    return await _start(step, execution, text_of(message.content)) if "step_start" in execution.agent.hooks else None


async def _start(step: Step, execution: Execution, asked: str) -> str | None:
    """Call the hooks; the other message they want, if any. A sub-agent has its parent's variables too."""
    said = await Hooks(step, execution).call("step_start", {"message": asked, "resumed": step.claimed.resumed})
    if "block" in said:
        raise Blocked(said["block"])
    execution.define({**execution.vars, **said.get("vars", {})})
    if "context" in said:
        execution.transcript.say(said["context"])
    text: str | None = said.get("message")
    return text


async def end(step: Step, execution: Execution, done: Done) -> str | None:
    """Call `step_end`; another answer takes the place of the one just staged. The message to go on with, if any.

    A step that has used up a limit, continuations included, does not go on (T9).
    """
    hooks, answer = Hooks(step, execution), staged_answer(execution)
    if not hooks.has("step_end") or answer is None:
        return None
    text = text_of(answer.content)
    await keep_shown(execution, answer, text)
    said = await hooks.call("step_end", {"answer": text, "continuations": execution.spent.continuations})
    if "answer" in said:
        replace_answer(execution, said["answer"])
    settings = execution.agent.config.settings
    if done.limit is not None or execution.spent.continuations >= settings.max_continuations:
        return None
    message: str | None = said.get("continue")
    return None if reached(settings, execution.spent, execution.usage) else message


def go_on(step: Step, execution: Execution, text: str) -> None:
    """Record the continuation, hidden from the transcript; a model call follows."""
    execution.spent.continued()
    execution.record(Message(step.new_id(), "user", text, hidden=True))


async def _asked(step: Step) -> str:
    """What this step answers: the newest message it brings, or the path's when it brings none (C12)."""
    asked = [message for message in step.claimed.messages if message.role in ("user", "tool")]
    if not asked:
        path = await step.store.path(step.claimed.key, step.claimed.head, lean_before=None)
        asked = [entry.message for entry in path if entry.message.role == "user"]
    return text_of(asked[-1].content) if asked else ""


async def _replace_message(step: Step, execution: Execution, text: str) -> None:
    """Record the other message beside the client's, which stays in the tree and is no longer read."""
    claimed = step.claimed
    path = await step.store.path(claimed.key, claimed.head, lean_before=None)
    if claimed.resumed or not path or path[-1].message.role != "user":
        raise HookError(
            "A step_start hook returned another user message, but this step has none to replace: "
            "it goes on with an answer or a result. Return a message only when `resumed` is false."
        )
    before = path[-2] if len(path) > 1 else None
    position = execution.staging.position
    position.move(before.place if before else None, before.message.id if before else None, forks=True)
    message = Message(step.new_id(), "user", text)
    execution.staging.record(message)
    if execution.transcript.messages:
        execution.transcript.replace_last(message)
        return
    is_lean = step.reads_lean(execution.agent.config.settings)
    execution.transcript.reread([entry.message for entry in path[:-1]], [message], is_lean=is_lean)
