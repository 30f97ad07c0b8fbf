"""What standard output shows of a turn: the answer, the answer as it comes, one JSON object, or JSON lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .live import LiveText
from .output import Output

if TYPE_CHECKING:
    from agentflow import Event, TurnResult


class Answer:
    """The answer alone, once it is known: what a pipe or a file gets."""

    def __init__(self, output: Output) -> None:
        self.output = output

    def event(self, event: Event) -> None:
        """Called for every event of the turn, in order."""

    def break_line(self) -> None:
        """Called before anything else is written on the terminal while the turn runs."""

    def pause(self) -> None:
        """Called before somebody is asked on the terminal."""

    def end(self, result: TurnResult) -> None:
        """Called once, with the result."""
        if result.answer is not None:
            self.output.line(result.answer)


class LiveAnswer(Answer):
    """The text as it comes: what a terminal gets."""

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._live = LiveText()

    def event(self, event: Event) -> None:
        if event.type == "llm.delta":
            self.output.write(self._live.delta(event.data))

    def break_line(self) -> None:
        self.output.write(self._live.break_line())

    def pause(self) -> None:
        self.output.write(self._live.end(None))
        self._live = LiveText()

    def end(self, result: TurnResult) -> None:
        self.output.write(self._live.end(result.answer))


class Json(Answer):
    """The result as one object."""

    def end(self, result: TurnResult) -> None:
        self.output.json(result.as_dict(), indent=2)


class JsonLines(Answer):
    """The events as they come, the result last."""

    def event(self, event: Event) -> None:
        self.output.json(event.as_dict())

    def end(self, result: TurnResult) -> None:
        self.output.json(result.as_dict())


_FORMS: dict[str, type[Answer]] = {"json": Json, "jsonl": JsonLines}


def view_of(form: str | None, output: Output) -> Answer:
    """The view for `--json`, `--jsonl` or neither."""
    return _FORMS.get(form or "", LiveAnswer if output.is_terminal else Answer)(output)
