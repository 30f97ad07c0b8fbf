"""Workers in Python and on HTTP, over loopback (C31, C34)."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from agentflow import WorkerFailed
from agentflow.agents import worker
from agentflow.agents.worker import FailedAttempt, HttpWorker, PythonWorker, is_open_to_reading, pause_after
from agentflow.testing import StallMeter
from agentflow.worker import verify

REQUEST = {"session_id": "s-1", "trigger": {"type": "session.start"}}


def unheard(failed: FailedAttempt) -> None:
    """For tests that look at something else."""


class Service:
    """Answers with the next `(status, body)`, with `headers`; keeps what it was sent."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes]] = []
        self.headers: dict[str, str] = {}
        self.seen: list[tuple[dict[str, str], bytes]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                service.seen.append((dict(self.headers), body))
                status, answer = service.answers.pop(0)
                self.send_response(status)
                for name, value in {"Content-Length": str(len(answer)), **service.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                """Nothing on standard error."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/decide"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setattr(worker, "MAX_PAUSE_SECS", 0.001)
    started = Service()
    yield started
    started.close()


def test_a_request_is_signed_json_by_post(service: Service) -> None:
    service.answers = [(200, b'{"actions": []}')]
    assert asyncio.run(HttpWorker(service.url, "hush").decide(REQUEST, unheard)) == {"actions": []}
    headers, body = service.seen[0]
    assert json.loads(body) == {**REQUEST, "attempts": 1}
    assert headers["Content-Type"] == "application/json"
    assert verify("hush", headers, body)
    assert not verify("other", headers, body)


def test_without_a_secret_nothing_is_signed(service: Service) -> None:
    service.answers = [(200, b"{}")]
    asyncio.run(HttpWorker(service.url).decide(REQUEST, unheard))
    assert not [name for name in service.seen[0][0] if name.startswith(("X-Agentflow", "traceparent"))]


def test_passing_failures_are_tried_again_and_the_attempts_counted(service: Service) -> None:
    """D29: and each is told, with the time of the next."""
    service.answers = [(503, b""), (429, b""), (200, b"{}")]
    told: list[FailedAttempt] = []
    assert asyncio.run(HttpWorker(service.url).decide(REQUEST, told.append)) == {}
    assert told == [FailedAttempt(1, "status 503", 0.001), FailedAttempt(2, "status 429", 0.001)]
    assert [json.loads(body)["attempts"] for _, body in service.seen] == [1, 2, 3]


def test_after_ten_attempts_the_worker_has_failed(service: Service) -> None:
    service.answers = [(500, b"")] * 11
    with pytest.raises(WorkerFailed, match=r"failed 10 times, at last: status 500"):
        asyncio.run(HttpWorker(service.url).decide(REQUEST, unheard))
    assert len(service.answers) == 1


@pytest.mark.parametrize("answer", [(400, b"no"), (401, b""), (302, b""), (200, b"not json")])
def test_what_does_not_pass_is_not_tried_again(service: Service, answer: tuple[int, bytes]) -> None:
    service.answers = [answer]
    with pytest.raises(WorkerFailed):
        asyncio.run(HttpWorker(service.url).decide(REQUEST, unheard))
    assert len(service.seen) == 1


def test_an_encoded_answer_is_refused(service: Service) -> None:
    """Z3: a few bytes could become a gigabyte."""
    service.answers, service.headers = [(200, b"{}")], {"Content-Encoding": "gzip"}
    with pytest.raises(WorkerFailed, match="encoded as 'gzip'"):
        asyncio.run(HttpWorker(service.url).decide(REQUEST, unheard))
    assert service.seen[0][0]["Accept-Encoding"] == "identity"


def test_an_answer_is_read_up_to_its_limit(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Z3."""
    monkeypatch.setattr(worker, "_MAX_BYTES", 10)
    service.answers = [(200, b'{"state": 1}')]
    with pytest.raises(WorkerFailed, match="more than 10 bytes"):
        asyncio.run(HttpWorker(service.url).decide(REQUEST, unheard))


@pytest.mark.parametrize("levels", [65, 1_000, 100_000])
def test_an_answer_that_is_nested_deeply_is_refused(service: Service, levels: int) -> None:
    """Z3: by either kind of worker, and never with a RecursionError."""
    service.answers = [(200, b'{"state": ' + b"[" * levels + b"]" * levels + b"}")]
    with pytest.raises(WorkerFailed, match="nested"):
        asyncio.run(HttpWorker(service.url).decide(REQUEST, unheard))
    with pytest.raises(WorkerFailed, match="nested"):
        asyncio.run(PythonWorker("deep", lambda request: {"state": _deep(levels)}).decide(REQUEST, unheard))


def _deep(levels: int) -> list[Any]:
    held: list[Any] = []
    for _ in range(levels):
        held = [held]
    return held


def test_an_answer_of_too_many_values_is_refused(service: Service) -> None:
    """Z3"""
    service.answers = [(200, b"[" + b"1," * 200_000 + b"1]")]
    with pytest.raises(WorkerFailed, match="more than 200,000 values"):
        asyncio.run(HttpWorker(service.url).decide(REQUEST, unheard))
    with pytest.raises(WorkerFailed, match="more than 200,000 values"):
        asyncio.run(PythonWorker("wide", lambda request: [1] * 300_000).decide(REQUEST, unheard))


def test_an_answer_of_megabytes_is_read_beside_the_loop(service: Service) -> None:
    """Z3"""
    service.answers = [(200, json.dumps({"state": ["x" * 10_000] * 1_000}).encode())]
    with StallMeter(limit=0.05):
        answer = asyncio.run(HttpWorker(service.url).decide(REQUEST, unheard))
    assert len(answer["state"]) == 1_000


def test_a_proxy_of_the_environment_is_not_used(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Z7."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    service.answers = [(200, b"{}")]
    assert asyncio.run(HttpWorker(service.url).decide(REQUEST, unheard)) == {}


@pytest.mark.parametrize(("url", "secret", "is_open"), [
    ("http://worker.example/decide", "s", True), ("https://worker.example/decide", "s", False),
    ("http://127.0.0.1:8080/", "s", False), ("http://localhost/", "s", False), ("http://[::1]/", "s", False),
    ("http://127.0.0.1.example/", "s", True), ("http://worker.example/decide", None, False),
])  # fmt: skip
def test_a_signed_request_in_the_clear_is_noticed(url: str, secret: str | None, is_open: bool) -> None:
    """Z7."""
    assert is_open_to_reading(url, secret) is is_open


def test_nobody_there_is_a_passing_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "MAX_PAUSE_SECS", 0.001)
    gone = Service()
    gone.close()
    with pytest.raises(WorkerFailed, match="failed 10 times"):
        asyncio.run(HttpWorker(gone.url).decide(REQUEST, unheard))


def test_an_attempt_has_a_time_limit(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "ATTEMPT_SECS", 0.0)
    monkeypatch.setattr(worker, "ATTEMPTS", 2)
    service.answers = [(200, b"{}")] * 2
    with pytest.raises(WorkerFailed, match="no answer within"):
        asyncio.run(HttpWorker(service.url).decide(REQUEST, unheard))


def test_the_pauses_double_and_stay_below_thirty_seconds() -> None:
    assert [pause_after(attempt) for attempt in (1, 2, 3, 4, 5, 9)] == [2, 4, 8, 16, 30, 30]


def test_the_secret_is_not_shown() -> None:
    assert "hush" not in repr(HttpWorker("http://x", "hush"))


def test_a_function_gets_a_copy_and_its_answer_is_one() -> None:
    def decide(request: dict[str, Any]) -> Any:
        request["trigger"]["type"] = "changed"
        return request

    answer = asyncio.run(PythonWorker("w:decide", decide).decide(REQUEST, unheard))
    assert answer["trigger"]["type"] == "changed"
    assert REQUEST["trigger"] == {"type": "session.start"}


def test_a_function_may_be_async_and_return_nothing() -> None:
    async def decide(request: dict[str, Any]) -> None:
        await asyncio.sleep(0)

    assert asyncio.run(PythonWorker("w:decide", decide).decide(REQUEST, unheard)) == {}


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), KeyboardInterrupt()])
def test_whatever_a_function_raises_is_a_failed_worker(error: BaseException) -> None:
    def decide(request: dict[str, Any]) -> None:
        raise error

    with pytest.raises(WorkerFailed, match=type(error).__name__):
        asyncio.run(PythonWorker("w:decide", decide).decide(REQUEST, unheard))


def test_an_answer_that_is_not_json_is_refused() -> None:
    with pytest.raises(WorkerFailed, match="not JSON"):
        asyncio.run(PythonWorker("w:decide", lambda request: {"x": object()}).decide(REQUEST, unheard))
