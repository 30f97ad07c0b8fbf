"""The text of a turn as it comes, for a terminal."""

from __future__ import annotations

from typing import Any


class LiveText:
    """Turns `llm.delta` events into what to print next, and closes with what the stream did not show (T40)."""

    def __init__(self) -> None:
        self._call_id: str | None = None
        self._shown = ""  # the text of the call that streams now
        self._asked: set[str] = set()  # the calls whose replies a person reads
        self._broken = False  # its open line was ended already

    def event(self, type_: str, data: dict[str, Any]) -> str:
        """What an event adds to the text a person reads."""
        if type_ == "llm.call.requested":
            self.requested(data)
        if type_ == "message.new":
            return self.recorded(data["message"])
        return self.delta(data) if type_ == "llm.delta" else ""

    def delta(self, data: dict[str, Any]) -> str:
        """What to print for one delta; each model call starts on a line of its own.

        Reasoning is not shown, and neither is what a sub-agent tells its parent alone, nor a summary.
        """
        text: str | None = data.get("text")
        if not text or "purpose" in data or ("execution" in data and not data.get("heard")):
            return ""
        line_break = ""
        if data["call_id"] != self._call_id:
            line_break = self.break_line()
            self._call_id, self._shown = data["call_id"], ""
        self._shown += text
        self._broken = False
        return line_break + text

    def requested(self, data: dict[str, Any]) -> None:
        """A model call begins."""
        if data["purpose"] == "main" and "execution" not in data:
            self._asked.add(data["call_id"])

    def recorded(self, message: dict[str, Any]) -> str:
        """What is still to print of a reply that is recorded: a reader who was late has missed deltas of it."""
        text = message.get("content")
        if message["id"] not in self._asked or not isinstance(text, str):
            return ""
        self._asked.discard(message["id"])
        shown = self._shown if message["id"] == self._call_id else ""
        if not text.startswith(shown) or text == shown:
            return ""
        return self.delta({"call_id": message["id"], "text": text[len(shown) :]})

    def break_line(self) -> str:
        """The end of the line that stands open, for whoever writes beside the text; empty when none does."""
        is_open = bool(self._shown) and not self._shown.endswith("\n") and not self._broken
        self._broken = self._broken or is_open
        return "\n" if is_open else ""

    def end(self, answer: str | None) -> str:
        """The rest: nothing more than a line end when the answer was streamed, the whole answer when it was not."""
        line_break = self.break_line()
        if answer is None or answer == self._shown:
            return line_break
        return line_break + answer + ("" if answer.endswith("\n") else "\n")
