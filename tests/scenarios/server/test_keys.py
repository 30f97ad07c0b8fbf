"""`Idempotency-Key`: sent again, answered again, done once (S7, F07)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from agentflow.records.repeats import Repeats
from agentflow.testing import Kit
from tests.asgi import Answer
from tests.scenarios.server.conftest import Server

ASK = {"tool_calls": [{"name": "ask_user", "arguments": {"questions": [{"header": "Plan", "question": "Which?"}]}}]}
CHECKOUT = "/sessions/s-1/checkout"


def keyed(server: Server, target: str, given: Any, key: str = "k-1", head: Any = ()) -> Answer:
    return server.post(target, given, [("idempotency-key", key), *head])


def test_the_same_request_is_answered_as_it_was_and_done_once(agentflow: Kit, server: Server) -> None:
    agentflow.agent(replies=[{"text": "One."}, {"text": "Two."}])
    agentflow.send("Hi.")
    agentflow.send("And?")
    first, last = agentflow.path()[0]["id"], agentflow.path()[-1]["id"]
    moved = keyed(server, CHECKOUT, {"message_id": first})
    assert (moved.status, moved.json["moved"]) == (200, True)
    assert server.post(CHECKOUT, {"message_id": last}).json["moved"]
    body = b' {"message_id":  ' + json.dumps(first).encode() + b"}"
    headers = [("idempotency-key", "k-1"), ("content-type", "application/json")]
    again = server.ask("POST", f"/api/v1{CHECKOUT}", headers=headers, body=[body])
    assert (again.status, sorted(again.headers), again.body) == (moved.status, sorted(moved.headers), moved.body)
    assert agentflow.status()["head_id"] == last
    other = keyed(server, CHECKOUT, {"message_id": last})
    assert (other.status, other.code) == (422, "key_reused")
    assert keyed(server, "/sessions/s-1/stop", {}).json["outcome"] == "nothing_to_stop"  # another route, another name
    agentflow.advance(24 * 3600 + 1)
    assert keyed(server, CHECKOUT, {"message_id": last}).status == 200


def test_what_had_no_effect_is_not_kept(agentflow: Kit, server: Server) -> None:
    """A refusal is judged anew, and a key belongs to one subject."""
    agentflow.agent(replies=[{"text": "One."}])
    assert keyed(server, CHECKOUT, {"message_id": "id-1"}).code == "session_not_found"
    agentflow.send("Hi.")
    head = agentflow.path()[-1]["id"]
    assert keyed(server, CHECKOUT, {"message_id": head}).status == 200
    for key in ("", "k" * 256, "k\n1", "schlüssel"):
        assert keyed(server, CHECKOUT, {"message_id": head}, key).json["errors"][0]["parameter"] == "Idempotency-Key"


def test_a_request_that_runs_is_not_begun_twice_unless_its_process_is_gone(agentflow: Kit, server: Server) -> None:
    agentflow.agent()
    dead, ours = (Repeats(agentflow.runtime._store.ledger) for _ in range(2))
    assert agentflow.run(dead.begin("name", "a")).state == "mine"
    assert agentflow.run(ours.begin("name", "a")).state == "running"
    assert agentflow.run(ours.begin("name", "b")).state == "other"
    dead._owner.close()
    assert agentflow.run(ours.begin("name", "a")).state == "mine"
    agentflow.run(dead.keep("name", "late"))
    assert agentflow.run(ours.begin("name", "a")).state == "running"
    agentflow.run(ours.keep("name", "done"))
    agentflow.run(ours.drop("name"))
    assert agentflow.run(dead.begin("name", "a")) == ("kept", "done")
    agentflow.advance(24 * 3600 + 1)
    agentflow.run(ours.forget())
    assert agentflow.run(dead.begin("name", "b")).state == "mine"


def test_inputs_and_answers_with_a_key_are_one_turn_and_one_answer(agentflow: Kit, server: Server) -> None:
    """C19, C29: by the id of their turn."""
    agentflow.agent(replies=[ASK, {"text": "Pro."}])
    given = {"type": "client.message", "agent_id": "test", "message": {"role": "user", "content": "Hi."}}
    first, again = (keyed(server, "/sessions/s-1/inputs", given).json for _ in range(2))
    assert (first["turn_id"], first["replayed"], again["replayed"]) == (again["turn_id"], False, True)
    agentflow.result(first["turn_id"])
    answers = [keyed(server, "/sessions/s-1/answer", {"text": "Pro"}) for _ in range(2)]
    agentflow.result(first["turn_id"])
    assert [(each.status, each.json["replayed"]) for each in answers] == [(202, False), (202, True)]


def test_a_kept_answer_is_given_to_nobody_else(agentflow: Kit, serve: Callable[..., Server]) -> None:
    """S10: whose session it is comes first, and a token's text is never kept."""
    key = ("authorization", "Bearer a-key-of-twenty-chars")
    server = serve(keys=("a-key-of-twenty-chars",), token_secret="s" * 32)
    agentflow.agent(replies=[{"text": "One."}])
    made = [keyed(server, "/tokens", {"subject": name}, head=[key]).json["token"] for name in ("ada", "bob", "bob")]
    agentflow.advance(1)
    ada, bob = (("authorization", f"Bearer {token}") for token in made[:2])
    server.post("/run", {"agent_id": "test", "session_id": "s-1", "message": "Hi."}, [ada])
    given = {"message_id": agentflow.path()[0]["id"]}
    assert keyed(server, CHECKOUT, given, head=[ada]).status == 200
    assert keyed(server, CHECKOUT, given, head=[bob]).code == "session_not_found"
    assert keyed(server, "/tokens", {"subject": "eve"}, head=[key]).status == 201
