"""What the model of an execution reads: the turns before this one, text of this step, and this turn (X4, T7).

The three are one request, so a call id stands in it once (T14): what this turn adds is told apart from the turns
before it, and ids whose rows are there are never given to another call, whether or not they are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentflow.context.tokens import Report
from agentflow.conversation.history import BuiltRequest, Exchange, History, build_request, exchanges, lean
from agentflow.message import Message


class Transcript:
    """The history of one execution.

    `messages` are this turn's, `earlier` and `current` the histories before it and of it as they are written out for
    `model`. `held` is the exchange of `messages` still to come that waits for a result. `step_texts` stand before the
    step's own messages in each request. `report` is that of the last main call on this path (X5). `is_as_recorded`:
    `messages` are the end of the path as its rows have it, written out for one model (R5).
    """

    def __init__(self, model: str, earlier: History, report: Report | None = None) -> None:
        self.earlier = earlier
        self.current = History(model, before=earlier)
        self.messages: list[Message] = []
        self.step_texts: list[str] = []
        self.held: Exchange | None = None
        self.report = report
        self.is_as_recorded = True
        self._model = model
        self._reserved: set[str] = set()
        self._restated = ""
        self._left_answer: Message | None = None

    @property
    def answer(self) -> Message | None:
        """The answer as it stands: the last message of this turn, if that is a reply without calls; on a path that
        was left for another one, the answer there, until a model is called.
        """
        last = self.messages[-1] if self.messages else None
        return self._left_answer if last is None or last.role != "assistant" or last.tool_calls else last

    @property
    def chars(self) -> int:
        return self.earlier.chars + self.current.chars

    def has_call(self, call_id: str) -> bool:
        """Whether a call of that id is read, or has a row."""
        return call_id in self.current.call_ids or call_id in self.earlier.call_ids or call_id in self._reserved

    def reserve(self, call_ids: Iterable[str]) -> None:
        """Ids of calls whose rows are there: no other call may have them, though none of them may be read (T14)."""
        self._reserved.update(call_ids)

    def request(self, prompt: str, tools_chars: int) -> BuiltRequest:
        return build_request(prompt, self.earlier, self.step_texts, self.current, tools_chars)

    def remember(self, *messages: Message) -> None:
        """Whole exchanges that the next request of this turn reads."""
        self.messages += messages
        self.current.extend(messages, model=self._model)

    def take_up(self, messages: Sequence[Message]) -> None:
        """Go on from a path that may end in an exchange with an open call; that exchange is `held` back."""
        closed = list(messages)
        if closed and (last := exchanges(closed)[-1]).open:
            self.held = last
            closed = closed[: len(closed) - len(last.messages())]
        self.remember(*closed)

    def say(self, text: str) -> None:
        """Give the model a text for this step."""
        self.step_texts.append(text)

    def restate(self, text: str) -> None:
        """Say what a compaction took away, in place of what was said so before; blank for nothing (T32)."""
        if self._restated in self.step_texts:
            self.step_texts.remove(self._restated)
        self._restated = text
        if text:
            self.step_texts.append(text)

    def read_for(self, model: str) -> None:
        """Write out what is remembered from now on for another model (T15)."""
        self.is_as_recorded &= not self.messages or model == self._model
        self._model = model

    def reported(self, report: Report | None) -> None:
        self.report = report

    def model_called(self) -> None:
        """A model is called on this path, so an answer of a path that was left is none any more."""
        self._left_answer = None

    def replace_last(self, message: Message) -> None:
        """Read another message in place of the last one of this turn."""
        self._read(self.earlier, [*self.messages[:-1], message])

    def reread(self, earlier: Iterable[Message], current: Sequence[Message], *, is_lean: bool) -> None:
        """Read these messages instead of the ones so far."""
        history = History(self._model)
        history.extend(lean(earlier) if is_lean else earlier)
        self._read(history, current)

    def leave_for(self, earlier: Iterable[Message], current: Sequence[Message], *, is_lean: bool) -> None:
        """Read another path. The report of this one says nothing of it; its answer stands until a model is called."""
        self._left_answer, self.report = self.answer, None
        self.reread(earlier, current, is_lean=is_lean)

    def _read(self, earlier: History, current: Sequence[Message]) -> None:
        self.reserve(self.earlier.call_ids)
        self.reserve(self.current.call_ids)
        self.earlier, self.current, self.messages = earlier, History(self._model, before=earlier), []
        self.remember(*current)
