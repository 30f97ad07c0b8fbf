"""`run` and the name of its chat, `sessions name`, `sessions ls --search`, `cleanup` (R7, R12)."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command

YEAR = 365 * 24 * 3600 * 1_000_000


@pytest.fixture
def cafe(project: Path) -> Callable[[str], None]:
    """Writes an agent `cafe` that answers at once and whose title comes like this."""

    def write(title: str) -> None:
        folder = project / "agents" / "cafe"
        folder.mkdir()
        (folder / "agent.yaml").write_text("name: cafe\nmodel: scripted/replies.yaml\n")
        replies = f"- {{when: {{purpose: title}}, repeat: true, {title}}}\n- {{text: It costs 7., repeat: true}}\n"
        (folder / "replies.yaml").write_text(f"replies:\n{replies}")

    return write


def names(agentflow: Command, *options: str) -> dict[str, Any]:
    listed = json.loads(agentflow("sessions", "ls", "--json", *options).out)["sessions"]
    return {each["session_id"]: each["name"] for each in listed}


def make_old(project: Path, session: str) -> None:
    with closing(sqlite3.connect(project / "agentflow.db")) as file, file:
        (key,) = file.execute("SELECT key FROM session WHERE id = ?", (session,)).fetchone()
        file.execute("UPDATE session SET updated_at = updated_at - ? WHERE key = ?", (YEAR, key))
        file.execute("UPDATE event SET at = at - ? WHERE session_key = ?", (YEAR, key))


def test_a_process_of_one_turn_names_its_chat(agentflow: Command, cafe: Callable[[str], None]) -> None:
    cafe("text: Price of a cup, delay_secs: 0.05")
    assert agentflow("run", "cafe", "-s", "s-1", "What does a cup cost?").out == "It costs 7.\n"
    assert names(agentflow) == {"s-1": "Price of a cup"}
    assert "Price of a cup" in agentflow("sessions", "ls").out
    assert "title · scripted/replies.yaml" in agentflow("trace", "s-1").out


def test_a_script_that_has_no_title_says_nothing_of_it(agentflow: Command) -> None:
    done = agentflow("run", "echo", "-s", "s-1", "Hello")
    assert (done.code, done.out) == (0, "Hello\n")
    assert "name" not in done.err
    assert names(agentflow) == {"s-1": None}
    assert "title" not in agentflow("trace", "s-1").out


def test_the_result_is_printed_before_the_name_and_an_interrupt_ends_the_wait(
    spawn: Callable[..., subprocess.Popen[str]], agentflow: Command, cafe: Callable[[str], None]
) -> None:
    cafe("text: never, delay_secs: 3600")
    process = spawn("run", "cafe", "-s", "s-1", "What does a cup cost?")
    assert process.stdout is not None
    assert process.stdout.readline() == "It costs 7.\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, "the turn was done before"
    assert "not waiting for the name" in err
    assert "Traceback" not in err
    shown = json.loads(agentflow("sessions", "show", "s-1", "--json").out)
    assert (shown["name"], shown["outcome"], shown["status"]) == (None, "done", "idle")


def test_a_person_names_a_chat_finds_it_and_takes_the_name_away(agentflow: Command) -> None:
    for session in ("s-1", "s-2"):
        agentflow("run", "echo", "-s", session, "Hello")
    assert agentflow("sessions", "name", "s-1", "My  cups").out == "My  cups\n"
    assert names(agentflow, "--search", "CUPS") == {"s-1": "My  cups"}
    agentflow("sessions", "name", "s-2", "Für ÄRZTE")
    assert names(agentflow, "--search", "ärzte") == {"s-2": "Für ÄRZTE"}
    assert json.loads(agentflow("sessions", "name", "s-1", "--json").out) == {"session_id": "s-1", "name": None}
    assert names(agentflow) == {"s-1": None, "s-2": "Für ÄRZTE"}
    refused = agentflow("sessions", "name", "s-1", "two\nlines")
    assert (refused.code, refused.out) == (2, "")
    assert agentflow("sessions", "name", "s-3", "x").code == 3


def test_the_command_for_the_next_page_of_a_search_has_the_search(agentflow: Command) -> None:
    for session in ("s-1", "s-2"):
        agentflow("run", "echo", "-s", session, "Hello")
        agentflow("sessions", "name", session, "My cups")
    assert "--search 'my cups' --cursor" in agentflow("sessions", "ls", "--search", "my cups", "--limit", "1").err


def test_cleanup_deletes_what_is_old_and_prints_it(agentflow: Command, project: Path) -> None:
    for session in ("s-old", "s-young"):
        agentflow("run", "echo", "-s", session, "Hello")
    make_old(project, "s-old")
    kept = agentflow("cleanup")
    assert (kept.code, kept.out) == (0, "")
    assert "retention_days" in kept.err
    looked = agentflow("cleanup", "--older-than", "30d", "--dry-run")
    assert (looked.out, looked.err) == ("s-old\n", "1 would be deleted\n")
    assert set(names(agentflow)) == {"s-old", "s-young"}
    (project / "agentflow.yaml").write_text("retention_days: 30\n")
    done = agentflow("cleanup", "--json")
    assert json.loads(done.out) == {"deleted": ["s-old"], "skipped": [], "swept": True, "dry_run": False}
    assert set(names(agentflow)) == {"s-young"}


@pytest.mark.parametrize("age", ["30", "yesterday", "0d"])
def test_cleanup_refuses_what_is_no_age(agentflow: Command, age: str) -> None:
    refused = agentflow("cleanup", "--older-than", age)
    assert (refused.code, refused.out) == (2, "")
    assert "12h, 30d or 8w" in refused.err


def test_cleanup_and_name_import_nothing_of_the_project(agentflow: Command, project: Path) -> None:
    """Z1"""
    agentflow("run", "echo", "-s", "s-1", "Hello")
    make_old(project, "s-1")
    (project / "workflows").mkdir()
    (project / "workflows" / "marks.py").write_text("from pathlib import Path\nPath(__file__ + '.ran').touch()\n")
    agent = project / "agents" / "echo" / "agent.yaml"
    agent.write_text(agent.read_text() + "tools: [mark]\nsettings: {retention_days: 3}\n")
    assert agentflow("sessions", "name", "s-1", "x").code == 0
    make_old(project, "s-1")
    assert agentflow("cleanup").out == "s-1\n"
    assert [each.name for each in (project / "workflows").iterdir()] == ["marks.py"]
