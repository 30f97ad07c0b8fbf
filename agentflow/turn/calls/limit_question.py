"""Questions the engine asks by itself: whether a turn that reached a limit goes on (T39)."""

from __future__ import annotations

from agentflow.clock import NewId
from agentflow.config.agent_config import Settings
from agentflow.conversation.questions import Option, Question
from agentflow.conversation.repair import ASK_USER
from agentflow.message import Message, ToolCall, Usage
from agentflow.store.outcomes import Claimed
from agentflow.text import compact_json
from agentflow.turn.rules.decisions import Pause
from agentflow.turn.run import tool_calls
from agentflow.turn.run.execution import Execution

_HEADER, _GO_ON, _STOP = "Limit", "Go on", "Stop here"
_PREFIX = "limit:"


def ask_about_limit(execution: Execution, limit: str, settings: Settings, new_id: NewId) -> Pause:
    """Stage an `ask_user` call of the engine's own; its id tells which limit it is about."""
    question = Question(
        _HEADER,
        f"The turn reached {limit} ({getattr(settings, limit)}). Shall it go on?",
        (Option(_GO_ON, "with the same allowance again"), Option(_STOP, "answer with what is known so far")),
    )
    call = ToolCall(f"{_PREFIX}{limit}:{new_id()}", ASK_USER, compact_json({"questions": [question.as_dict()]}))
    message = Message(new_id(), "assistant", None, (call,))
    execution.staging.record(message)
    tool_calls.request(execution, call, message.id, started=False)
    return Pause(call.id, (question,), execution.number)


def refused_limit(claimed: Claimed) -> str | None:
    """The limit that the user's answer has just declined to extend; the turn then answers without tools."""
    return _asked_about(claimed) if _declined(claimed) else None


def granted(claimed: Claimed) -> Usage:
    """What the turn has used when its user has just let it go on with the same allowance again."""
    return claimed.usage if _asked_about(claimed) is not None and not _declined(claimed) else Usage()


def _asked_about(claimed: Claimed) -> str | None:
    """The limit that was asked about, when this step goes on with the answer to such a question."""
    if not claimed.resumed or not claimed.messages:
        return None
    call_id = claimed.messages[0].tool_call_id or ""
    return call_id.removeprefix(_PREFIX).split(":")[0] if call_id.startswith(_PREFIX) else None


def _declined(claimed: Claimed) -> bool:
    return bool(claimed.messages) and claimed.messages[-1].content == f"{_HEADER}: {_STOP}"
