"""F49: the bytes of a picture go with the last session that has them, out of the file and its log too."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from agentflow import AgentNotFound
from agentflow.testing import Kit
from tests.pictures import png

PICTURE = base64.b64encode(png(said=b"canary of the pixels 0123456789" * 40)).decode()
PART = PICTURE[140:190].encode()
SEEN = {
    "id": "m-1", "role": "user",
    "content": [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
    ],
}  # fmt: skip


@pytest.fixture
def agentflow_db(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'sessions.db'}"


def is_stored(kit: Kit) -> bool:
    """Whether the bytes are anywhere in the database's files."""
    file = Path(kit._db.removeprefix("sqlite:///"))
    return any(PART in part.read_bytes() for part in file.parent.glob(f"{file.name}*"))


def seen(kit: Kit, **settings: Any) -> None:
    """Two sessions with the picture, in one of them on two branches."""
    kit.agent(replies=lambda request: {"text": "a cat"}, settings=settings)
    for session in ("s-1", "s-2"):
        kit.send(SEEN, session)
    kit.view([SEEN, {"role": "user", "content": "and again"}])


def test_bytes_go_with_the_last_session_that_has_them_and_not_before(agentflow: Kit) -> None:
    """R12, Z8"""
    seen(agentflow)
    assert is_stored(agentflow)
    agentflow.run(agentflow.runtime.delete("s-1"))
    assert is_stored(agentflow)
    assert agentflow.requests[-1].messages[1]["content"] == SEEN["content"]
    agentflow.run(agentflow.runtime.delete("s-2"))
    assert not is_stored(agentflow)


def test_an_unobserved_turn_and_a_refused_request_leave_none(agentflow: Kit) -> None:
    """R5"""
    seen(agentflow, observability=False)
    with pytest.raises(AgentNotFound):
        agentflow.send(SEEN, "s-3", agent_id="nobody")
    assert not is_stored(agentflow)
