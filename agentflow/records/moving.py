"""Sessions as files, out of a database and into it (R12)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, cast

from agentflow import clock
from agentflow.config.last_good import AgentFiles
from agentflow.conversation import arguments
from agentflow.errors import AgentflowError, SessionTaken, no_session
from agentflow.portable.brought import Brought
from agentflow.portable.markdown import markdown
from agentflow.portable.page import page
from agentflow.portable.redacted import redacted
from agentflow.portable.written import json_lines, json_object
from agentflow.secrets.known import learn_environment
from agentflow.store.ledger_protocol import Ledger
from agentflow.store.portable import Portable

FORMATS: Mapping[str, Callable[[Portable], Iterator[str]]] = {
    "md": markdown,
    "json": json_object,
    "jsonl": json_lines,
    "html": page,
}
IN_MEMORY = 8_000_000
"""Bytes; what is more waits in a file without a name until it is handed over."""


async def export(ledger: Ledger, files: AgentFiles, session_id: str, format_: str) -> BinaryIO:
    """The session as it is at one moment, in an open file at its start. Raises `SessionNotFound`, `InvalidInput`."""
    write = FORMATS[arguments.one_of(format_, "format", tuple(FORMATS))]
    file = cast(BinaryIO, tempfile.SpooledTemporaryFile(IN_MEMORY))  # noqa: SIM115  # handed over open

    def put(session: Portable) -> None:
        _learn_secrets(files, session.session["agent"])
        file.seek(0)
        file.truncate()
        file.writelines(piece.encode() for piece in write(redacted(session)))

    try:
        if not await ledger.take_out(arguments.session_id(session_id), put):
            raise no_session(session_id)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def _learn_secrets(files: AgentFiles, agent: str) -> None:
    """Those of the environment, and of the agent's file as it is now, where there is one that can be read."""
    learn_environment(os.environ)
    with contextlib.suppress(AgentflowError):
        files.get(agent)


async def bring(ledger: Ledger, file: BinaryIO, session_id: str | None) -> dict[str, Any]:
    """Insert the session of the file, under this id or its own. Raises `SessionTaken`, `InvalidInput`; then nothing was
    written.
    """
    brought = await asyncio.to_thread(Brought, file, session_id)
    session = brought.session
    if not await ledger.put_in(session["id"], brought.open, clock.instant()):
        raise SessionTaken(
            f"There is a session {session['id']!r} already, and an import changes none: bring it in under another id.",
            detail={"session_id": session["id"]},
        )
    return {"session_id": session["id"], "agent_id": session["agent"], "rows": brought.rows}
