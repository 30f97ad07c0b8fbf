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
    """The first text of a user, and the last one of the assistant before the next user message: of this turn, its
    `answer`. Null when no user has said anything; a summary of what is not read any more is no user's text.
    """
    user = reply = None
    for role, text in _texts(transcript):
        if role == "assistant":
            reply = text
        elif user is None:
            user, reply = text, None
        elif reply is not None:
            return user, reply
    return None if user is None else (user, answer)


def _texts(transcript: Transcript) -> Iterator[tuple[str, str]]:
    earlier = transcript.earlier.wire[transcript.earlier.summarized :]
    for message in (*earlier, *transcript.current.wire):
        if (text := text_of(message["content"]).strip()) and message["role"] in ("user", "assistant"):
            yield message["role"], text
