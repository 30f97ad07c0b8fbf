"""Replies that finished and are none: no text, no call (T12). Pure."""

from __future__ import annotations

from agentflow.errors import ModelError
from agentflow.models.assembly import Reply
from agentflow.models.errors import sentence
from agentflow.models.protocol import ModelRequest

_WITHHELD = ("content_filter", "refusal")


def nothing_said(reply: Reply, request: ModelRequest, model: str) -> ModelError | None:
    """Why a finished reply is none; null for one that says something, or that may be silent.

    A model may end a turn without a word once its tools have done the work, if it shows by its usage that it ran.
    Calls beside the conversation are judged by who made them.
    """
    if reply.text.strip() or reply.tool_calls or request.purpose != "main":
        return None
    if reply.finish_reason in _WITHHELD:
        return ModelError("content_filter", sentence(model, "content_filter"))
    if reply.finish_reason == "length":
        return ModelError("output_limit", sentence(model, "output_limit"))
    if reply.finish_reason is None or (reply.usage is not None and _after_results(request)):
        return None
    word = reply.finish_word or reply.finish_reason
    return ModelError("cut", sentence(model, "cut", f"it finished with {word!r} and neither text nor a call"))


def _after_results(request: ModelRequest) -> bool:
    """Whether the model was last given results of tools, texts of ours behind them not counted."""
    last = next((each["role"] for each in reversed(request.messages) if each["role"] != "system"), None)
    return last == "tool"
