"""What a conversation began with, as the model has read it: for whoever names the conversation (R7). Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from agentflow.message import text_of
from agentflow.turn.run.transcript import Transcript


class Opening(NamedTuple):
    """The first user message of the path and the first reply to it, and the step after which they were looked at.

    It is made before the turn's texts are erased, and lives in memory only (R5).
    """

    session_id: str
    session_key: int
    turn: int
    step: int
    user: str
    reply: str


def first_words(transcript: Transcript, answer: str) -> tuple[str, str] | None:
    """The first text of a user and the first one of the assistant after it, else the turn's `answer`; null when no
    user has said anything. A summary of what is not read any more is no user's text.
    """
    said = _texts(transcript)
    user = next((text for role, text in said if role == "user"), None)
    if user is None:
        return None
    return user, next((text for role, text in said if role == "assistant"), answer)


def _texts(transcript: Transcript) -> Iterator[tuple[str, str]]:
    earlier = transcript.earlier.wire[transcript.earlier.summarized :]
    for message in (*earlier, *transcript.current.wire):
        if (text := text_of(message["content"]).strip()) and message["role"] in ("user", "assistant"):
            yield message["role"], text
