"""Z1: whatever the rows of a database hold, a command works or names the damaged row; no fault, no turn half done.

`python -m tests.damaged` tries each wrong value in each column with every command; here some of them are.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cli.main import run
from tests.damaged.cases import COMMANDS, READING, Bench, Damage, damages, inflict
from tests.damaged.project import make

SAMPLE = random.Random(11).sample([(damage, command) for damage in damages() for command in COMMANDS], 160)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("damaged")
    make(folder)
    return Bench(folder)


@pytest.fixture(autouse=True)
def nobody_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)


def test_a_sample_of_all_damage_ends_in_no_fault(bench: Bench) -> None:
    faults = []
    for damage, command in SAMPLE:
        db = bench.copy()
        if inflict(db, damage):
            said = bench.run(command, db)
            faults += [f"{damage}: {command}: {said.err}"] if said.fault else []
    assert faults == []


# What reads of it used to end in: a traceback of each kind, an internal error, a loop without an end.
WORST = [
    (Damage("session", "created_at", "null"), "show", "session.created_at"),
    (Damage("session", "owner", "a word"), "ls", None),
    (Damage("session", "depth", "a fraction"), "run", "session.depth"),
    (Damage("session", "seq", "the largest"), "run", "session.seq"),
    (Damage("turn", "cost", "a word"), "show", "turn.cost"),
    (Damage("turn", "error", "half a list"), "events", "turn.error"),
    (Damage("step", "turn", "a number of nothing"), "trace", "step.turn"),
    (Damage("step", "opened_at", "the largest"), "trace", "step.opened_at"),
    (Damage("event", "turn", "null"), "events", "event.turn"),
    (Damage("event", "data", "an object in JSON"), "trace", "event.data"),
    (Damage("branch", "parent", "its own number"), "run", "branch.parent"),
    (Damage("branch", "parent", "the next number"), "run", "branch.parent"),
    (Damage("branch", "parent", "its own number"), "export", "branch.parent"),
    (Damage("branch", "fork_depth", "a number of nothing"), "run dead", "message.depth"),
    (Damage("message", "calls", "a list in JSON"), "run", "message.calls"),
    (Damage("message", "content", "bytes"), "show asks", "message.content"),
    (Damage("message", "content", "no UTF-8"), "show", "message.content"),
    (Damage("question", "questions", "null"), "answer", "question.questions"),
    (Damage("question", "questions", "a list in JSON"), "submit", "question.questions"),
    (Damage("blob", "body", "bytes"), "request", "blob.body"),
    (Damage("llm_call", "request", "an object in JSON"), "request", "llm_call.request"),
    (Damage("snapshot_data", "body", "bytes"), "snapshots", "snapshot_data.hash"),
    (Damage("session_stats", "models", "a list in JSON"), "insights", None),
    (Damage("session_stats", "tools", "null"), "insights", "session_stats.tools"),
    (Damage("message", "id", "null"), "tree", "message.id"),
    (Damage("session_stats", "state", "a word"), "insights", "session_stats.state"),
    (Damage("queue_entry", "input", "a list in JSON"), "show paints", "queue_entry.input"),
]


@pytest.mark.parametrize(("damage", "command", "named"), WORST, ids=[f"{case[0]}, {case[1]}" for case in WORST])
def test_the_damaged_row_is_named_and_what_to_do(bench: Bench, damage: Damage, command: str, named: str | None) -> None:
    db = bench.copy()
    assert inflict(db, damage)
    before = db.read_bytes()
    said = bench.run(command, db)
    assert said.fault is None, said.err
    assert db.read_bytes() == before
    if named is None:
        assert said.code == 0, said.err
        return
    told = said.err + said.out
    assert said.code == 1, said.err
    assert "The database is damaged" in told
    assert f"{named} of the row with session" in told
    assert "agentflow db check" in told


def test_a_turn_on_a_damaged_session_ends_or_says_that_it_could_not(bench: Bench) -> None:
    """Where not even its end can be written the next request finds it like one whose process was killed (C26)."""
    for damage in [each for each in damages() if each.table in ("message", "branch", "tool_call")][::13]:
        db = bench.copy()
        if not inflict(db, damage):
            continue
        said = bench.run("run", db)
        with closing(sqlite3.connect(bench.folder / "used.db")) as used:
            states = {state for (state,) in used.execute("SELECT CAST(state AS TEXT) FROM turn WHERE session_key = 1")}
        told = said.code == 1 and "The database is damaged" in said.err
        assert states <= {"done", "failed", "paused_ask_user", "aborted", *(("running",) if told else ())}, str(damage)


def test_a_session_that_is_damaged_can_be_given_up_and_the_others_go_on(bench: Bench) -> None:
    for damage in [each for each in damages() if each.table in ("session", "turn", "event")][::17]:
        db = bench.copy()
        if damage.column in ("id", "key", "session_key") or not inflict(db, damage):
            continue
        assert bench.run("rm", db).code == 0, str(damage)
        assert run(["sessions", "rm", "rich", "--db", str(bench.folder / "used.db")]) == 3


@pytest.fixture
def checked(bench: Bench, tmp_path: Path) -> Iterator[Path]:
    db = tmp_path / "checked.db"
    shutil.copyfile(bench.whole, db)
    return db


def test_check_finds_nothing_in_what_we_wrote(checked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["db", "check", "--db", str(checked)]) == 0
    assert capsys.readouterr().err == "every row is as it must be\n"


def test_check_tells_all_that_is_damaged(checked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inflict(checked, Damage("turn", "cost", "a word"))
    inflict(checked, Damage("step", "turn", "a number of nothing"))
    assert run(["db", "check", "rich", "--db", str(checked)]) == 1
    out = capsys.readouterr().out
    assert 'turn.cost {"session": "rich", "number": 1}: must be a decimal\n' in out
    assert 'step.turn {"session": "rich", "number": 1}: must name a row of turn\n' in out
    assert run(["db", "check", "nobody", "--db", str(checked)]) == 3


def test_every_reading_command_reads_what_is_not_damaged(bench: Bench) -> None:
    """A command that fails on everything would pass all of the above."""
    assert {name: bench.run(name, bench.whole).code for name in READING} == dict.fromkeys(READING, 0)
