"""What agentflow needs of the machine."""

from __future__ import annotations

import importlib.metadata
import socket

import pytest

from agentflow.health.check import Check
from agentflow.health.machine import machine_checks


def told(port: int = 0, python: tuple[int, int] = (3, 12)) -> dict[str, Check]:
    return {each.name: each for each in machine_checks(port, python)}


def test_here_everything_is_there() -> None:
    assert {each.state for each in told().values()} == {"ok"}


def test_an_older_python_is_too_old() -> None:
    assert told(python=(3, 10))["python"].state == "failed"
    assert told(python=(3, 11))["python"].state == "ok"


def test_a_taken_port_is_a_warning() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = told(taken.getsockname()[1])["port"]
    assert (port.state, "is taken" in port.said, "--port" in (port.fix or "")) == ("warning", True, True)


def test_a_library_that_is_missing_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        importlib.metadata, "requires", lambda _: ["click>=8", "no-such-library>=1", "absent; extra == 'dev'"]
    )
    libraries = told()["libraries"]
    assert (libraries.state, libraries.fix) == ("failed", "pip install no-such-library")
