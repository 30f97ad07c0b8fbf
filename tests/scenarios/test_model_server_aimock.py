"""Three turns on a server others wrote, in both formats: aimock, where its `llmock` is installed (see the contract)."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.model_servers import Done, Project, answered, called, texts

LLMOCK = os.environ.get("AGENTFLOW_TEST_AIMOCK") or shutil.which("llmock")
pytestmark = pytest.mark.skipif(LLMOCK is None, reason="llmock is not installed")

MARKS = [{"name": "mark", "arguments": json.dumps({"place": place}), "id": f"call_{place}"} for place in "AB"]


def _usage(given: int, said: int) -> dict[str, Any]:
    """One report in the words of both formats."""
    return {"prompt_tokens": given, "completion_tokens": said, "total_tokens": given + said,
            "input_tokens": given, "output_tokens": said}  # fmt: skip


FIXTURES = [
    {
        "match": {"userMessage": "Mark A", "hasToolResult": True},
        "response": {"content": "A and B are marked.", "usage": _usage(160, 9)},
    },
    {"match": {"userMessage": "Mark A"}, "response": {"toolCalls": MARKS, "usage": _usage(100, 20)}},
    {"match": {"userMessage": "Well done"}, "response": {"content": "Thanks.", "usage": _usage(120, 3)}},
    {"match": {"userMessage": "Good night"}, "response": {"content": "Bye.", "usage": _usage(130, 2)}},
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    assert LLMOCK is not None
    folder = tmp_path_factory.mktemp("aimock")
    (folder / "fixtures.json").write_text(json.dumps({"fixtures": FIXTURES}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [LLMOCK, "-p", str(port), "-f", str(folder), "--chunk-size", "5", "--strict", "--log-level", "silent"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module", params=["openai", "anthropic"])
def talk(request: pytest.FixtureRequest, server: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The project, how the three processes ended, and the requests the server kept."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    project = Project(folder, {"openai": f"{server}/v1", "anthropic": server})
    project.write(request.param)
    urllib.request.urlopen(urllib.request.Request(f"{server}/v1/_requests", method="DELETE")).close()
    said = ("Mark A and B.", "Well done.", "Good night.")
    done = [project.run("run", "clerk", "-s", "s-1", "--json", text) for text in said]
    with urllib.request.urlopen(f"{server}/v1/_requests") as journal:
        return project, done, [one["body"]["messages"] for one in json.load(journal)]


def test_three_turns_are_answered(talk: tuple[Project, list[Done], Any]) -> None:
    project, done, _ = talk
    assert [one.code for one in done] == [0, 0, 0], [one.err for one in done]
    assert [one.result["answer"] for one in done] == ["A and B are marked.", "Thanks.", "Bye."]
    assert project.marks == ["A", "B"]


def test_the_server_received_pairs_and_only_the_current_turns_calls(talk: tuple[Any, Any, list[Any]]) -> None:
    """T7, X1."""
    _, _, received = talk
    assert len(received) == 4
    assert [len(called(messages)) for messages in received] == [0, 2, 0, 0]
    assert all(called(messages) == answered(messages) for messages in received)
    said = [text for message in received[3] if message["role"] != "system" for text in texts(message)]
    assert said == ["Mark A and B.", "A and B are marked.", "Well done.", "Thanks.", "Good night."]


def test_usage_is_what_the_server_reported(talk: tuple[Project, list[Done], Any]) -> None:
    """X6."""
    project, done, _ = talk
    rows = project.rows("SELECT input, output FROM llm_call ORDER BY requested_at")
    assert rows == [(100, 20), (160, 9), (120, 3), (130, 2)]
    assert [one.result["usage"]["total"] for one in done] == [289, 123, 132]
