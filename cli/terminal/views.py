"""What standard output shows of a turn: the answer, as it comes, as Markdown, as one JSON object, or JSON lines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar

from .colors import COLOR, has_colors
from .live import LiveText
from .output import Output
from .plain import plain

if TYPE_CHECKING:
    from agentflow import Event, TurnResult


class Answer:
    """The answer alone, once it is known: what a pipe or a file gets. `streams`: whether text is shown as it comes."""

    streams: ClassVar[bool] = False

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

    streams = True

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._live = LiveText()

    def event(self, event: Event) -> None:
        self.output.write(self._live.event(event.type, event.data))

    def break_line(self) -> None:
        self.output.write(self._live.break_line())

    def pause(self) -> None:
        self.output.write(self._live.end(None))
        self._live = LiveText()

    def end(self, result: TurnResult) -> None:
        self.output.write(self._live.end(result.answer))


class MarkdownAnswer(Answer):
    """Each text once it is whole, laid out for the terminal."""

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._live, self._coming, self._shown = LiveText(), "", ""

    def event(self, event: Event) -> None:
        self._coming += self._live.event(event.type, event.data)
        if event.type in ("llm.call.completed", "message.new") and self._coming:
            self._show(self._coming.removeprefix("\n"))

    def end(self, result: TurnResult) -> None:
        if result.answer is not None and result.answer != self._shown:
            self._show(result.answer)

    def _show(self, text: str) -> None:
        colors = has_colors(COLOR.choice, os.environ, is_terminal=self.output.is_terminal)
        self.output.painted(laid_out(text, self.output.columns, colors=colors))
        self._coming, self._shown = "", text


def laid_out(text: str, columns: int, *, colors: bool) -> str:
    """Markdown as so many columns of a terminal show it. What steers one is taken out after it was read, for Markdown
    can write any character by its number (Z5).
    """
    from rich.color import ColorSystem
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(width=columns, force_terminal=True, legacy_windows=False)
    system = ColorSystem.STANDARD if colors else None
    pieces = [
        plain(piece.text) if piece.style is None else piece.style.render(plain(piece.text), color_system=system)
        for piece in console.render(Markdown(plain(text), hyperlinks=False))
        if not piece.control
    ]
    return "".join(pieces)


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
    """The view for `--json`, `--jsonl` or neither; on a terminal the text as it comes, or as `--markdown`."""
    on_terminal = MarkdownAnswer if output.markdown else LiveAnswer
    return _FORMS.get(form or "", on_terminal if output.is_terminal else Answer)(output)
