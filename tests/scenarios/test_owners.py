"""Whose a session is, and which head a request was made for (S7, S10)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import HeadMoved, InvalidInput, SessionNotFound
from agentflow.testing import Kit


def message(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "client.message", "agent_id": "test", "message": {"role": "user", "content": text}, **more}


def test_the_first_inputs_owner_owns_the_session_and_to_others_it_is_not_there(agentflow: Kit) -> None:
    """S10: also where they know a turn of it; whoever asks for no user sees all."""
    agentflow.agent(replies=[{"text": "One."}, {"text": "Two."}])
    runtime = agentflow.runtime
    first = agentflow.run(runtime.submit("s-1", message("Hi.", turn_id="t-1"), owner="ada"))
    agentflow.result(first.turn_id)
    for given in (message("Me too."), message("Hi.", turn_id="t-1"), {"type": "head.move", "message_id": "id-1"}):
        with pytest.raises(SessionNotFound) as refused:
            agentflow.run(runtime.submit("s-1", given, owner="bob"))
        with pytest.raises(SessionNotFound) as unknown:
            agentflow.run(runtime.submit("s-2", {"type": "head.move", "message_id": "id-1"}, owner="bob"))
        assert refused.value.message.replace("s-1", "s-2") == unknown.value.message
    assert agentflow.run(runtime.submit("s-1", message("Hi.", turn_id="t-1"), owner="ada")).replayed
    assert agentflow.send("And?").answer == "Two."
    assert agentflow.status()["owner"] == "ada"


def test_a_list_is_of_one_owner_and_its_cursor_too(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "One.", "repeat": True}])
    for number, owner in enumerate(["ada", "ada", "bob", None]):
        receipt = agentflow.run(agentflow.runtime.submit(f"s-{number}", message("Hi."), owner=owner))
        agentflow.result(receipt.turn_id, f"s-{number}")
    page = agentflow.run(agentflow.runtime.sessions(owner="ada", limit=1))
    rest = agentflow.run(agentflow.runtime.sessions(owner="ada", limit=1, cursor=page.cursor))
    assert [page[0]["session_id"], rest[0]["session_id"], page.more, rest.more] == ["s-1", "s-0", 1, 0]
    with pytest.raises(InvalidInput):
        agentflow.run(agentflow.runtime.sessions(owner="bob", cursor=page.cursor))


def test_a_request_for_a_head_that_is_none_any_more_writes_nothing(agentflow: Kit) -> None:
    """S7: compared inside the claim."""
    agentflow.agent(replies=[{"text": "One."}, {"text": "Two."}])
    runtime = agentflow.runtime
    agentflow.result(agentflow.run(runtime.submit("s-1", message("Hi."), if_head="")).turn_id)
    head, seq = agentflow.status()["head_id"], agentflow.status()["seq"]
    assert head == agentflow.path()[-1]["id"]
    for stale in ("", agentflow.path()[0]["id"]):
        with pytest.raises(HeadMoved) as moved:
            agentflow.run(runtime.submit("s-1", message("And?"), if_head=stale))
        with pytest.raises(HeadMoved):
            agentflow.run(runtime.checkout("s-1", agentflow.path()[0]["id"], if_head=stale))
        assert moved.value.detail["head_id"] == head
    assert agentflow.status()["seq"] == seq
    receipt = agentflow.run(runtime.submit("s-1", message("And?"), if_head=head))
    assert agentflow.result(receipt.turn_id).answer == "Two."
    with pytest.raises(InvalidInput, match="if_head"):
        agentflow.run(runtime.submit("s-1", message("And?", queue=True), if_head=head))
