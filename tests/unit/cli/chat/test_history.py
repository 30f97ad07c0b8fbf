"""What was typed in earlier chats is its owner's alone, without secrets, and goes with its session (F63, Z8)."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from cli.chat import history
from cli.chat.history import Entry

PLACE = "here"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "agentflow" / "chat.jsonl"


def _keep(file: Path | None, session: str, text: str, place: str = PLACE) -> None:
    history.add(file, Entry(place, session, text), lambda said: said.replace("hunter22", "***"))


def test_the_file_and_its_folder_are_the_owners_whatever_the_mask(file: Path) -> None:
    """Z8: 0600 in 0700."""
    before = os.umask(0)
    try:
        _keep(file, "s-1", "hello")
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    file.chmod(0o644)
    _keep(file, "s-1", "again")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_secret_is_not_written(file: Path) -> None:
    """Z4."""
    _keep(file, "s-1", "my password is hunter22")
    assert [each.text for each in history.read(file)] == ["my password is ***"]
    assert "hunter22" not in file.read_text()


def test_entries_come_back_in_order_and_what_is_none_is_left_out(file: Path) -> None:
    for text in ("one", "two\nlines", "\ud800 odd"):
        _keep(file, "s-1", text)
    with file.open("a") as opened:
        opened.write('not json\n{"place": "x"}\n[1]\n')
    _keep(file, "s-2", "three")
    assert [each.text for each in history.read(file)] == ["one", "two\nlines", "\ud800 odd", "three"]


def test_the_newest_are_kept_and_what_is_too_long_is_not(file: Path) -> None:
    _keep(file, "s-1", "x" * (history.MOST_CHARS + 1))
    for number in range(history.MOST_ENTRIES + 5):
        _keep(file, "s-1", str(number))
    entries = history.read(file)
    assert (len(entries), entries[0].text) == (history.MOST_ENTRIES, "5")


def test_what_was_typed_goes_with_its_session(file: Path) -> None:
    """Z8, R12: nothing of an erased session stays; of one place where it is known, of all where it is not."""
    _keep(file, "gone", "a")
    _keep(file, "kept", "b")
    _keep(file, "gone", "c", place="elsewhere")
    history.forget(file, ["gone"], PLACE)
    assert [(each.session, each.place) for each in history.read(file)] == [("kept", PLACE), ("gone", "elsewhere")]
    history.forget(file, ["gone"])
    assert [each.text for each in history.read(file)] == ["b"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_where_nothing_can_be_written_nothing_is_kept_and_nothing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F63: no home, a home that is a file, a link in place of the file."""
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    for odd in (None, tmp_path / "file" / "chat.jsonl", tmp_path / "link"):
        _keep(odd, "s-1", "hello")
        history.forget(odd, ["s-1"])
        assert history.read(odd) == []
    assert not (tmp_path / "target").exists()

    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert history.history_file() is None
