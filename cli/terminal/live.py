"""The text of a turn as it comes, for a terminal."""

from __future__ import annotations

from typing import Any


class LiveText:
    """Turns `llm.delta` events into what to print next, and closes with what the stream did not show (T40)."""

    def __init__(self) -> None:
        self._call_id: str | None = None
        self._shown = ""  # the text of the call that streams now

    def delta(self, data: dict[str, Any]) -> str:
        """What to print for one delta; each model call starts on a line of its own.

        Reasoning is not shown, and neither is what a sub-agent tells its parent alone, nor a summary.
        """
        text: str | None = data.get("text")
        if not text or "purpose" in data or ("execution" in data and not data.get("heard")):
            return ""
        line_break = ""
        if data["call_id"] != self._call_id:
            line_break = "\n" if self._shown and not self._shown.endswith("\n") else ""
            self._call_id, self._shown = data["call_id"], ""
        self._shown += text
        return line_break + text

    def end(self, answer: str | None) -> str:
        """The rest: nothing more than a line end when the answer was streamed, the whole answer when it was not."""
        if answer is None or answer == self._shown:
            return "\n" if self._shown and not self._shown.endswith("\n") else ""
        line_break = "\n" if self._shown and not self._shown.endswith("\n") else ""
        return line_break + answer + ("" if answer.endswith("\n") else "\n")
