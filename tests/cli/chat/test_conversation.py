"""Talking in a chat: messages, questions, tools, the queue, and what is done beside talking."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from agentflow import Runtime
from cli.chat.screens.typed import Key
from tests.cli.chat.conftest import InProcess, Typist
from tests.cli.conftest import Command
from tests.pictures import png


def test_a_chat_says_who_talks_and_that_a_script_replies(chat: InProcess) -> None:
    async def script(typist: Typist) -> None:
        await typist.types("Hello", "  Hello")
        shown = await typist.types("count", "It is 42.")
        assert 'calculate({"expression": "6 * 7"}) = 42' in shown

    shown = chat(script).shown
    assert "talk · scripted/replies.yaml · new session s-1" in shown
    assert "replies come from a script" in shown
    assert "go on with: agentflow chat --session s-1" in shown


def test_a_session_is_gone_on_with_where_it_was_left(chat: InProcess) -> None:
    """Nothing is lost: what was said, and the question that waits (T21)."""

    async def leaves(typist: Typist) -> None:
        await typist.types("Hello", "  Hello")
        await typist.types("ask me", "Plan> ")

    async def comes_back(typist: Typist) -> None:
        assert "user: Hello" in typist.shown
        await typist.until("Plan> ")
        await typist.types("1", "Extras> ")
        await typist.types("2, 1", "You said")

    assert "the question stays open" in chat(leaves).shown
    assert "You said Plan: Pro Extras: Mail, Disk." in chat(comes_back).shown


def test_a_paste_answers_in_own_words_and_commands_go_on(chat: InProcess) -> None:
    """F62: no choice is taken from a paste; a command at a question is one."""

    async def script(typist: Typist) -> None:
        await typist.types("ask me", "Plan> ")
        assert "user: ask me" in await typist.types("/tree", "user: ask me")
        await typist.types("1", "Extras> ", pasted=True)
        await typist.types("/nonsense", "there is no /nonsense")
        await typist.types("none of it", "You said")

    assert "You said Plan: 1 Extras: none of it." in chat(script).shown


def test_a_question_that_another_process_answers_is_not_asked_any_more(chat: InProcess, talking: Path) -> None:
    """C29: told in a line, and what comes next is a message."""

    async def script(typist: Typist) -> None:
        await typist.types("ask me", "Plan> ")
        async with Runtime.open(talking) as other:
            await other.answer("s-1", answers={"Plan": "Pro", "Extras": ["Disk"]})
            await typist.until("not waited for any more")
            await typist.until("You said Plan: Pro")
        await typist.until("> ")
        await typist.types("Hello", "  Hello")

    chat(script)


def test_an_answer_that_comes_too_late_is_refused_in_a_line_and_kept(chat: InProcess, talking: Path) -> None:
    async def script(typist: Typist) -> None:
        await typist.types("ask me", "Plan> ")
        await typist.types("1", "Extras> ")
        async with Runtime.open(talking) as other:
            receipt = await other.answer("s-1", answers={"Plan": "Free", "Extras": ["Disk"]})
            typist.types_now("mine")
            await other.result("s-1", receipt.turn_id)
        await typist.until("You said Plan: Free")

    assert "Traceback" not in chat(script).shown


def test_tools_of_the_client_are_shown_and_given_results_or_declined(chat: InProcess) -> None:
    """C38, C39, F42."""

    async def script(typist: Typist) -> None:
        assert r"a\u200bb" in await typist.types("x", "show = ")
        await typist.types('{"a": 1}', "pick = ")
        await typist.types("/decline no such file", "It is Error: no such file.")

    shown = chat(script, agent="doing").shown
    assert '= {"a":1}' in shown
    assert "pick({}) failed: Error: no such file" in shown


def test_what_is_typed_while_a_turn_runs_waits_and_can_be_taken_back(chat: InProcess) -> None:
    """C21."""

    async def script(typist: Typist) -> None:
        await typist.types("slow", "> slow")
        await typist.types("second", "it waits")
        await typist.types("third", "it waits")
        shown = await typist.types("/queue", "takes one back")
        assert "1. second" in shown
        assert "2. third" in shown
        await typist.types("/queue drop 1", "taken back")
        await typist.until("  third")

    shown = chat(script).shown
    assert "> third" in shown
    assert "> second" not in shown


def test_now_stops_the_turn_and_speaks_at_once(chat: InProcess) -> None:
    """C25."""

    async def script(typist: Typist) -> None:
        await typist.types("slow", "> slow")
        await typist.types("/now enough", "  enough")

    shown = chat(script).shown
    assert "stopped; what was said is kept" in shown
    assert "eight" not in shown


@pytest.mark.parametrize("how", ["key", "command"])
def test_the_first_ctrl_c_stops_the_turn_and_a_second_one_leaves(chat: InProcess, how: str) -> None:
    """B78: what was said is kept."""

    async def script(typist: Typist) -> None:
        await typist.types("slow", "> slow")
        if how == "key":
            typist.press(Key.STOP)
        else:
            await typist.types("/stop", "stopping the turn")
        await typist.until("stopped; what was said is kept")
        await typist.types("/stop", "nothing runs")
        typist.press(Key.STOP)
        await typist.until("once more leaves")
        typist.press(Key.STOP)
        await typist.until("go on with")

    chat(script)


def test_an_edit_and_a_retry_are_branches_and_one_can_go_back(chat: InProcess) -> None:
    """C10, C13, C20: nothing is lost."""

    async def script(typist: Typist) -> None:
        await typist.types("one", "  one")
        await typist.types("two", "  two")
        await typist.types("/edit 1", "change> ")
        assert typist.drafted == "one"
        await typist.types("uno", "  uno")
        await typist.until("> ")
        await typist.types("/retry", "  uno")
        shown = await typist.types("/branch", "/branch N")
        assert "  1. 4 messages, user: one" in shown
        shown = await typist.types("/branch 1", "assistant: two")
        assert "user: two" in shown
        await typist.types("three", "  three")

    chat(script)


def test_an_edit_can_be_left(chat: InProcess) -> None:
    async def script(typist: Typist) -> None:
        await typist.types("/edit", "nothing was said yet")
        await typist.types("one", "  one")
        await typist.types("/edit 7", "it is a number from 1 to 1")
        await typist.types("/edit", "change> ")
        await typist.types("/cancel", "stays as it was")
        await typist.until("> ")

    chat(script)


def test_what_is_refused_is_said_in_one_line_and_typed_again(chat: InProcess, talking: Path) -> None:
    async def script(typist: Typist) -> None:
        await typist.types("slow", "> slow")
        await typist.types("/retry", "error (turn_already_active)")
        assert typist.drafted == "/retry"
        await typist.types("/sessions nobody", "there is no session nobody")
        await typist.types("/trace 99", "error (turn_not_found)")
        await typist.types("/branch m-99", "error (turn_already_active)")
        (talking / "there.md").write_text("mine")
        await typist.types("/save there.md", "is there already")
        await typist.types("/save no/such/folder.md", "No such file")

    chat(script)
    assert (talking / "there.md").read_text() == "mine"


def test_what_a_session_holds_can_be_read(chat: InProcess, talking: Path) -> None:
    """X8, R6: the context with what would go, a turn's trace, the model, a file."""

    async def script(typist: Typist) -> None:
        await typist.types("/tree", "nothing was said yet")
        assert "of 8,000 tokens" in await typist.types("/context", "strategy[0]: summarize above")
        await typist.types("count", "It is 42.")
        assert "calculate(" in await typist.types("/trace 1", "model call 2")
        await typist.types("/model", "scripted/replies.yaml answers")
        await typist.types("/model scripted/x", "no model of a provider")
        await typist.types("/model scripted/replies.yaml", "scripted/replies.yaml answers")
        await typist.types("/save talk.json", "wrote talk.json")
        await typist.types("/help", "Ctrl-C stops the turn")

    chat(script)
    assert json.loads((talking / "talk.json").read_text())["schema"] == "agentflow.session/1"
    assert (talking / "talk.json").stat().st_mode & 0o777 == 0o600


def test_one_goes_from_session_to_session_by_id_or_name(chat: InProcess) -> None:
    """R7."""

    async def script(typist: Typist) -> None:
        await typist.types("one", "  one")
        await typist.types("/name The first", "is called The first")
        await typist.types("/new", "new session")
        await typist.types("two", "  two")
        assert "The first" in await typist.types("/sessions", "goes to one of them")
        assert "session s-1 (The first)" in await typist.types("/sessions The first", "user: one")
        await typist.until("> ")
        await typist.types("three", "  three")

    shown = chat(script).shown
    assert "go on with: agentflow chat --session s-1" in shown


def test_a_text_cannot_pass_for_what_somebody_else_said(chat: InProcess) -> None:
    """Z5: only what is ours begins at the first column, and nothing steers the terminal."""

    async def script(typist: Typist) -> None:
        await typist.types("a\n> yes\nstopped\x1b[2J\u202e", "  stopped[2J", pasted=True)

    shown = chat(script).shown
    assert "\n> yes" not in shown
    assert "\nstopped" not in shown
    assert "\x1b" not in shown


def test_the_history_has_messages_and_neither_answers_nor_commands(
    chat: InProcess, state: Path, agentflow: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F63, Z4, Z8: no secret, nothing of an agent that is not observed, nothing of a session that was deleted."""
    monkeypatch.setenv("SOME_API_KEY", "correct-horse-battery")
    from agentflow.secrets.known import learn_environment

    async def script(typist: Typist) -> None:
        await typist.types("ask correct-horse-battery", "Plan> ")
        await typist.types("my own answer", "Extras> ")
        await typist.types("1", "You said")
        await typist.types("/context", "tokens")

    async def unobserved(typist: Typist) -> None:
        await typist.types("nobody knows", "  nobody knows")

    learn_environment({"SOME_API_KEY": "correct-horse-battery"})
    chat(script)
    chat(unobserved, session="s-2", agent="silent")
    kept = [json.loads(line)["text"] for line in state.read_text().splitlines()]
    assert kept == ["ask ${SOME_API_KEY}"]
    assert agentflow("sessions", "rm", "s-1").code == 0
    assert state.read_text() == ""


def test_a_session_that_is_deleted_meanwhile_is_told(chat: InProcess, talking: Path) -> None:
    async def script(typist: Typist) -> None:
        await typist.types("one", "  one")
        async with Runtime.open(talking) as other:
            await asyncio.sleep(0)
            await other.delete("s-1")
        await typist.until("error (session_not_found)")

    chat(script)


def test_files_go_with_the_next_message_once(chat: InProcess, tmp_path: Path) -> None:
    """W4: what the file is, its bytes say; taken back, nothing goes along."""
    picture = tmp_path / "cat.png"
    picture.write_bytes(png())

    async def script(typist: Typist) -> None:
        await typist.types(f"/attach {tmp_path / 'none.png'}", "there is no such file")
        await typist.types(f"/attach {picture}", "with the next message: cat.png")
        await typist.types("/attach", "no file goes with the next message")
        await typist.types(f"/attach {picture}", "with the next message: cat.png")
        await typist.types("Hello", "  Hello")
        await typist.types("again", "  again")
        messages = (await typist.runtime.session("s-1", all=True))["messages"]
        said = [each["content"] for each in messages if each["role"] == "user"]
        assert [each["type"] for each in said[0]] == ["text", "image"]
        assert said[1] == "again"

    chat(script)
