"""The streamed text and reasoning of replies: opened, told by pieces, closed, and held against what is recorded."""

from __future__ import annotations

from collections.abc import Iterator

from ag_ui.core import (
    BaseEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)


class Replies:
    """Of one run. `differs`: something was told that is not on the path as it was told (G2)."""

    def __init__(self) -> None:
        self.differs = False
        self._texts: dict[str, str] = {}  # what was told of replies that are not recorded yet, by id
        self._thinking: set[str] = set()
        self._runs: dict[str, str | None] = {}  # the sub-agent's run a reply belongs to

    def text(self, reply_id: str, text: str, run: str | None) -> Iterator[BaseEvent]:
        """A piece of a reply's text."""
        yield from self._end_thinking(reply_id)
        if reply_id not in self._texts:
            self._runs[reply_id] = run
            yield TextMessageStartEvent(message_id=reply_id, role="assistant", subagent_run_id=run)
        self._texts[reply_id] = self._texts.get(reply_id, "") + text
        yield TextMessageContentEvent(message_id=reply_id, delta=text, subagent_run_id=run)

    def reasoning(self, reply_id: str, text: str, run: str | None) -> Iterator[BaseEvent]:
        """A piece of what a model thought."""
        id_ = _thought(reply_id)
        if reply_id not in self._thinking:
            self._thinking.add(reply_id)
            self._runs[reply_id] = run
            yield ReasoningStartEvent(message_id=id_, subagent_run_id=run)
            yield ReasoningMessageStartEvent(message_id=id_, role="reasoning", subagent_run_id=run)
        yield ReasoningMessageContentEvent(message_id=id_, delta=text, subagent_run_id=run)

    def recorded(self, reply_id: str, text: str, run: str | None) -> Iterator[BaseEvent]:
        """The reply is recorded with this text: what was not told of it is, and it is closed."""
        yield from self._end_thinking(reply_id)
        told = self._texts.get(reply_id)
        if told is not None and not text.startswith(told):
            self.differs = True
        elif len(text) > len(told or ""):
            yield from self.text(reply_id, text[len(told or "") :], run)
        yield from self._end_text(reply_id)

    def given_up(self) -> Iterator[BaseEvent]:
        """Close whatever is open: none of it was recorded."""
        for reply_id in list(self._thinking):
            yield from self._end_thinking(reply_id)
        for reply_id in list(self._texts):
            self.differs = True
            yield from self._end_text(reply_id)

    def _end_thinking(self, reply_id: str) -> Iterator[BaseEvent]:
        if reply_id in self._thinking:
            self._thinking.discard(reply_id)
            run = self._runs.get(reply_id)
            yield ReasoningMessageEndEvent(message_id=_thought(reply_id), subagent_run_id=run)
            yield ReasoningEndEvent(message_id=_thought(reply_id), subagent_run_id=run)

    def _end_text(self, reply_id: str) -> Iterator[BaseEvent]:
        if self._texts.pop(reply_id, None) is not None:
            yield TextMessageEndEvent(message_id=reply_id, subagent_run_id=self._runs.get(reply_id))


def _thought(reply_id: str) -> str:
    return f"{reply_id}-reasoning"
