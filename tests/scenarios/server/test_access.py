"""Who is answered: hosts, pages of other origins, proxies, keys, bodies (S9, S11)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentflow.server.access import body_limits
from tests.asgi import Client
from tests.scenarios.server.conftest import Server

KEY = "a-key-of-twenty-chars"
RIGHT = ("authorization", f"Bearer {KEY}")
STREAM = ("accept", "text/event-stream")
FOREIGN_HOSTS = (
    ["evil.example:8080"], ["localhost.evil.example"], ["127.0.0.1:8080.evil"], ["127.0.0.1", "evil.example"],
    [""], ["[::1"], ["localhost:"], ["localhost:80:80"], ["user@localhost"], ["localhost..:8080"],
)  # fmt: skip
TARGETS = ("/api/v1/session-status?sessionId=s", "/api/v1/sessions/s/events", "/nowhere", "/healthz")


def test_a_host_of_another_name_is_refused_everywhere(server: Server) -> None:
    """S9, F03: also on unknown paths and before anything is looked up."""
    for hosts in FOREIGN_HOSTS:
        for target in TARGETS:
            answer = server.ask("GET", target, headers=[("host", host) for host in hosts])
            assert (answer.status, answer.code) == (421, "unknown_host"), (hosts, target)


def test_the_names_of_loopback_are_ours(server: Server) -> None:
    for host in ("LOCALHOST:8080", "localhost.", "[::1]:8080", "127.0.0.1"):
        assert server.ask("GET", "/healthz", headers=[("host", host)]).status == 200, host


def test_a_name_that_was_allowed_is_ours_too(serve: Callable[..., Server]) -> None:
    server = serve(hosts=("Chat.Example",))
    assert server.ask("GET", "/healthz", headers=[("host", "chat.example:443")]).status == 200
    assert server.ask("GET", "/healthz", headers=[("host", "other.example")]).code == "unknown_host"


def test_without_a_key_nobody_comes_through_a_proxy(server: Server, serve: Callable[..., Server]) -> None:
    """S9, F01: with one the header is believed by nobody and refused by nobody."""
    for name in ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"):
        answer = server.get("/session-status?sessionId=s", [(name, "203.0.113.9")])
        assert (answer.status, answer.code) == (403, "not_allowed")
        assert "AGENTFLOW_API_KEY" in answer.json["detail"]
        assert serve(keys=(KEY,)).get("/session-status?sessionId=s", [(name, "1"), RIGHT]).code == "session_not_found"


ORIGINS: tuple[tuple[str, list[tuple[str, str]], bool], ...] = (
    ("POST", [], True),
    ("POST", [("origin", "http://127.0.0.1:8080")], True),
    ("POST", [("sec-fetch-site", "same-origin")], True),
    ("POST", [("origin", "http://evil.example")], False),
    ("POST", [("origin", "null")], False),
    ("POST", [("origin", "http://127.0.0.1:9999")], False),
    ("POST", [("sec-fetch-site", "cross-site")], False),
    ("POST", [("sec-fetch-site", "same-site")], False),
    ("GET", [("sec-fetch-site", "cross-site")], False),
    ("GET", [("sec-fetch-site", "same-site")], True),
)


def test_without_a_key_no_page_of_another_origin_is_answered(server: Server) -> None:
    """S9: DNS rebinding and other pages' posts."""
    for method, headers, allowed in ORIGINS:
        target = "/api/v1/stop-session?sessionId=s" if method == "POST" else "/api/v1/session-status?sessionId=s"
        answer = server.ask(method, target, headers=headers)
        assert answer.code == ("session_not_found" if allowed else "not_allowed"), (method, headers)


NO_KEYS: tuple[list[tuple[str, str]], ...] = (
    [], [("authorization", KEY)], [("authorization", "Bearer")], [("authorization", "Bearer wrong")],
    [("authorization", f"Bearer Bearer {KEY}")], [("authorization", f"Basic {KEY}")], [RIGHT, RIGHT],
)  # fmt: skip


def test_a_key_is_asked_for_before_the_body_is_read(serve: Callable[..., Server]) -> None:
    """S9, S11, F18: an endless body is not begun."""
    server = serve(keys=(KEY,))
    for headers in NO_KEYS:
        body = (b"x" for _ in iter(int, 1))
        answer = server.ask("POST", "/api/v1/run", headers=[*headers, ("content-type", "application/json")], body=body)
        assert (answer.status, answer.code) == (401, "unauthorized"), headers
        assert answer.header("www-authenticate") == "Bearer"
        assert KEY.encode() not in answer.body


def test_a_key_in_the_address_is_none(serve: Callable[..., Server]) -> None:
    """S10, F19."""
    server = serve(keys=(KEY,))
    for query in (f"token={KEY}", f"api_key={KEY}", f"access_token={KEY}&follow=true"):
        answer = server.get(f"/sessions/s/events?{query}", [STREAM])
        assert (answer.code, KEY.encode() in answer.body) == ("unauthorized", False)


@pytest.mark.parametrize(
    ("server_address", "status"),
    [(("127.0.0.1", 80), 404), (("::1", 80), 404), (("10.0.0.5", 80), 401), (("/run/a.sock", None), 401)],
)
def test_without_a_key_only_loopback_is_answered(
    serve: Callable[..., Server], server_address: tuple[str, int | None], status: int
) -> None:
    """S9, F02: whoever embeds the application has to say that it is open."""
    server = serve()
    server.client = Client(server.app, server=server_address)
    target = "/session-status?sessionId=s"
    assert server.get(target).status == status
    assert server.ask("GET", "/healthz").status == 200
    opened = serve(open=True)
    opened.client = Client(opened.app, server=server_address)
    assert opened.get(target).status == 404


def test_a_server_that_is_not_open_says_how_to_open_it(server: Server) -> None:
    """S1, F10."""
    server.app.serving = None
    answer = server.get("/session-status?sessionId=s")
    assert (answer.status, answer.code) == (503, "runtime_not_open")
    assert "agentflow.server.lifespan(app)" in answer.json["detail"]
    assert server.ask("GET", "/healthz").status == 200
    assert server.ask("GET", "/readyz").status == 503


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([("content-type", "text/plain")], 415),
        ([("content-type", "application/x-www-form-urlencoded")], 415),
        ([], 415),
        ([("content-type", "application/json"), ("content-encoding", "gzip")], 415),
        ([("content-type", "application/json"), ("content-length", "99999999999")], 413),
        ([("content-type", "application/json; charset=utf-8")], 422),
    ],
)
def test_a_body_is_json_as_it_is(server: Server, headers: list[tuple[str, str]], status: int) -> None:
    """S5, S11, F18."""
    assert server.ask("POST", "/api/v1/run", headers=headers, body=[b"{}"]).status == status


def test_a_body_is_counted_as_it_arrives(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """S11, F18: also one that says nothing of its length, and no more of it than the limit is read."""
    monkeypatch.setattr(body_limits, "MOST_BYTES", 100)
    read = 0

    def endless() -> object:
        nonlocal read
        while True:
            read += 1
            yield b" " * 50

    answer = server.ask("POST", "/api/v1/run", headers=[("content-type", "application/json")], body=endless())  # type: ignore[arg-type]
    assert (answer.status, answer.code, read) == (413, "body_too_large", 3)


@pytest.mark.parametrize("body", [b"{", b"[" * 5000, b'{"a": NaN}', b"\xff", b'{"a":1}{'])
def test_what_is_no_json_is_told_so(server: Server, body: bytes) -> None:
    """S5, Z3: by its depth too."""
    answer = server.ask("POST", "/api/v1/run", headers=[("content-type", "application/json")], body=[body])
    assert (answer.status, answer.code) == (400, "invalid_json")


def test_all_complaints_are_told_with_their_places(server: Server) -> None:
    """S5."""
    answer = server.post("/run", {"agent_id": 5, "mess/age": 1})
    assert (answer.status, answer.code) == (422, "invalid_input")
    assert {each["pointer"] for each in answer.json["errors"]} == {"/agent_id", "/message", "/mess~1age"}
    given = {"type": "client.append", "agent_id": "test", "messages": [{"role": "user", "content": "a", "b.c": 1}]}
    assert server.post("/sessions/s/inputs", given).json["errors"][0]["pointer"].startswith("/messages/0")


def test_unknown_addresses_and_methods_are_problems(server: Server) -> None:
    assert server.get("/nothing").code == "route_not_found"
    wrong = server.ask("PUT", "/api/v1/run")
    assert (wrong.code, wrong.header("allow")) == ("method_not_allowed", "POST")


def test_pages_elsewhere_may_call_only_if_their_origin_was_allowed(serve: Callable[..., Server]) -> None:
    """S11: on errors too, and before a key is asked for."""
    ours, theirs = ("origin", "https://chat.example"), ("origin", "https://evil.example")
    server = serve(keys=(KEY,), origins=("https://chat.example",))
    asked = [("access-control-request-method", "POST"), ("access-control-request-headers", "authorization")]
    allowed = server.ask("OPTIONS", "/api/v1/run", headers=[ours, *asked])
    assert (allowed.status, allowed.header("access-control-allow-origin")) == (204, "https://chat.example")
    assert "Authorization" in str(allowed.header("access-control-allow-headers"))
    assert server.ask("OPTIONS", "/api/v1/run", headers=[theirs, *asked]).header("access-control-allow-origin") is None
    refused = server.get("/session-status?sessionId=s", [ours])
    assert (refused.status, refused.header("access-control-allow-origin")) == (401, "https://chat.example")
    assert (refused.header("vary"), "Location" in str(refused.header("access-control-expose-headers"))) == (
        "Origin",
        True,
    )
    foreign = server.get("/session-status?sessionId=s", [theirs, RIGHT])
    assert (foreign.header("access-control-allow-origin"), foreign.header("vary")) == (None, "Origin")
