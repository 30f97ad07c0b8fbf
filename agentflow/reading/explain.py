"""The exact next request of a session, with the sizes of its parts, without a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentflow import clock
from agentflow.agents.loaded_agent import LoadedAgent
from agentflow.config.inputs import check_inputs
from agentflow.context.forecast import Compaction, forecast
from agentflow.context.tokens import estimate, tokens_to_read
from agentflow.conversation.history import History, build_request, exchanges, lean
from agentflow.conversation.repair import mend
from agentflow.message import Message
from agentflow.store.protocol import Store
from agentflow.store.records import SessionRecord


async def explain(
    store: Store, agent: LoadedAgent, record: SessionRecord | None, session_id: str, inputs: Mapping[str, Any]
) -> dict[str, Any]:
    """`{agent_id, session_id, model, messages, tools, sections: [{name, chars, tokens}], chars, tokens, window, room,
    damage, observability}`.

    `messages` are what the model reads before the next message is added. `tokens` is the count that making room goes
    by: what the provider reported last, and what has changed since (X5); those of a section are one for every four
    characters. `window` is how many the model can read, by its own or the settings' size, null when neither is known.
    `room` says for each way of making room what it compares and what it would cut (`Forecast`). `damage` is null, or
    what the next turn repairs: `{closed, left_out}`, calls without a result and ids of results without a call.
    `observability` is the agent's setting (R5). Raises `InvalidInput` for inputs that the agent does not take.
    """
    path: list[Message] = []
    paused = False
    if record is not None:
        versions = await store.versions(record.key, record.head)
        agent = agent.changed(versions.agent) if versions.agent else agent
        path = [entry.message for entry in await store.path(record.key, record.head, lean_before=None)]
        paused = record.pending is not None and not record.pending.is_over(clock.instant())
    path, damage = _mended(path, is_open=record is not None and (paused or record.running_turn is not None))
    variables = _AsWritten() if "step_start" in agent.hooks else {}
    prompt = agent.render_prompt(check_inputs(agent.config.inputs, inputs), variables, {"id": session_id})
    is_lean = agent.config.settings.lean_history and not paused
    history = _history(path, agent.model.name, is_lean=is_lean)
    built = build_request(prompt, history, (), History(agent.model.name), agent.schemas_chars)
    settings = agent.config.settings
    compaction = Compaction(
        settings.compaction_threshold_fraction, settings.compaction_context_window_tokens,
        settings.compaction_keep_recent_messages,
    )  # fmt: skip
    report = None if record is None else await store.report(record.key, record.head, 0)
    room = forecast(
        agent.context, compaction, report, path, built.chars, history.chars, lean=is_lean, model=agent.model.name
    )
    return {
        "agent_id": agent.config.name,
        "session_id": None if record is None else record.id,
        "model": agent.model.name,
        "messages": built.messages,
        "tools": agent.schemas,
        "sections": [
            {"name": name, **_sized(chars)}
            for name, chars in (
                ("system prompt", len(prompt)), ("tools", agent.schemas_chars), ("history", history.chars)
            )
        ],
        "chars": built.chars,
        "tokens": tokens_to_read(report, built.chars),
        "window": agent.context.window or settings.compaction_context_window_tokens or None,
        "room": [each.as_dict() for each in room],
        "damage": damage,
        "observability": settings.observability,
    }  # fmt: skip


class _AsWritten(dict[str, str]):
    """Variables that only a hook of the coming step knows: each stands in the prompt as it is written."""

    def __missing__(self, name: str) -> str:
        return f"{{{{ vars.{name} }}}}"


def _mended(path: list[Message], *, is_open: bool) -> tuple[list[Message], dict[str, Any] | None]:
    """The path as it is when it has been repaired, and what that is about; `is_open`: calls at its end are awaited."""
    last = next((message for message in reversed(path) if message.role != "tool"), None)
    mended = mend(path, [call.id for call in last.tool_calls] if is_open and last is not None else ())
    if mended is None:
        return path, None
    return mended.messages, {"closed": list(mended.closed), "left_out": list(mended.left_out)}


def _history(path: Sequence[Message], model: str, *, is_lean: bool) -> History:
    """The path as a new turn reads it; an exchange that waits for an answer is not whole and left out."""
    history, messages = History(model), list(path)
    if messages and (last := exchanges(messages)[-1]).open:
        messages = messages[: len(messages) - len(last.messages())]
    history.extend(lean(messages) if is_lean else messages)
    return history


def _sized(chars: int) -> dict[str, int]:
    return {"chars": chars, "tokens": estimate(chars)}
