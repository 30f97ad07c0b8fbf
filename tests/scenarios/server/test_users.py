"""Browsers with a token: their own sessions only, through every door, and as long as the token lasts (S10)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jwt
import pytest

from agentflow.server.access.tokens import read_token
from agentflow.server.api import ROUTERS
from agentflow.testing import Kit
from tests.asgi import frames
from tests.scenarios.server.conftest import Server

KEY, SECRET = "a-key-of-twenty-chars", "s" * 32
HEAD = ("authorization", f"Bearer {KEY}")
MESSAGE = {"role": "user", "content": "Hi."}
NOW = 1_893_488_400  # where the kit's clock stands


@pytest.fixture
def keyed(serve: Callable[..., Server]) -> Server:
    return serve(keys=(KEY,), token_secret=SECRET)


def token(server: Server, subject: str, **more: Any) -> tuple[str, str]:
    made = server.post("/tokens", {"subject": subject, **more}, [HEAD])
    assert made.status == 201, made.body
    return "authorization", f"Bearer {made.json['token']}"


def test_somebody_elses_session_is_one_that_is_not_there_at_every_door(agentflow: Kit, keyed: Server) -> None:
    """F05: every route that names a session, compared byte for byte; ids of it that somebody knows help nobody."""
    agentflow.agent(replies=[{"text": "Hello."}])
    ada, bob = token(keyed, "ada"), token(keyed, "bob")
    asked = {"agent_id": "test", "session_id": "ada-1", "message": "Hi.", "turn_id": "t-1", "stream": False}
    assert keyed.post("/run", asked, [ada]).json["answer"] == "Hello."
    bodies: dict[str, Any] = {
        "inputs": {"type": "client.message", "agent_id": "test", "message": MESSAGE, "turn_id": "t-1"},
        "answer": {"text": "x"}, "checkout": {"message_id": agentflow.path("ada-1")[0]["id"]}, "stop": {},
        "result": {"result": 1}, "feedback": {"rating": "up"}, "{session_id}": {"name": "x"},
    }  # fmt: skip
    checked = 0
    for route in (route for router in ROUTERS for route in router.routes):
        path, (method,) = route.path_format, route.methods  # type: ignore[attr-defined]
        if "{session_id}" not in path or (method == "POST" and path.endswith("import")):
            continue
        filled = path.replace("{turn_id}", "t-1").replace("{call_id}", "c")
        filled = filled.replace("{order}", "1").replace("{number}", "1")
        filled += "?a=1&b=1" if path.endswith("/diff") else ""
        body = bodies.get(path.rpartition("/")[2]) if method != "GET" else None
        answers = []
        for session in ("ada-1",) if path.endswith("inputs") else ("ada-1", "nobody"):
            answer = keyed.ask(method, "/api/v1" + filled.replace("{session_id}", session), body, [bob])
            answers.append((answer.status, answer.body.replace(session.encode(), b"S")))
        assert answers[0] == answers[-1], (method, path)
        assert answers[0][0] == 404, (method, path)
        checked += 1
    assert checked > 15
    assert keyed.get("/session-status?sessionId=ada-1", [bob]).code == "session_not_found"
    assert keyed.post("/stop-session?sessionId=ada-1", None, [bob]).code == "session_not_found"
    refused = keyed.post("/run", {"agent_id": "test", "session_id": "ada-1", "message": "Hi.", "turn_id": "t-1"}, [bob])
    assert refused.code == "session_not_found"
    assert keyed.get("/sessions/ada-1", [ada]).status == keyed.get("/sessions/ada-1", [HEAD]).status == 200


def test_lists_are_ones_own(agentflow: Kit, keyed: Server) -> None:
    agentflow.agent(replies=[{"text": "Hello.", "repeat": True}])
    for user in ("ada", "bob"):
        keyed.post("/run", {"agent_id": "test", "session_id": user, "message": "Hi."}, [token(keyed, user)])
    keyed.post("/run", {"agent_id": "test", "session_id": "eve", "message": "Hi.", "owner": "eve"}, [HEAD])
    for target, name in (("/sessions", "sessions"), ("/chats", "chats")):
        asked = (("ada", "", token(keyed, "ada")), ("all", "", HEAD), ("eve", "?owner=eve", HEAD))
        pages = {who: keyed.get(target + query, [head]).json[name] for who, query, head in asked}
        listed = {who: {each["session_id"] for each in page} for who, page in pages.items()}
        assert listed == {"ada": {"ada"}, "all": {"ada", "bob", "eve"}, "eve": {"eve"}}
    assert keyed.get("/sessions?owner=bob", [token(keyed, "ada")]).code == "not_allowed"


def test_a_token_says_a_users_words_only(agentflow: Kit, keyed: Server) -> None:
    """Z6: in a view too, whose known messages are what they were."""
    agentflow.agent(replies=[{"text": "Hello.", "repeat": True}])
    agentflow.agent("other", replies=[])
    ada = token(keyed, "ada", agents=["test"])
    keyed.post("/run", {"agent_id": "test", "session_id": "s-1", "message": "Hi."}, [ada])
    view = [*agentflow.path(), {"role": "user", "content": "And?"}]
    system, assistant = ({"role": role, "content": "x"} for role in ("system", "assistant"))
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"type": "client.append", "messages": [system]}, "role_not_allowed"),
        ({"type": "client.append", "messages": [assistant, MESSAGE]}, "role_not_allowed"),
        ({"type": "client.messages", "messages": [system, *view]}, "role_not_allowed"),
        ({"type": "client.messages", "messages": [view[0], assistant, MESSAGE], "interrupt": True}, "role_not_allowed"),
        ({"type": "client.append", "messages": [MESSAGE], "record_only": True}, "not_allowed"),
        ({"type": "client.message", "message": MESSAGE, "agent_id": "other"}, "not_allowed"),
    ]
    for given, code in wrong:
        answer = keyed.post("/sessions/s-1/inputs", given, [ada])
        assert (answer.status, answer.code) == (403, code), given
    allowed = keyed.post("/sessions/s-1/inputs", {"type": "client.messages", "messages": view}, [ada])
    assert allowed.status == 202
    agentflow.result(allowed.json["turn_id"])
    for target in ("/insights", "/sessions/s-1/explain", f"/sessions/s-1/turns/{allowed.json['turn_id']}/trace"):
        assert keyed.get(target, [ada]).code == "not_allowed"
    assert keyed.post("/tokens", {"subject": "bob"}, [ada]).code == "not_allowed"
    assert [each["name"] for each in keyed.get("/agents", [ada]).json["agents"]] == ["test"]


def test_a_token_that_is_none_of_ours_is_refused(keyed: Server) -> None:
    said = {"sub": "ada", "iat": NOW, "exp": NOW + 60}
    good = jwt.encode(said, SECRET, "HS256")
    assert keyed.get("/sessions", [("authorization", f"Bearer {good}")]).status == 200
    wrong = [
        jwt.encode(said, "t" * 32, "HS256"), jwt.encode(said, None, "none"), jwt.encode(said, SECRET * 2, "HS512"),
        jwt.encode({**said, "exp": NOW}, SECRET, "HS256"), jwt.encode({"sub": "ada"}, SECRET, "HS256"),
        jwt.encode({**said, "sub": ""}, SECRET, "HS256"), jwt.encode({**said, "exp": "never"}, SECRET, "HS256"),
        good[:-4] + "AAAA", good + "x", "a.b.c", "",
    ]  # fmt: skip
    for each in wrong:
        assert read_token(SECRET, each) is None
        assert keyed.get("/sessions", [("authorization", f"Bearer {each}")]).code == "unauthorized", each


def test_tokens_need_a_secret_and_a_key(serve: Callable[..., Server]) -> None:
    off = serve(keys=(KEY,)).post("/tokens", {"subject": "ada"}, [HEAD])
    assert (off.status, off.code) == (503, "tokens_off")
    assert serve(token_secret=SECRET).post("/tokens", {"subject": "ada"}).code == "not_allowed"
    long = serve(keys=(KEY,), token_secret=SECRET).post("/tokens", {"subject": "ada", "ttl_secs": 86_401}, [HEAD])
    assert long.json["errors"][0]["pointer"] == "/ttl_secs"


def test_a_stream_ends_with_its_token_and_goes_on_with_a_new_one(agentflow: Kit, keyed: Server) -> None:
    """F04."""
    agentflow.agent(replies=[{"text": "Hello."}])
    keyed.post("/run", {"agent_id": "test", "session_id": "s-1", "message": "Hi."}, [token(keyed, "ada")])
    short, stream = token(keyed, "ada", ttl_secs=3), ("accept", "text/event-stream")

    async def read() -> bytes:
        target = "/api/v1/sessions/s-1/events?follow=true"
        async with keyed.client.stream("GET", target, None, [short, stream]) as reader:
            await reader.until(b"event: done")
            agentflow.advance(3)
            return (await reader.end()).body

    told = frames(keyed.run(read()))
    assert told[-1] == {"event": "closed", "data": '{"reason":"token_expired"}'}
    last = ("last-event-id", next(each["id"] for each in reversed(told) if "id" in each))
    assert keyed.get("/sessions/s-1/events", [short, stream, last]).code == "unauthorized"
    assert frames(keyed.get("/sessions/s-1/events", [token(keyed, "ada"), stream, last]).body) == []


def test_the_door_for_browsers_knows_whose_a_session_is(agentflow: Kit, keyed: Server) -> None:
    """S10, F05: over AG-UI too, another's session is not there, and other agents than the token's are refused."""
    agentflow.agent(replies=[{"text": "Hello.", "repeat": True}])
    ada, bob = token(keyed, "ada"), token(keyed, "bob", agents=["other"])
    view = {"threadId": "s-9", "runId": "r-1", "messages": [{"id": "u-1", "role": "user", "content": "Hi."}]}
    assert b"RUN_FINISHED" in keyed.ask("POST", "/agui/test", view, [ada]).body
    assert keyed.ask("POST", "/agui/test", {**view, "runId": "r-2"}, [bob]).code == "not_allowed"
    assert keyed.ask("POST", "/agui/test", {**view, "runId": "r-2"}, [token(keyed, "eve")]).code == "session_not_found"
    assert (
        keyed.ask("POST", "/agui/test/connect", {"threadId": "s-9"}, [token(keyed, "eve")]).code == "session_not_found"
    )
    assert keyed.ask("GET", "/agui/test/capabilities", None, [bob]).code == "not_allowed"
