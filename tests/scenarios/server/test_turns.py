"""Turns over HTTP: started, followed, paused, answered, stopped."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agentflow.testing import Kit
from tests.asgi import frames
from tests.scenarios.server.conftest import Server

ASK = {"tool_calls": [{"name": "ask_user", "arguments": {"questions": [{"header": "Plan", "question": "Which?"}]}}]}
STREAM = [("accept", "text/event-stream")]


def started(server: Server, session: str = "s-1", message: Any = "Hi.", **more: Any) -> Any:
    return server.post("/run", {"agent_id": "test", "session_id": session, "message": message, **more})


def test_run_answers_the_events_of_its_turn_as_they_are_logged(agentflow: Kit, server: Server) -> None:
    """S6: the frames are the log, each by its number; deltas have none; the stream ends with the turn's `done`."""
    agentflow.agent(replies=[{"text": "Hello.", "delay_secs": 0.05}])
    answer = started(server)
    assert (answer.status, answer.header("content-type")) == (200, "text/event-stream; charset=utf-8")
    assert answer.header("cache-control") == "no-store, no-transform"
    assert answer.header("location") == f"/api/v1/sessions/s-1/turns/{agentflow.events()[0].turn_id}"
    assert answer.body.startswith(b"retry: 1000\n\n")
    told = frames(answer.body)
    logged = [each for each in told if "id" in each]
    log_id = agentflow.status()["log_id"]
    assert [json.loads(each["data"]) for each in logged] == [event.as_dict() for event in agentflow.events()]
    assert [each["id"] for each in logged] == [f"{number}-{log_id}" for number in range(1, len(logged) + 1)]
    assert {each["event"] for each in told if "id" not in each} == {"llm.delta"}
    assert told[-1]["event"] == "done"


def test_run_without_a_stream_answers_the_result(agentflow: Kit, server: Server) -> None:
    agentflow.agent(replies=[{"text": "Hello."}])
    answer = started(server, stream=False)
    assert (answer.status, answer.json["state"], answer.json["answer"]) == (200, "done", "Hello.")
    assert answer.json["schema"] == "agentflow.result/1"


def test_a_run_without_a_session_has_one_of_its_own_which_the_same_request_finds_again(
    agentflow: Kit, server: Server
) -> None:
    agentflow.agent(replies=[{"text": "One."}])
    asked = {"agent_id": "test", "message": "Hi.", "stream": False}
    first, again = (server.post("/run", {**asked, "turn_id": "t-1"}).json for _ in range(2))
    assert first == again
    by_key = [server.post("/run", asked, [("idempotency-key", key)]).json["session_id"] for key in ("k", "l")]
    assert len({first["session_id"], *by_key}) == 3


def test_an_input_is_received_and_its_turn_can_be_followed(agentflow: Kit, server: Server) -> None:
    """S5: 202 with the receipt, and where the turn is; the turn is nobody's child (T26)."""
    agentflow.agent(replies=[{"text": "Hello."}])
    given = {
        "type": "client.message",
        "agent_id": "test",
        "turn_id": "t/1",
        "message": {"role": "user", "content": "Hi."},
    }
    answer = server.post("/sessions/a%2Fb/inputs", given)
    assert (answer.status, answer.json["turn_id"]) == (202, "t/1")
    assert answer.header("location") == "/api/v1/sessions/a%2Fb/turns/t%2F1"
    told = frames(server.get("/sessions/a%2Fb/events?turn_id=t%2F1", STREAM).body)
    assert (told[0]["event"], told[-1]["event"]) == ("session.created", "done")
    again = server.post("/sessions/a%2Fb/inputs", given, STREAM)
    assert [each["event"] for each in frames(again.body)] == [each["event"] for each in told if "id" in each]


def test_a_pause_is_seen_and_answered(agentflow: Kit, server: Server) -> None:
    agentflow.agent(replies=[ASK, {"text": "Pro it is."}])
    assert started(server, stream=False).json["state"] == "paused_ask_user"
    status = server.get("/session-status?sessionId=s-1").json
    assert (status["pending"], status["status"], status["pendingKind"]) == (True, "PENDING_USER_INPUT", "questions")
    assert set(status) == {
        "pending", "questions", "question", "toolCallId", "status", "turnId", "todos", "pendingKind", "calls",
    }  # fmt: skip
    answer = server.post("/sessions/s-1/answer", {"answers": {"Plan": ["Pro"]}})
    assert (answer.status, answer.json["turn_id"]) == (202, status["turnId"])
    agentflow.result(status["turnId"])
    late = server.post("/sessions/s-1/answer", {"tool_call_id": status["toolCallId"], "text": "Free"})
    assert (late.status, late.code) == (409, "question_already_answered")


def test_a_turn_is_stopped_by_the_name_of_the_seed(agentflow: Kit, server: Server) -> None:
    agentflow.agent(replies=[ASK])
    started(server, stream=False)
    turn_id = agentflow.status()["turn_id"]
    assert server.post("/stop-session?sessionId=s-1").json == {"outcome": "stopped", "turnId": turn_id}
    assert server.post("/stop-session?sessionId=s-1").json == {"outcome": "nothing_to_stop", "turnId": None}


def test_a_busy_session_refuses_before_a_stream_opens(agentflow: Kit, server: Server) -> None:
    """C18, S5."""
    may_end = asyncio.Event()

    async def hold() -> str:
        await may_end.wait()
        return "held"

    agentflow.agent(tools=[hold], replies=[{"tool_calls": [{"name": "hold", "arguments": {}}]}, {"text": "Done."}])
    server.open()  # another flow makes another runtime
    receipt = agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "Hi."}})
    answer = started(server)
    assert (answer.status, answer.code, answer.json["turn_id"]) == (409, "turn_already_active", receipt.turn_id)
    may_end.set()
    assert agentflow.result(receipt.turn_id).answer == "Done."


def test_a_draining_server_starts_no_turn(agentflow: Kit, server: Server) -> None:
    """S2: 503 with Retry-After, and not ready any more."""
    agentflow.agent()
    assert server.ask("GET", "/readyz").status == 200
    assert server.app.serving is not None
    server.run(server.app.serving.drain())
    answer = started(server)
    assert (answer.status, answer.code, answer.header("retry-after")) == (503, "server_closing", "5")
    assert server.ask("GET", "/readyz").status == 503
    assert server.ask("GET", "/healthz").json == {"status": "ok"}
