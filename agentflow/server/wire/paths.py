"""Names in paths: percent-encoded there, so that a session's id may have any character, also a slash (F20)."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import unquote

from fastapi import Path
from starlette.convertors import Convertor, register_url_convertor

from agentflow.server.problems import Misfits


class _Encoded(Convertor[str]):
    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return unquote(value, errors="replace")

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("name", _Encoded())

_DOTS = (".", "..")


def session_name(session_id: str) -> str:
    """The id of a session as clients may choose it. Raises `Misfits`."""
    if session_id in _DOTS:
        raise Misfits([{"pointer": "/session_id", "detail": "a session id is not a dot or two."}])
    return session_id


AgentName = Annotated[str, Path(description="The agent's name.")]
TurnId = Annotated[str, Path(description="One of the turn's ids, percent-encoded.")]
SessionId = Annotated[str, Path(description="The session's id, percent-encoded.")]
