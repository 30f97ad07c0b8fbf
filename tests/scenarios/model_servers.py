"""A project whose agent calls a model server on loopback, and its command line inside this process or as another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cli.main import run
from tests.guards.source import ROOT
from tests.scenarios.support import rows
from tests.stub_server import Answer, Call, StubServer

MODELS = {"openai": "openai/my-local-thing", "anthropic": "anthropic/my-claude"}
KEY = "horse-battery-staple"
FLOW = '''
from pathlib import Path


def mark(place: str) -> str:
    """Mark a place."""
    with Path(__file__).with_name("marks.txt").open("a") as marks:
        marks.write(place + "\\n")
    return f"{place} is marked"


def fallible(place: str) -> str:
    """Mark a place, or fail."""
    raise ValueError(f"there is no {place}")
'''
SIGNED = [
    {"type": "thinking", "thinking": "Which  place?\n", "signature": "c2lnbmVk+/=="},
    {"type": "thinking", "thinking": "", "signature": "ZW1wdHk="},
    {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix+Lw=="},
]


@dataclass(frozen=True)
class Done:
    """How a command ended; a process also says whom it called and whether it loaded litellm."""

    code: int
    out: str
    err: str
    called: Sequence[str] = ()
    litellm: bool = False

    @property
    def result(self) -> dict[str, Any]:
        """What `--json` printed."""
        result: dict[str, Any] = json.loads(self.out)
        return result

    @property
    def error(self) -> str:
        """The code of the turn's error."""
        return str(self.result["error"]["code"])


@dataclass
class Project:
    """A project with the agent `clerk`, who has the tool `mark` and calls the model server at `bases`."""

    folder: Path
    bases: dict[str, str] = field(default_factory=dict)

    def write(self, wire: str, *, settings: dict[str, Any] | None = None, **interface: Any) -> None:
        """The agent, calling this way from now on."""
        agent = self.folder / "agents" / "clerk" / "agent.yaml"
        agent.parent.mkdir(parents=True, exist_ok=True)
        (self.folder / "workflows").mkdir(exist_ok=True)
        (self.folder / "workflows" / "marks.py").write_text(FLOW)
        main = {"model": MODELS[wire], "api_base": self.bases[wire], "api_key": KEY, **interface}
        keys = {
            "version": 1,
            "name": "clerk",
            "interfaces": {"main": main},
            "prompt": "You mark places.",
            "tools": ["mark", "fallible"],
            "settings": {"name_chats": False, **(settings or {})},
        }
        agent.write_text(json.dumps(keys))

    @property
    def marks(self) -> list[str]:
        """The places that were really marked, in whatever order the parallel calls came."""
        marks = self.folder / "workflows" / "marks.txt"
        return sorted(marks.read_text().split()) if marks.exists() else []

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        (db,) = self.folder.rglob("agentflow.db")
        return rows(f"sqlite:///{db}", query)

    def start(self, *args: str) -> Process:
        """A command line as a process that can reach loopback only."""
        note = self.folder / f"note-{len(list(self.folder.glob('note-*')))}.json"
        note.touch()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AGENTFLOW_")}
        environment |= {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", "TERM": "dumb", "NO_COLOR": "1"}
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.scenarios.loopback_process", str(note), *args],
            cwd=self.folder, env=environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        return Process(process, note)

    def run(self, *args: str) -> Done:
        """A command line as a process, to its end."""
        return self.start(*args).end()


@dataclass(frozen=True)
class Process:
    running: subprocess.Popen[str]
    note: Path

    def end(self) -> Done:
        try:
            out, err = self.running.communicate(timeout=120)
        finally:
            self.running.kill()
        return Done(self.running.returncode, out, err, **json.loads(self.note.read_text() or "{}"))


@dataclass
class Desk:
    """The project with its server, and the command line inside this process: no second import of litellm."""

    project: Project
    stub: StubServer
    wire: str
    capsys: pytest.CaptureFixture[str]

    def say(self, text: str, *answers: Answer, options: Sequence[str] = ()) -> Done:
        """A turn of session `s-1` with `--json`, answered with these."""
        self.stub.add(*answers)
        return self.command("run", "clerk", "-s", "s-1", "--json", *options, text)

    def command(self, *args: str) -> Done:
        self.capsys.readouterr()
        code = run(args)
        said = self.capsys.readouterr()
        return Done(int(code), said.out, said.err)

    @property
    def sent(self) -> list[dict[str, Any]]:
        """The messages of the last request."""
        return self.stub.requests[-1].messages


def bases(stub: StubServer) -> dict[str, str]:
    return {"openai": stub.openai_base, "anthropic": stub.anthropic_base}


def marking(*places: str, **answer: Any) -> Answer:
    """A reply that marks places, in parallel."""
    calls = [Call("mark", json.dumps({"place": place}), id=f"call_{place}") for place in places]
    return Answer(calls=calls, **answer)


def asking(**answer: Any) -> Answer:
    """A reply that asks the user."""
    question = {"header": "Place", "question": "Which place?", "options": []}
    return Answer(calls=[Call("ask_user", json.dumps({"questions": [question]}), id="call_ask")], **answer)


def texts(message: dict[str, Any]) -> list[str]:
    """The texts of a message in either format."""
    content = message.get("content") or []
    return [content] if isinstance(content, str) else [block["text"] for block in content if block["type"] == "text"]


def called(messages: Sequence[dict[str, Any]]) -> list[str]:
    """The ids of the tool calls in messages of either format."""
    blocks = [block for each in messages if isinstance(each.get("content"), list) for block in each["content"]]
    used = [block["id"] for block in blocks if block["type"] == "tool_use"]
    return [call["id"] for each in messages for call in each.get("tool_calls") or ()] + used


def answered(messages: Sequence[dict[str, Any]]) -> list[str]:
    """The ids of the tool calls whose results are in messages of either format."""
    blocks = [block for each in messages if isinstance(each.get("content"), list) for block in each["content"]]
    results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    return [each["tool_call_id"] for each in messages if each["role"] == "tool"] + results


def thinking(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The thinking blocks in messages of Anthropic's format."""
    blocks = [block for each in messages if isinstance(each.get("content"), list) for block in each["content"]]
    return [block for block in blocks if "thinking" in block["type"]]
