"""Everything that is read, moved and kept over HTTP has the shape of Python (S5, S7)."""

from __future__ import annotations

from typing import Any

from agentflow.testing import Kit
from tests.scenarios.server.conftest import Server
from tests.scenarios.support import rows

MESSAGE = {"role": "user", "content": "Hi."}


def json_of(kit: Kit, work: Any) -> Any:
    return kit.run(work)


def test_what_is_read_is_what_python_reads(agentflow: Kit, server: Server) -> None:
    agentflow.agent(replies=[{"text": "Hello."}], description="Greets.", inputs={"city": {"type": "string"}})
    result, runtime = agentflow.send("Hi."), agentflow.runtime
    of_turn = f"/sessions/s-1/turns/{result.turn_id}"
    read = {
        "/sessions/s-1": runtime.session("s-1"),
        "/sessions/s-1/tree": runtime.tree("s-1"),
        of_turn: runtime.turn("s-1", result.turn_id),
        f"{of_turn}/trace": runtime.trace("s-1", result.turn_id),
        f"{of_turn}/requests/1": runtime.records.request("s-1", 1, turn=result.turn_id),
        "/sessions/s-1/explain": runtime.explain("test", "s-1"),
        "/agents": None,
        "/insights?by=model": runtime.records.insights(by="model"),
    }
    for target, work in read.items():
        answer = server.get(target)
        assert answer.status == 200, target
        if work is not None:
            assert answer.json == agentflow.run(work), target
    assert server.get(of_turn).json["result"] == result.as_dict()
    assert server.get("/agents/test").json["inputs"]["city"]["type"] == "string"
    assert {"name": "test", "description": "Greets."}.items() <= server.get("/agents").json["agents"][-1].items()
    assert server.get("/sessions/s-1/turns").json["steps"][0]["turn_id"] == result.turn_id
    (listed,) = server.get("/sessions?page_size=1").json["sessions"]
    assert listed == agentflow.run(runtime.sessions())[0]


def test_two_turns_are_compared_and_a_text_is_read_by_its_hash(
    agentflow: Kit, server: Server, agentflow_db: str
) -> None:
    """R5, R6: by number or id, as Python compares them."""
    agentflow.agent(replies=[{"text": "One."}, {"text": "Two."}])
    agentflow.send("Hi.")
    second, records = agentflow.send("And?"), agentflow.runtime.records
    compared = server.get(f"/sessions/s-1/diff?a=1&b={second.turn_id}&call=1")
    assert compared.json == agentflow.run(records.diff(("s-1", 1), ("s-1", second.turn_id), call=1))
    assert compared.json["history"]
    ((digest, text), *_) = rows(agentflow_db, "SELECT hash, body FROM blob ORDER BY hash")
    assert server.get(f"/sessions/s-1/blobs/{digest}").json == {"session_id": "s-1", "hash": digest, "text": text}
    assert server.get("/sessions/s-1/blobs/none").code == "not_found"
    assert server.get("/sessions/s-1/diff?a=1&b=9").code == "turn_not_found"
    assert server.get("/sessions/s-1/diff?a=1").code == "invalid_input"


def test_what_is_not_there_is_404_and_what_is_malformed_422(agentflow: Kit, server: Server) -> None:
    agentflow.agent(replies=[{"text": "Hello."}])
    agentflow.send("Hi.")
    for target, code in {
        "/sessions/nobody": "session_not_found",
        "/sessions/s-1/turns/none": "turn_not_found",
        "/sessions/s-1/turns/none/trace": "turn_not_found",
        "/agents/nobody": "agent_not_found",
        "/agents/..%2F..": "agent_not_found",
    }.items():
        assert (server.get(target).status, server.get(target).code) == (404, code), target
    assert server.post("/sessions/s-1/checkout", {"message_id": "none"}).code == "message_not_found"
    assert server.post("/sessions/s-1/calls/none/result", {"result": 1}).code == "call_not_found"
    assert server.get("/insights?since=never").code == "invalid_input"
    assert server.get("/sessions?page_token=junk").code == "invalid_input"
    assert server.get("/sessions?page_size=0").code == "invalid_input"
    for name in (".", ".."):
        assert server.post("/run", {"agent_id": "test", "message": "Hi.", "session_id": name}).code == "invalid_input"


def test_a_state_that_the_client_has_is_not_sent_again_and_an_old_one_is_not_answered(
    agentflow: Kit, server: Server
) -> None:
    """S7: `ETag`, `If-None-Match`, and `If-Match` inside the claim."""
    agentflow.agent(replies=[{"text": "One."}, {"text": "Two."}])
    agentflow.send("Hi.")
    first = server.get("/sessions/s-1")
    tag = str(first.header("etag"))
    assert tag == f'"{agentflow.path()[-1]["id"]}.{agentflow.status()["seq"]}"'
    for target in ("/sessions/s-1", "/sessions/s-1/tree"):
        known = server.get(target, [("if-none-match", f'"x", W/{tag}')])
        assert (known.status, known.body, known.header("etag")) == (304, b"", tag)
    given = {"type": "client.message", "message": MESSAGE}
    answer = server.post("/sessions/s-1/inputs", given, [("if-match", tag)])
    agentflow.result(answer.json["turn_id"])
    late = server.post("/sessions/s-1/inputs", given, [("if-match", tag)])
    assert (late.status, late.code, late.json["head_id"]) == (412, "head_moved", agentflow.path()[-1]["id"])
    moved = server.post("/sessions/s-1/checkout", {"message_id": agentflow.path()[0]["id"]}, [("if-match", tag)])
    assert moved.code == "head_moved"
    assert (
        server.post("/sessions/s-1/inputs", given, [("if-match", "junk")]).json["errors"][0]["parameter"] == "If-Match"
    )
    assert server.post("/sessions/s-1/inputs", {**given, "queue": True}, [("if-match", tag)]).code == "invalid_input"
    assert server.get("/sessions/s-1").header("etag") != tag


def test_chats_are_listed_named_rated_and_erased(agentflow: Kit, server: Server) -> None:
    """R7, R11, R12."""
    agentflow.agent(replies=[{"text": "Hello.", "repeat": True}])
    for session in ("s-1", "s-2"):
        agentflow.send("Hi.", session)
    assert server.ask("PATCH", "/api/v1/chats/s-1", {"name": "Greeting"}).json["name"] == "Greeting"
    page = server.get("/chats?search=greet").json
    assert [set(each) for each in page["chats"]] == [{"session_id", "agent_id", "name", "state", "updated_at", "turns"}]
    first = server.get("/chats?page_size=1").json
    rest = server.get(f"/chats?page_size=1&page_token={first['next_page_token']}").json
    assert {first["chats"][0]["session_id"], rest["chats"][0]["session_id"]} == {"s-1", "s-2"}
    rated = server.ask("PUT", "/api/v1/sessions/s-1/steps/1/feedback", {"rating": 4, "comment": "Good."})
    assert (rated.json["rating"], rated.json["comment"]) == ("4", "Good.") or rated.json["rating"] == 4
    assert server.ask("PUT", "/api/v1/sessions/s-1/steps/9/feedback", {"rating": "up"}).code == "step_not_found"
    assert server.ask("PUT", "/api/v1/sessions/s-1/steps/1/feedback", {"rating": 6}).code == "invalid_input"
    assert (server.ask("DELETE", "/api/v1/chats/s-1").status, server.get("/sessions/s-1").status) == (204, 404)
    assert server.ask("DELETE", "/api/v1/sessions/s-2").status == 204


def test_a_session_is_taken_out_and_brought_in_again(agentflow: Kit, server: Server) -> None:
    agentflow.agent(replies=[{"text": "Hello."}])
    agentflow.send("Hi.")
    for kind, media_type in (("json", "application/json"), ("jsonl", "application/x-ndjson")):
        file = server.post(f"/sessions/s-1/export?format={kind}")
        assert file.header("content-type") == media_type
        headers = [("content-type", media_type)]
        brought = server.ask("POST", f"/api/v1/sessions/{kind}/import", headers=headers, body=[file.body])
        assert (brought.status, brought.json["session_id"]) == (201, kind)
        again = server.ask("POST", f"/api/v1/sessions/{kind}/import", headers=headers, body=[file.body])
        assert (again.status, again.code) == (409, "session_taken")
    page = server.post("/sessions/s-1/export?format=html")
    assert page.header("content-type") == "text/plain; charset=utf-8"


def test_the_result_of_a_clients_tool_lets_the_turn_go_on(agentflow: Kit, server: Server) -> None:
    """C39."""
    tool = {"name": "locate", "description": "Where.", "parameters": {"type": "object"}}
    agentflow.agent(replies=[{"tool_calls": [{"name": "locate", "arguments": {}}]}, {"text": "Found."}])
    given = {"type": "client.message", "agent_id": "test", "message": MESSAGE, "tools": [tool]}
    turn_id = server.post("/sessions/s-1/inputs", given).json["turn_id"]
    agentflow.result(turn_id)
    status = server.get("/session-status?sessionId=s-1").json
    assert (status["pendingKind"], status["question"]) == ("tools", None)
    call = status["calls"][0]["tool_call_id"]
    assert server.post(f"/sessions/s-1/calls/{call}/result", {"result": {"at": 1}}).json["outcome"] == "settled"
    assert agentflow.result(turn_id).answer == "Found."
    assert server.post(f"/sessions/s-1/calls/{call}/result", {"result": 2}).code == "call_already_answered"
    assert server.post("/sessions/s-1/stop", {"turn_id": turn_id}).json["outcome"] == "nothing_to_stop"
