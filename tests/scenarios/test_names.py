"""Z2: clients, rows, models and workers give names; only authors and the code around a runtime choose files."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentflow import AgentNotFound, InvalidInput
from agentflow.testing import Kit
from tests.scenarios.test_worker import Recorder

HI = {"role": "user", "content": "hi"}
SECRET = "CANARY_6fd1"

PATHS = [
    "/proc/self/environ", "../other/agents/spy", "../other/agents/spy/agent.yaml", "agents/test",
    "agents/../agents/test",
    "./agents/test", "~", "test\x00", "test/", "Test", ".", "..", "test\n", "//", "file:///etc/passwd",
]  # fmt: skip


@contextmanager
def opened() -> Iterator[list[str]]:
    """What this process opens meanwhile."""
    seen: list[str] = []
    watched.append(seen)
    try:
        yield seen
    finally:
        watched.remove(seen)


watched: list[list[str]] = []


def _audit(event: str, given: tuple[Any, ...]) -> None:
    for seen in watched if event == "open" else ():
        seen.append(os.fsdecode(given[0]) if isinstance(given[0], str | bytes) else str(given[0]))


@pytest.fixture(scope="module", autouse=True)
def audit() -> None:
    import sys

    sys.addaudithook(_audit)


def _other_project(kit: Kit) -> None:
    """A project beside the one under test, whose code leaves a mark when it is imported."""
    other = kit.project.parent / "other"
    (other / "agents" / "spy").mkdir(parents=True)
    (other / "workflows").mkdir()
    (other / "agents" / "spy" / "agent.yaml").write_text("name: spy\nmodel: scripted/x\ntools: [spied]\n")
    (other / "workflows" / "spied.py").write_text(f"raise SystemExit({SECRET!r})\n")


def _scripted(folder: Path) -> Path:
    """An agent in a folder of its own, outside of every `agents/`."""
    folder.mkdir(parents=True)
    (folder / "agent.yaml").write_text(f"name: {folder.name}\nmodel: scripted/replies.yaml\n")
    (folder / "replies.yaml").write_text("replies: [{text: one}, {text: two}, {text: three}]\n")
    return folder


@pytest.mark.parametrize("agent_id", PATHS)
def test_a_path_where_a_client_names_an_agent_is_refused_and_nothing_is_opened(
    agentflow: Kit, monkeypatch: pytest.MonkeyPatch, agent_id: str
) -> None:
    """D77"""
    monkeypatch.setenv("CANARY", SECRET)
    agentflow.agent(replies=[])
    _other_project(agentflow)
    agentflow.runtime  # noqa: B018  # opens the database
    given = {"type": "client.message", "agent_id": agent_id, "message": HI}
    with opened() as files, pytest.raises((AgentNotFound, InvalidInput)) as refused:
        agentflow.run(agentflow.runtime.submit("s-1", given))
    assert refused.value.code == ("invalid_input" if "\x00" in agent_id else "agent_not_found")
    assert refused.value.detail["field"] == "agent_id"
    assert SECRET not in f"{refused.value} {refused.value.detail}"
    assert [file for file in files if "other" in file or "environ" in file or file.endswith("agent.yaml")] == []
    assert not agentflow.run(agentflow.runtime.sessions())


def test_a_name_is_no_way_into_folders_that_are_no_agents(agentflow: Kit) -> None:
    agentflow.agent(replies=[])
    (agentflow.project / "drafts").mkdir()
    (agentflow.project / "drafts" / "agent.yaml").write_text("name: drafts\nmodel: scripted/x\n")
    with pytest.raises(AgentNotFound):
        agentflow.send("hi", agent_id="drafts")


def test_the_code_around_a_runtime_chooses_an_agent_by_its_path(agentflow: Kit, tmp_path: Path) -> None:
    """And the session, which knows it by its name, goes on with it; so do inputs that name it."""
    folder = _scripted(tmp_path / "elsewhere")
    with pytest.raises(AgentNotFound):
        agentflow.send("hi", agent_id="elsewhere")
    runtime = agentflow.runtime
    answers = [agentflow.run(runtime.run("s-1", str(folder), "hi")).answer]
    for fields in ({}, {"agent_id": "elsewhere"}):
        receipt = agentflow.run(runtime.submit("s-1", {"type": "client.message", "message": HI, **fields}))
        answers.append(agentflow.run(runtime.result("s-1", receipt.turn_id)).answer)
    assert answers == ["one", "two", "three"]
    agentflow.restart()
    with pytest.raises(AgentNotFound):
        agentflow.run(agentflow.runtime.submit("s-1", {"type": "client.message", "message": HI}))


def test_a_session_of_an_agent_in_a_folder_of_the_project_goes_on_by_its_row(agentflow: Kit) -> None:
    """As the command line may have given it: `agentflow run demo`, then `agentflow answer SESSION`."""
    _scripted(agentflow.project / "demo")
    assert agentflow.run(agentflow.runtime.run("s-1", "demo", "hi")).answer == "one"
    agentflow.restart()
    receipt = agentflow.run(agentflow.runtime.submit("s-1", {"type": "client.message", "message": HI}))
    assert agentflow.result(receipt.turn_id).answer in ("one", "two")


@pytest.mark.parametrize("name", ["../other/agents/spy", "/proc/self/environ", "agents/test"])
def test_a_row_of_a_foreign_database_chooses_no_file(agentflow: Kit, agentflow_db: str, name: str) -> None:
    if not agentflow_db.startswith("sqlite"):
        pytest.skip("the rows are written with sqlite3")
    agentflow.agent(replies=[{"text": "hello"}])
    agentflow.send("hi")
    agentflow.restart()
    _other_project(agentflow)
    with sqlite3.connect(agentflow_db.removeprefix("sqlite:///")) as database:
        database.execute("UPDATE session SET agent = ?", (name,))
    database.close()
    agentflow.restart()
    for work in (
        lambda runtime: runtime.submit("s-1", {"type": "client.message", "message": HI}),
        lambda runtime: runtime.run_queue("s-1"),
        lambda runtime: runtime.settle("s-1", "c-1", result=1),
    ):
        with opened() as files, pytest.raises(AgentNotFound):
            agentflow.run(work(agentflow.runtime))
        assert [file for file in files if "other" in file or "environ" in file or file.endswith("agent.yaml")] == []


@pytest.mark.parametrize("tool", ["task", "delegate"])
def test_a_model_names_sub_agents_only_among_those_its_agent_lists(agentflow: Kit, tool: str) -> None:
    _other_project(agentflow)
    agentflow.agent("helper", replies=[])
    asked = json.dumps({"agent": "../other/agents/spy", "prompt": "x", "message": "x"})
    replies = [{"tool_calls": [{"id": "c-1", "name": tool, "arguments": asked}]}, {"text": "no"}]
    agentflow.agent("test", sub_agents=["helper"], replies=replies)
    with opened() as files:
        assert agentflow.send("hi").answer == "no"
    assert "were not accepted" in str(agentflow.path()[2]["content"])
    assert [file for file in files if "other/" in file] == []


A_PATH = ("../../outside", "/proc/self/environ", "scripted//proc/self/environ", "scripted/../outside.yaml")
A_WORKER_NAMES: dict[str, Callable[[str], dict[str, Any]]] = {
    "actions[0].name": lambda name: {"actions": [{"type": "tool.call", "name": name, "input": {}}]},
    "actions[0].llm": lambda name: {"actions": [{"type": "llm.call", "llm": name}]},
    "actions[0].model": lambda name: {"actions": [{"type": "llm.call", "model": name}]},
    "agent.model": lambda name: {"agent": {"model": name}},
    "agent.tools[0]": lambda name: {"agent": {"tools": [name]}},
    "agent.skills": lambda name: {"agent": {"skills": [name]}},
    "agent.worker": lambda name: {"agent": {"worker": name}},
}


@pytest.mark.parametrize("field", A_WORKER_NAMES)
@pytest.mark.parametrize("name", A_PATH)
def test_what_a_worker_names_is_no_path(agentflow: Kit, field: str, name: str) -> None:
    if field == "actions[0].model" and not name.startswith("scripted/"):
        pytest.skip("a provider's model may be called anything; no file is looked for")
    agentflow.agent(worker=Recorder(client_messages=A_WORKER_NAMES[field](name)), replies=[])
    with opened() as files:
        result = agentflow.send("hi")
    assert result.error is not None
    assert result.error["detail"]["field"] == field
    assert [file for file in files if "environ" in file or "outside" in file] == []
