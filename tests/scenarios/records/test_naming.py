"""R7: a chat gets a short name after a turn; it is never overwritten, and delays and fails nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from agentflow import InvalidInput, ModelRequest, SessionNotFound
from agentflow.testing import Kit, ProcessKilled
from tests.scenarios.support import rows

Title = dict[str, Any] | Callable[[ModelRequest], Any]

ASKS = {"tool_calls": [{"name": "ask_user", "arguments": {"questions": [{"header": "Size", "question": "Which?"}]}}]}


def chats(kit: Kit, *titles: Title, answer: Title | None = None, **keys: Any) -> None:
    """An agent that names its chats with these replies, and gives the same answer always."""
    left = list(titles)

    def replies(request: ModelRequest) -> Any:
        given = left.pop(0) if request.purpose == "title" else answer or {"text": "It costs 7 euros."}
        return given(request) if callable(given) else given

    settings = {"name_chats": True, **keys.pop("settings", {})}
    kit.agent(replies=replies, settings=settings, **keys)


def settle(kit: Kit) -> None:
    """Until no chat is being named any more."""
    kit.run(kit.runtime._turns.names.finish())


def said_and_named(kit: Kit, text: str) -> None:
    kit.send(text)
    settle(kit)


def name_of(kit: Kit, session: str = "s-1") -> Any:
    settle(kit)
    return kit.session(session)["name"]


def title_calls(kit: Kit) -> list[ModelRequest]:
    return [request for request in kit.requests if request.purpose == "title"]


def test_a_chat_is_named_after_its_first_answer_from_what_was_said_first(agentflow: Kit) -> None:
    chats(agentflow, {"text": '"Price of a *cup*"\nmore'})
    agentflow.send("What does a cup cost?")
    assert name_of(agentflow) == "Price of a cup"
    (asked,) = title_calls(agentflow)
    assert "What does a cup cost?" in asked.messages[1]["content"]
    assert "It costs 7 euros." in asked.messages[1]["content"]
    assert asked.tools == ()
    assert "language of the conversation" in asked.messages[0]["content"]
    assert agentflow.status()["name"] == "Price of a cup"
    assert agentflow.run(agentflow.runtime.sessions())[0]["name"] == "Price of a cup"


def test_the_reply_that_is_read_is_the_answer_not_what_was_said_before_a_tool_ran(agentflow: Kit) -> None:
    def look() -> str:
        """Look."""
        return "seen"

    call = {"tool_calls": [{"name": "look", "arguments": {}}]}
    said = iter([{"text": "Let me look.", **call}, {"text": "It costs 7."}, {"text": "Again.", **call}, {"text": "8."}])
    chats(agentflow, {"text": ""}, {"text": "Cups"}, answer=lambda request: next(said), tools=[look])
    for text in ("What does a cup cost?", "And a plate?"):
        agentflow.send(text)
        settle(agentflow)
    for asked in title_calls(agentflow):
        assert "It costs 7." in asked.messages[1]["content"]
        assert "Let me look." not in asked.messages[1]["content"]
        assert "plate" not in asked.messages[1]["content"]


def test_the_name_is_told_after_the_turns_last_event_and_belongs_to_no_turn(agentflow: Kit) -> None:
    """T41"""
    chats(agentflow, {"text": "Cups"})
    agentflow.send("What does a cup cost?")
    named = agentflow.until("session.named")
    assert (named.turn_id, named.data) == (None, {"name": "Cups"})
    log = agentflow.events()
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    assert [event.type for event in log][-2:] == ["done", "session.named"]


def test_a_name_that_is_there_is_never_asked_for_again(agentflow: Kit) -> None:
    chats(agentflow, {"text": "Cups"})
    agentflow.send("What does a cup cost?")
    settle(agentflow)
    commits = agentflow.commits
    agentflow.send("And a plate?")
    assert agentflow.commits - commits == 2  # the turn's own
    assert name_of(agentflow) == "Cups"
    assert len(title_calls(agentflow)) == 1


@pytest.mark.parametrize(
    "title",
    [
        {"text": ""},
        {"reasoning": "hm"},
        {"text": "Cups", "finish_reason": "length"},
        {"text": "I cannot access URLs.", "finish_reason": "stop"},
        {"text": "No.", "finish_reason": "refusal"},
        {"tool_calls": [{"name": "ask_user", "arguments": {}}]},
        {"error": {"kind": "unavailable"}},
        {"error": {"kind": "timeout"}},
        {"text": "Cu", "error": {"kind": "cut"}},
    ],
)
def test_a_title_call_that_fails_costs_nothing_and_the_next_turn_tries_again(
    agentflow: Kit, title: Title, caplog: pytest.LogCaptureFixture
) -> None:
    """B71"""
    caplog.set_level(logging.INFO)
    chats(agentflow, title, {"text": "Cups"})
    assert agentflow.send("What does a cup cost?").state == "done"
    assert name_of(agentflow) is None
    assert "session s-1 has no name yet" in caplog.text
    assert agentflow.send("And a plate?").state == "done"
    assert name_of(agentflow) == "Cups"
    assert "What does a cup cost?" in title_calls(agentflow)[1].messages[1]["content"]


def test_there_are_at_most_three_tries_a_session(agentflow: Kit) -> None:
    chats(agentflow, *[{"text": ""}] * 3)
    spent = []
    for number in range(5):
        before = agentflow.commits
        agentflow.send(f"message {number}")
        settle(agentflow)
        spent.append(agentflow.commits - before)
    assert len(title_calls(agentflow)) == 3
    assert spent == [4, 4, 4, 2, 2]


def test_a_turn_that_pauses_is_not_named_and_its_end_is(agentflow: Kit) -> None:
    asked = iter([ASKS, {"text": "Large it is."}])
    chats(agentflow, {"text": "Size"}, answer=lambda request: next(asked))
    assert agentflow.send("Order a cup").question is not None
    settle(agentflow)
    assert title_calls(agentflow) == []
    agentflow.answer("large")
    assert name_of(agentflow) == "Size"


@pytest.mark.parametrize(
    "answer", [{"error": {"kind": "bad_request"}}, {"text": "half", "error": {"kind": "cut"}}], ids=["failed", "cut"]
)
def test_a_failed_turn_is_not_named(agentflow: Kit, answer: Title) -> None:
    chats(agentflow, answer=answer)
    assert agentflow.send("x").state == "failed"
    assert name_of(agentflow) is None
    assert title_calls(agentflow) == []


def test_a_turn_that_ends_without_a_text_is_not_named(agentflow: Kit) -> None:
    def look() -> str:
        """Look."""
        return "seen"

    said = iter([{"tool_calls": [{"name": "look", "arguments": {}}]}, {"text": "", "usage": {"input": 1, "output": 1}}])
    chats(agentflow, answer=lambda request: next(said), tools=[look])
    result = agentflow.send("x")
    assert (result.state, result.answer) == ("done", None)
    assert name_of(agentflow) is None


def test_a_turn_that_was_stopped_after_text_is_not_named_and_a_later_one_is(agentflow: Kit) -> None:
    slow = iter([{"text": "a long answer", "chunk_size": 1, "delay_secs": 0.05}, {"text": "short"}])
    chats(agentflow, {"text": "Later"}, answer=lambda request: next(slow))
    receipt = agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "x"}})
    agentflow.until("llm.delta")
    agentflow.stop()
    assert agentflow.result(receipt.turn_id).answer is not None
    assert name_of(agentflow) is None
    agentflow.send("again")
    assert name_of(agentflow) == "Later"


def test_sub_agents_are_not_named_apart_and_their_session_is_named_once(agentflow: Kit) -> None:
    agentflow.agent("helper", replies=[{"text": "found it"}], settings={"name_chats": True})
    said = iter(
        [{"tool_calls": [{"name": "task", "arguments": {"agent": "helper", "prompt": "look"}}]}, {"text": "There."}]
    )
    chats(agentflow, {"text": "Search"}, answer=lambda request: next(said), sub_agents=["helper"])
    agentflow.send("find it")
    assert name_of(agentflow) == "Search"
    assert [request.purpose for request in agentflow.requests_of("helper")] == ["main"]


def test_name_chats_false_names_nothing(agentflow: Kit) -> None:
    chats(agentflow, settings={"name_chats": False})
    agentflow.send("x")
    assert name_of(agentflow) is None


def test_the_naming_interface_is_asked(agentflow: Kit) -> None:
    cheap = {"model": "scripted/cheap"}
    chats(agentflow, {"text": "Cups"}, interfaces={"cheap": cheap}, settings={"naming_interface": "cheap"})
    agentflow.send("What does a cup cost?")
    assert name_of(agentflow) == "Cups"


def test_an_evaluation_is_not_named(agentflow: Kit) -> None:
    """R9"""
    (agentflow.project / "agentflow.yaml").write_text("environment: evaluation\n")
    chats(agentflow)
    agentflow.send("x")
    assert name_of(agentflow) is None
    assert title_calls(agentflow) == []


# -- beside everything else --------------------------------------------------------------------------------------------


class Held:
    """A title that comes when the test says so."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_asked = asyncio.Event()
        self.is_open = asyncio.Event()

    async def __call__(self, request: ModelRequest) -> dict[str, Any]:
        self.is_asked.set()
        await self.is_open.wait()
        return {"text": self.text}


def test_a_turn_and_the_next_one_in_the_queue_do_not_wait_for_a_name(agentflow: Kit) -> None:
    """T10"""
    title = Held("Cups")
    chats(agentflow, title)
    first = agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "one"}})
    waiting = {"type": "client.message", "message": {"role": "user", "content": "two"}, "queue": True}
    second = agentflow.submit(waiting)
    assert agentflow.result(first.turn_id).state == agentflow.result(second.turn_id).state == "done"
    assert agentflow.session()["name"] is None
    title.is_open.set()
    assert name_of(agentflow) == "Cups"
    assert len(title_calls(agentflow)) == 1


def test_a_name_that_a_person_gives_meanwhile_stays(agentflow: Kit) -> None:
    title = Held("Cups")
    chats(agentflow, title)
    agentflow.send("What does a cup cost?")
    agentflow.run(agentflow.runtime.records.name("s-1", "Mine"))
    title.is_open.set()
    assert name_of(agentflow) == "Mine"
    assert [event.data for event in agentflow.events("session.named")] == [{"name": "Mine"}]
    assert agentflow.usage()["input"] > 10  # what the title call used is counted all the same


def test_a_name_given_before_the_first_turn_ends_is_never_asked_for(agentflow: Kit) -> None:
    """B71: named before the answer was there."""
    chats(agentflow)
    receipt = agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "x"}})
    agentflow.run(agentflow.runtime.records.name("s-1", "Mine"))
    agentflow.result(receipt.turn_id)
    assert name_of(agentflow) == "Mine"
    assert title_calls(agentflow) == []


def test_nothing_of_a_name_comes_back_into_a_session_that_was_erased_meanwhile(agentflow: Kit) -> None:
    """R12"""
    title = Held("Cups")
    chats(agentflow, title, {"text": ""})
    agentflow.send("What does a cup cost?")
    agentflow.run(title.is_asked.wait())
    agentflow.run(agentflow.runtime.delete("s-1"))
    agentflow.send("A new one under the same id", agent_id="test")
    title.is_open.set()
    settle(agentflow)
    assert rows(agentflow._db, "SELECT count(*) FROM llm_call WHERE purpose = 'title'") == [(0,)]
    assert agentflow.session()["name"] is None
    assert agentflow.events("session.named") == []


def test_a_runtime_that_closes_waits_for_a_name_that_comes(agentflow: Kit) -> None:
    chats(agentflow, {"text": "Cups", "delay_secs": 0.05})
    agentflow.send("What does a cup cost?")
    agentflow.restart()
    assert agentflow.session()["name"] == "Cups"


def test_a_name_that_does_not_come_in_time_is_given_up(agentflow: Kit) -> None:
    title = Held("never")
    chats(agentflow, title, {"text": "Cups"})
    agentflow.send("What does a cup cost?")
    agentflow.run(title.is_asked.wait())
    agentflow.run(agentflow.runtime._turns.names.finish(0.0))
    agentflow.send("And a plate?")
    assert name_of(agentflow) == "Cups"


def test_a_process_that_is_told_to_end_drops_the_name_and_a_later_turn_finds_it(agentflow: Kit) -> None:
    title = Held("never")
    chats(agentflow, title, {"text": "Cups"})
    agentflow.send("What does a cup cost?")
    agentflow.run(title.is_asked.wait())
    agentflow.run(agentflow.runtime.end_turns())
    agentflow.run(asyncio.sleep(0))
    assert agentflow.runtime._turns.names._tasks == {}
    agentflow.restart()
    assert agentflow.session()["name"] is None
    agentflow.send("And a plate?")
    assert name_of(agentflow) == "Cups"


@pytest.mark.parametrize("commits", [2, 3, 4])
def test_a_process_that_dies_before_the_name_is_kept_leaves_it_to_a_later_turn(agentflow: Kit, commits: int) -> None:
    """After the turn's end (2), after the try is counted (3); after 4 the name is there."""
    chats(agentflow, {"text": "Cups"}, {"text": "Cups"})
    agentflow.kill_after(commits)
    with pytest.raises(ProcessKilled):
        said_and_named(agentflow, "What does a cup cost?")
    agentflow.reopen()
    assert agentflow.session()["name"] == ("Cups" if commits == 4 else None)
    assert agentflow.session()["outcome"] == "done"
    agentflow.send("And a plate?")
    assert name_of(agentflow) == "Cups"
    assert [event.data for event in agentflow.events("session.named")] == [{"name": "Cups"}]


def test_of_two_processes_that_find_a_name_one_wins(agentflow: Kit) -> None:
    first, second = Held("First"), Held("Second")
    chats(agentflow, first, second)
    agentflow.send("one")
    other = agentflow.another_runtime()
    agentflow.run(other.run("s-1", "test", "two"))

    async def race() -> None:
        second.is_open.set()
        await other._turns.names.finish()
        first.is_open.set()
        await agentflow.runtime._turns.names.finish()

    agentflow.run(race())
    assert agentflow.session()["name"] == "Second"
    assert len(agentflow.events("session.named")) == 1


def test_a_fault_of_ours_while_naming_reaches_the_log_alone(
    agentflow: Kit, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("agentflow.records.chat_names.name_in", lambda reply: 1 / 0)
    chats(agentflow, {"text": "Cups"})
    assert agentflow.send("x").state == "done"
    assert name_of(agentflow) is None
    assert "naming it failed" in caplog.text


# -- what is kept of it ------------------------------------------------------------------------------------------------


def test_a_title_call_counts_for_the_session_and_for_no_turn(agentflow: Kit) -> None:
    """X6, B35"""
    usage = {"input": 30, "output": 4, "cost": 0.25}
    chats(agentflow, {"text": "Cups", "usage": usage}, answer={"text": "7", "usage": {"input": 100, "output": 10}})
    result = agentflow.send("What does a cup cost?")
    settle(agentflow)
    assert (result.usage.input, result.usage.output) == (100, 10)
    totals = agentflow.usage()
    assert (totals["input"], totals["output"], totals["cost"], totals["turns"]) == (130, 14, "0.25", 1)


def test_a_title_call_stands_in_the_trace_after_the_turn_and_not_in_its_steps(agentflow: Kit) -> None:
    chats(agentflow, {"text": ""}, {"text": "Cups", "usage": {"input": 30, "output": 4}})
    agentflow.send("What does a cup cost?")
    settle(agentflow)
    agentflow.send("And a plate?")
    settle(agentflow)
    first, second = (agentflow.run(agentflow.runtime.trace("s-1", turn)) for turn in (1, 2))
    assert [node["purpose"] for node in first["steps"][0]["nodes"]] == ["main"]
    assert [(node["purpose"], node["status"]) for node in first["naming"]] == [("title", "errored")]
    assert [(node["status"], node["tokens"]["input"]) for node in second["naming"]] == [("completed", 30)]
    assert first["naming"][0]["error"]["code"] == "model_error.bad_reply"


def test_without_observability_the_name_is_made_from_memory_and_alone_stays(agentflow: Kit) -> None:
    """R5"""
    chats(agentflow, {"text": "Cups"}, settings={"observability": False})
    agentflow.send("What does a cup cost?")
    assert name_of(agentflow) == "Cups"
    (asked,) = title_calls(agentflow)
    assert "What does a cup cost?" in asked.messages[1]["content"]
    assert rows(agentflow._db, "SELECT count(*) FROM llm_call") == [(0,)]


def test_without_observability_a_later_turn_names_from_its_own_words(agentflow: Kit) -> None:
    chats(agentflow, {"text": ""}, {"text": "Plates"}, settings={"observability": False})
    agentflow.send("What does a cup cost?")
    settle(agentflow)
    agentflow.send("And a plate?")
    assert name_of(agentflow) == "Plates"
    assert "cup" not in title_calls(agentflow)[1].messages[1]["content"]


# -- names that people give --------------------------------------------------------------------------------------------


def test_a_person_names_a_chat_anew_and_takes_the_name_away(agentflow: Kit) -> None:
    chats(agentflow, {"text": "Cups"}, {"text": "Plates"})
    agentflow.send("What does a cup cost?")
    settle(agentflow)
    name = agentflow.runtime.records.name
    assert agentflow.run(name("s-1", " Mine ")) == {"session_id": "s-1", "name": "Mine"}
    assert agentflow.run(name("s-1", None)) == {"session_id": "s-1", "name": None}
    assert agentflow.session()["name"] is None
    agentflow.send("And a plate?")
    assert name_of(agentflow) == "Plates"
    assert [event.data["name"] for event in agentflow.events("session.named")] == ["Cups", "Mine", None, "Plates"]


def test_what_is_no_name_changes_nothing(agentflow: Kit) -> None:
    chats(agentflow, {"text": "Cups"})
    agentflow.send("x")
    settle(agentflow)
    with pytest.raises(InvalidInput, match="name: "):
        agentflow.run(agentflow.runtime.records.name("s-1", "two\nlines"))
    with pytest.raises(SessionNotFound):
        agentflow.run(agentflow.runtime.records.name("s-2", "x"))
    assert agentflow.session()["name"] == "Cups"


def test_sessions_are_found_by_their_names(agentflow: Kit) -> None:
    chats(agentflow, settings={"name_chats": False})
    names = {"s-1": "Price of a CUP", "s-2": "Kaffee für ÄRZTE", "s-3": "100% cotton", "s-4": None}
    for session, name in names.items():
        agentflow.send("x", session)
        if name is not None:
            agentflow.run(agentflow.runtime.records.name(session, name))

    def found(text: str) -> list[str]:
        return [each["session_id"] for each in agentflow.run(agentflow.runtime.sessions(search=text))]

    assert found("cup") == ["s-1"]
    assert found("ärzte") == ["s-2"]
    assert found("0% C") == ["s-3"]
    assert found("_") == []
    first = agentflow.run(agentflow.runtime.sessions(search="c", limit=1))
    assert (first[0]["session_id"], first.more) == ("s-3", 1)
    then = agentflow.run(agentflow.runtime.sessions(search="c", limit=1, cursor=first.cursor))
    assert then[0]["session_id"] == "s-1"
    with pytest.raises(InvalidInput, match="another search"):
        agentflow.run(agentflow.runtime.sessions(search="d", cursor=first.cursor))
