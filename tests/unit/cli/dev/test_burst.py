"""Saves are told once each, on the final content, whatever way an editor saves (F64)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.dev.burst import GAP_SECS, MOST_SECS, QUIET_SECS, Burst
from cli.dev.files import State, digest, watched

STEP = 0.2


class Watcher:
    """Looks at a real folder at times of the test's own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.at = 0.0
        self._burst = Burst(watched(root), digest)

    def look(self, times: int = 1) -> list[list[str]]:
        """What was told in so many looks."""
        told = []
        for _ in range(times):
            self.at += STEP
            if found := self._burst.look(watched(self.root), self.at):
                told.append(sorted(str(path.relative_to(self.root)) for path in found))
        return told


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "agents" / "guide" / "agent.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("name: guide\n")
    return path


@pytest.fixture
def watcher(file: Path, tmp_path: Path) -> Watcher:
    return Watcher(tmp_path)


def in_place(path: Path, text: str) -> None:
    path.write_text(text)


def by_rename(path: Path, text: str) -> None:
    beside = path.with_name(f".{path.name}.swp")
    beside.write_text(text)
    beside.replace(path)


def with_backup(path: Path, text: str) -> None:
    path.replace(path.with_name(f"{path.name}~"))
    path.write_text(text)


@pytest.mark.parametrize("save", [in_place, by_rename, with_backup])
def test_every_save_is_heard_once_also_the_later_ones(
    watcher: Watcher, file: Path, save: Callable[[Path, str], None]
) -> None:
    for number in range(3):
        save(file, f"name: guide\ndescription: {number}\n")
        assert watcher.look(10) == [["agents/guide/agent.yaml"]]


def test_delete_and_create_is_one_save_and_the_gap_is_no_news(watcher: Watcher, file: Path) -> None:
    file.unlink()
    assert watcher.look(2) == []
    file.write_text("name: guide\ndescription: new\n")
    assert watcher.look(10) == [["agents/guide/agent.yaml"]]
    file.unlink()
    assert watcher.look(2) == []
    file.write_text("name: guide\ndescription: new\n")
    assert watcher.look(10) == []  # back as it was


def test_what_stays_away_is_gone(watcher: Watcher, file: Path) -> None:
    file.unlink()
    assert watcher.look(int(GAP_SECS / STEP)) == []
    assert watcher.look(3) == [["agents/guide/agent.yaml"]]


def test_many_saves_in_a_row_are_one(watcher: Watcher, file: Path, tmp_path: Path) -> None:
    (tmp_path / "workflows").mkdir()
    for number in range(10):
        by_rename(file, f"name: guide\ndescription: {number}\n")
        (tmp_path / "workflows" / f"flow_{number}.py").write_text("")
        assert watcher.look() == []
    assert watcher.look(10) == [["agents/guide/agent.yaml", *(f"workflows/flow_{n}.py" for n in range(10))]]


def test_what_never_rests_is_told_all_the_same(watcher: Watcher, file: Path) -> None:
    told = []
    for number in range(int(MOST_SECS / STEP) + 5):
        file.write_text(f"name: guide\ndescription: {number}\n")
        told += watcher.look()
    assert len(told) == 1


def test_a_touch_and_a_save_of_the_same_are_no_change(watcher: Watcher, file: Path) -> None:
    os.utime(file, (1, 1))
    assert watcher.look(10) == []
    by_rename(file, file.read_text())
    assert watcher.look(10) == []


def test_what_agentflow_and_tools_make_is_never_seen(watcher: Watcher, tmp_path: Path) -> None:
    for name in ("agentflow.db", "agentflow.db-wal", "talk.jsonl", ".venv/lib/x.py", "__pycache__/x.py", ".git/x.md",
                 "venv/pyvenv.cfg", "venv/lib/x.py", "node_modules/a/x.json", ".pytest_cache/README.md"):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert watcher.look(10) == []


def test_links_are_followed_and_circles_end(watcher: Watcher, tmp_path: Path, file: Path) -> None:
    (tmp_path / "circle").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    target = tmp_path / "elsewhere.yaml"
    by_rename(target, file.read_text())
    file.unlink()
    file.symlink_to(target)
    watcher.look(10)
    by_rename(target, "name: guide\ndescription: by a link\n")
    assert watcher.look(10) == [["agents/guide/agent.yaml", "elsewhere.yaml"]]


def test_idle_looks_read_no_file() -> None:
    read: list[Path] = []
    files: dict[Path, State] = {Path("a.py"): (1, 1, 1, 1), Path("b.py"): (1, 1, 1, 2)}
    burst = Burst(files, lambda path: read.append(path) or "")  # type: ignore[func-returns-value]  # it is asked
    read.clear()
    assert [burst.look(files, at) for at in range(50)] == [frozenset()] * 50
    assert read == []
    assert QUIET_SECS < GAP_SECS < MOST_SECS
