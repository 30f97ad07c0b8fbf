"""What scenarios of making room share: models that summarize, what was told of it, and what a valid request is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from agentflow import Event, ModelRequest
from agentflow.testing import Kit

Reply = dict[str, Any]
OPENING = "The earlier part of this conversation was summarized"
FILLER = "lorem ipsum dolor sit amet " * 16  # some 430 characters


def answering(
    summary: Callable[[ModelRequest], Reply], answer: Callable[[ModelRequest], Reply]
) -> Callable[[ModelRequest], Reply]:
    """One function for every request, told apart by purpose."""
    return lambda request: summary(request) if request.purpose == "summary" else answer(request)


def chatty(request: ModelRequest) -> Reply:
    return {"text": f"answer in turn {request.turn}: {FILLER}"}


def capitals(request: ModelRequest) -> Reply:
    """A summarizer that copies every word in capitals of what it reads (B23)."""
    words = dict.fromkeys(re.findall(r"\b[A-Z][A-Z0-9]{3,}\b", request.messages[-1]["content"]))
    return {"text": "Code words: " + ", ".join(words)}


def over(tokens: int, **keys: Any) -> dict[str, Any]:
    """A `context:` that summarizes above so many tokens."""
    return {"strategy": [{"use": "summarize", "over_tokens": tokens, **keys}]}


def by_settings(window: int, keep: int = 4, fraction: float = 0.8, **settings: Any) -> dict[str, Any]:
    return {
        "compaction_threshold_fraction": fraction,
        "compaction_context_window_tokens": window,
        "compaction_keep_recent_messages": keep,
        **settings,
    }


def phases(kit: Kit, session: str = "s-1") -> list[str]:
    """What was told of making room, in order: `full`, `idle`, `overflow`, `replaced`, or why nothing was."""
    found = []
    for event in kit.events("context.limited", "context.replaced", "context.kept", session=session):
        found.append(event.data.get("reason", "replaced"))
    return found


def replaced(kit: Kit) -> list[Event]:
    return kit.events("context.replaced")


def of_purpose(requests: Iterable[ModelRequest], purpose: str) -> list[ModelRequest]:
    return [request for request in requests if request.purpose == purpose]


def texts(request: ModelRequest) -> str:
    """All that a request says."""
    return "\n".join(str(message["content"]) for message in request.messages)


def assert_paired(request: ModelRequest) -> None:
    """T7: each call has exactly one result, directly after it, in call order; ids unique; no empty text."""
    waiting: list[str] = []
    seen: set[str] = set()
    for message in request.messages:
        if message["role"] == "tool":
            assert waiting
            assert message["tool_call_id"] == waiting.pop(0)
            continue
        assert waiting == []
        waiting = [call["id"] for call in message.get("tool_calls", ())]
        assert seen.isdisjoint(waiting)
        seen.update(waiting)
        assert waiting or str(message["content"]).strip()
    assert waiting == []
