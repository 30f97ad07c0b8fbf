"""`agentflow serve`: one real server, from its first line to its last (S1, S2)."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import Command

Spawn = Callable[..., subprocess.Popen[str]]
KEY = "a-key-of-twenty-chars"
RUN = {"agent_id": "slow", "session_id": "s-1", "message": "Hello"}


@pytest.fixture
def served(spawn: Spawn, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[subprocess.Popen[str], str]]:
    monkeypatch.setenv("AGENTFLOW_API_KEY", KEY)
    process = spawn("serve", "--port", "0", "--drain-secs", "5")
    assert process.stderr is not None
    line = process.stderr.readline()
    assert "the API is at http://127.0.0.1:" in line
    yield process, line.split()[-1]
    process.kill()


def test_a_signal_lets_the_turn_end_and_its_reader_read_on(served: tuple[subprocess.Popen[str], str]) -> None:
    """S2: new turns are refused in words meanwhile."""
    process, base = served
    with httpx.Client(headers={"Authorization": f"Bearer {KEY}"}, timeout=20) as client:
        with client.stream("POST", f"{base}/run", json=RUN) as answer:
            lines = answer.iter_lines()
            assert any(line == "event: llm.delta" for line in lines)
            process.send_signal(signal.SIGTERM)
            refused = client.post(f"{base}/run", json={**RUN, "session_id": "s-2"})
            while refused.status_code == 200:  # the signal is on its way
                refused = client.post(f"{base}/run", json={**RUN, "session_id": "s-2"})
            assert refused.json()["code"] == "server_closing"
            told = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
        assert (told[-1]["type"], told[-1]["data"]["answer"]) == ("done", "one two three four")
    assert process.wait(20) == 143
    assert process.stderr is not None
    err = process.stderr.read()
    assert "Traceback" not in err
    assert KEY not in err


def test_a_second_signal_ends_at_once(served: tuple[subprocess.Popen[str], str]) -> None:
    process, base = served
    with httpx.stream(
        "POST", f"{base}/run", json=RUN, headers={"Authorization": f"Bearer {KEY}"}, timeout=20
    ) as answer:
        next(answer.iter_lines())
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in (130, 143)


def test_an_address_for_others_needs_a_key(agentflow: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """S9."""
    monkeypatch.delenv("AGENTFLOW_API_KEY", raising=False)
    done = agentflow("serve", "--host", "0.0.0.0", "--port", "0")
    assert (done.code, done.out) == (2, "")
    assert "AGENTFLOW_API_KEY" in done.err


def test_a_port_in_use_is_one_line(agentflow: Command) -> None:
    """S1."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = agentflow("serve", "--port", str(port))
    assert done.code == 1
    assert f"port {port}" in done.err
    assert len(done.err.splitlines()) == 1


def test_a_project_with_a_mistake_is_one_line(agentflow: Command, project: Path) -> None:
    """S1: nothing is served, and what is wrong is said by name."""
    (project / "agents" / "echo" / "agent.yaml").write_text("name: echo\nmodel: 7\n")
    done = agentflow("serve", "--port", "0")
    assert (done.code, done.out) == (2, "")
    assert "agent 'echo' cannot run" in done.err
    assert len(done.err.splitlines()) == 1


def test_a_secret_that_is_too_short_is_refused(agentflow: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """S10."""
    monkeypatch.setenv("AGENTFLOW_TOKEN_SECRET", "short")
    done = agentflow("serve", "--port", "0")
    assert (done.code, "32 bytes" in done.err, "short" in done.err) == (2, True, False)
