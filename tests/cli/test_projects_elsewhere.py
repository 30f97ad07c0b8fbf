"""Z4: who only looks at a project from elsewhere sends nothing to the host that its file names as the database."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Command

CANARY = "canary-of-the-environment"
READING = {
    "sessions ls": ["sessions", "ls"],
    "sessions show": ["sessions", "show", "s"],
    "sessions tree": ["sessions", "tree", "s"],
    "sessions export": ["sessions", "export", "s"],
    "sessions snapshots": ["sessions", "snapshots", "s"],
    "events": ["events", "s"],
    "trace": ["trace", "s"],
    "trace --request": ["trace", "s", "--request", "1"],
    "insights": ["insights"],
    "db check": ["db", "check"],
    "doctor": ["doctor"],
}


class Host:
    """Listens, and keeps what it is sent before it hangs up."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self.heard.append(connection.recv(1000))

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    monkeypatch.setenv("PG_PASSWORD", CANARY)
    listening = Host()
    yield listening
    listening.close()


@pytest.fixture
def downloaded(project: Path, host: Host) -> Path:
    folder = project / "downloaded"
    folder.mkdir()
    return folder


def names(folder: Path, url: str) -> None:
    (folder / "agentflow.yaml").write_text(f"db: {url}\n")


@pytest.mark.parametrize("name", READING)
def test_the_host_is_named_and_not_asked(agentflow: Command, downloaded: Path, host: Host, name: str) -> None:
    names(downloaded, f"'postgresql://me:${{PG_PASSWORD}}@127.0.0.1:{host.port}/x'")
    done = agentflow(*READING[name], "--project", "downloaded")
    assert (done.code, host.heard) == (1 if name == "doctor" else 2, []), done.err
    assert f"127.0.0.1:{host.port}" in done.err + done.out
    assert "--db" in done.err + done.out
    assert CANARY not in done.err + done.out


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://127.0.0.1:PORT/${PG_PASSWORD}",
        "postgresql:///x?host=127.0.0.1&port=PORT&password=${PG_PASSWORD}",
        "'postgresql://${PG_PASSWORD}@127.0.0.1:PORT'",
        "'postgresql://127.0.0.1:PORT/x'",
        "'sqlite://127.0.0.1:PORT/${PG_PASSWORD}'",
        "'http://127.0.0.1:PORT/${PG_PASSWORD}'",
    ],
)
def test_however_it_is_written(agentflow: Command, downloaded: Path, host: Host, url: str) -> None:
    """Without a variable in it too: the driver takes users and passwords of the environment by itself."""
    names(downloaded, url.replace("PORT", str(host.port)))
    done = agentflow("sessions", "ls", "--project", "downloaded")
    assert (done.code, host.heard) == (2, []), done.err
    assert CANARY not in done.err


def test_who_works_in_the_project_asks_its_host(
    agentflow: Command, downloaded: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    names(downloaded, f"'postgresql://me:${{PG_PASSWORD}}@127.0.0.1:{host.port}/x?sslmode=disable'")
    (downloaded / "notes").mkdir()
    monkeypatch.chdir(downloaded / "notes")
    assert agentflow("sessions", "ls", "--project", "..").code == 1
    assert host.heard[0] != b""


def test_a_database_that_the_command_line_names_is_asked(agentflow: Command, downloaded: Path, host: Host) -> None:
    names(downloaded, "'postgresql://nobody.invalid/x'")
    given = f"postgresql://me@127.0.0.1:{host.port}/x?sslmode=disable"
    assert agentflow("sessions", "ls", "--project", "downloaded", "--db", given).code == 1
    assert len(host.heard) == 1


def test_a_file_in_a_project_elsewhere_is_read(agentflow: Command, downloaded: Path, host: Host) -> None:
    names(downloaded, "sqlite:///sessions.db")
    assert agentflow("sessions", "ls", "--project", "downloaded").code == 0
