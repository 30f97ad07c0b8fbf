"""When making room fails, the turn does not: fail open, no loop, and a way on after every crash (X9, X15-X17)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import ModelRequest
from agentflow.testing import Kit, ProcessKilled
from tests.scenarios.rooms import (
    FILLER,
    OPENING,
    answering,
    assert_paired,
    by_settings,
    capitals,
    chatty,
    of_purpose,
    over,
    phases,
    replaced,
    texts,
)
from tests.scenarios.support import call, rows, said

TOO_LONG = {"error": {"kind": "context_overflow"}}


def fill(kit: Kit, turns: int = 3) -> None:
    for number in range(turns):
        kit.send(f"FACT{number} {FILLER}")


# -- the summary that is not one ---------------------------------------------------------------------------------------

BAD: list[tuple[str, dict[str, Any], str, int]] = [
    ("empty", {"text": ""}, "blank", 1),
    ("blank", {"text": "  \n "}, "blank", 1),
    ("reasoning only", {"reasoning": "hmm"}, "blank", 1),
    ("tool calls only", {"tool_calls": [call("look")]}, "blank", 1),
    ("text and a tool call", {"text": "S", "tool_calls": [call("look")]}, "unfinished", 1),
    ("half a sentence", {"text": "The user wants", "finish_reason": "length"}, "unfinished", 1),
    ("withheld", {"text": "S", "finish_reason": "content_filter"}, "unfinished", 1),
    ("longer than what it replaces", {"text": "S" * 20_000}, "not_smaller", 1),
    ("refused", {"error": {"kind": "bad_request"}}, "failed", 1),
    ("down", {"error": {"kind": "unavailable"}}, "failed", 1),
    ("cut", {"text": "The user", "error": {"kind": "cut"}}, "failed", 1),
    ("too long", TOO_LONG, "failed", 2),
]


@pytest.mark.parametrize(("reply", "reason", "calls"), [each[1:] for each in BAD], ids=[each[0] for each in BAD])
def test_a_summary_that_is_none_leaves_the_full_history(
    agentflow: Kit, reply: dict[str, Any], reason: str, calls: int
) -> None:
    """B22: fail open, no checkpoint, no tool offered or run, the turn answers; X15: too long gets one shorter try."""
    ran: list[int] = []

    def look() -> str:
        """Look."""
        ran.append(1)
        return "seen"

    agentflow.agent(
        tools=[look], replies=answering(lambda request: reply, chatty), context=over(900), settings={"llm_retries": 0}
    )
    fill(agentflow)
    summaries = of_purpose(agentflow.requests, "summary")
    assert len(summaries) == calls
    assert all(list(request.tools) == [] for request in summaries)
    assert phases(agentflow) == ["full", reason]
    assert all(f"FACT{number}" in texts(agentflow.requests[-1]) for number in range(3))
    assert agentflow.path()[-1]["content"].startswith("answer in turn 3")
    assert len(agentflow.path()) == 6
    assert ran == []
    assert {event.data["reason"] for event in agentflow.events("context.kept")} == {reason}


def test_a_summary_call_that_was_too_long_reads_less_the_second_time(agentflow: Kit) -> None:
    """Seed: "When the provider finds the summary call too long, the engine proposes a shorter one" (ctx-014)."""
    refusals = [TOO_LONG]
    agentflow.agent(
        replies=answering(lambda request: refusals.pop() if refusals else capitals(request), chatty), context=over(900)
    )
    fill(agentflow)
    long, short = of_purpose(agentflow.requests, "summary")
    assert short.chars < long.chars
    assert "FACT0" not in texts(short)
    assert phases(agentflow) == ["full", "replaced"]


def test_the_next_attempt_comes_with_the_next_turn(agentflow: Kit) -> None:
    """X9, X17: a failed attempt is not repeated within the turn."""

    def look(number: int) -> str:
        """Look."""
        return FILLER

    def answer(request: ModelRequest) -> dict[str, Any]:
        return chatty(request) if request.messages[-1]["role"] == "tool" else {"tool_calls": [call("look", number=1)]}

    agentflow.agent(tools=[look], replies=answering(lambda request: {"text": ""}, answer), context=over(700))
    fill(agentflow, 4)
    turns = [event.turn_id for event in agentflow.events("context.limited")]
    assert len(turns) == len(set(turns))
    assert set(phases(agentflow)) <= {"full", "blank", "nothing_to_summarize"}
    assert phases(agentflow).count("blank") >= 2


def test_settings_that_fail_are_tried_again_next_turn_only(agentflow: Kit) -> None:
    """B19 (b): at most one a turn."""
    agentflow.agent(
        replies=answering(
            lambda request: {"text": ""}, lambda request: {"text": "a", "usage": {"input": 999, "output": 1}}
        ),
        settings=by_settings(1000, keep=0),
    )
    fill(agentflow, 10)
    assert phases(agentflow) == ["full", "blank"] * 9
    assert len(of_purpose(agentflow.requests, "summary")) == 9


def test_a_prompt_above_the_limit_does_not_summarize_in_a_loop(
    agentflow: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    """B19: prompt and tools alone exceed the limit: one attempt a turn at most, one warning, no error."""

    def step(number: int) -> str:
        """Step."""
        return "stepped"

    def answer(request: ModelRequest) -> dict[str, Any]:
        last = request.messages[-1]
        done = last["role"] == "tool" and request.messages[-3]["role"] == "tool"
        return chatty(request) if done else {"tool_calls": [call("step", number=len(request.messages))]}

    agentflow.agent(prompt="Rules. " * 1000, tools=[step], replies=answering(capitals, answer), context=over(1500))
    fill(agentflow, 5)
    turns = [event.turn_id for event in agentflow.events("context.limited")]
    assert len(turns) == len(set(turns)) == 5
    assert len(of_purpose(agentflow.requests, "summary")) <= 4
    warnings = [record for record in caplog.records if "room was made" in record.message]
    assert len(warnings) == phases(agentflow).count("replaced")


def test_a_provider_whose_tokens_are_smaller_than_ours_does_not_make_it_loop(agentflow: Kit) -> None:
    """X17: the estimate said that it helped, the provider's next report says no: the turn gives up."""

    def step(number: int) -> str:
        """Step."""
        return f"RESULT{number} {FILLER}"

    def answer(request: ModelRequest) -> dict[str, Any]:
        number = len(of_purpose(agentflow.requests, "main"))
        reply = chatty(request) if number % 8 == 0 else {"tool_calls": [call("step", number=number)]}
        return {**reply, "usage": {"input": 50_000, "output": 1}}

    agentflow.agent(tools=[step], replies=answering(capitals, answer), context=over(40_000))
    fill(agentflow, 3)
    turns = [event.turn_id for event in agentflow.events("context.limited")]
    assert len(turns) == len(set(turns)) == 3
    assert phases(agentflow).count("replaced") == 2


# -- the provider refuses ----------------------------------------------------------------------------------------------


def refusing(*numbers: int, kit: Kit) -> Any:
    """Main calls with these numbers, from 1, are refused as too long."""

    def answer(request: ModelRequest) -> dict[str, Any]:
        return TOO_LONG if len(of_purpose(kit.requests, "main")) in numbers else chatty(request)

    return answering(capitals, answer)


@pytest.mark.parametrize("context", [{}, {"window": 200_000, "strategy": [{"use": "reset", "idle_secs": 9}]}])
def test_a_call_refused_as_too_long_runs_once_more_after_a_summary(agentflow: Kit, context: dict[str, Any]) -> None:
    """Seed: "A provider can refuse a call as too long ... The call runs once more"; X16: with no `context:` too."""
    agentflow.agent(replies=refusing(4, kit=agentflow), context=context, settings={"llm_retries": 0})
    fill(agentflow)
    result = agentflow.send("and now?")
    assert result.state == "done"
    assert phases(agentflow) == ["overflow", "replaced"]
    first, summary, second = agentflow.requests[-3:]
    assert (first.call_id, summary.purpose) == (second.call_id, "summary")
    assert said(second)[-1] == ("user", "and now?")
    assert said(second)[1][1].startswith(OPENING)
    assert second.chars < first.chars
    calls = agentflow.events("llm.call.requested", "llm.call.completed", "llm.call.errored")
    assert [event.type.rpartition(".")[2] for event in calls if event.data["call_id"] == second.call_id] == [
        "requested",
        "completed",
    ]


def test_a_call_refused_twice_fails_the_turn_clearly(agentflow: Kit) -> None:
    """Seed: "If the provider refuses it again, the turn fails" (ctx-013)."""
    agentflow.agent(replies=refusing(4, 5, kit=agentflow))
    fill(agentflow)
    result = agentflow.send("and now?")
    assert result.state == "failed"
    assert result.error is not None
    assert result.error["code"] == "context_overflow"
    assert phases(agentflow) == ["overflow", "replaced"]
    assert agentflow.send("again").state == "done"


def test_an_overflow_with_nothing_before_it_runs_once_more_and_fails(agentflow: Kit) -> None:
    agentflow.agent(replies=[TOO_LONG, TOO_LONG, {"text": "fine"}])
    result = agentflow.send("x" * 1000)
    assert result.error is not None
    assert phases(agentflow) == ["overflow", "nothing_to_summarize"]
    assert agentflow.send("shorter").answer == "fine"


@pytest.mark.parametrize("kind", ["bad_request", "rate_limited"])
def test_a_refusal_that_only_looks_like_it_makes_no_room(agentflow: Kit, kind: str) -> None:
    """B26: the look-alikes (the table of providers' texts is tested with the models)."""
    agentflow.agent(replies=[{"text": "hi"}, {"error": {"kind": kind}}], settings={"llm_retries": 0})
    agentflow.send("one")
    assert agentflow.send("two").state == "failed"
    assert phases(agentflow) == []


def test_an_overflow_after_text_was_shown_fails_with_that_text(agentflow: Kit) -> None:
    """T12: what a reader has seen is not shown a second time."""
    agentflow.agent(replies=[{"text": "hi"}, {"text": "Half an ", "error": {"kind": "context_overflow", "after": 6}}])
    agentflow.send("one")
    result = agentflow.send("two")
    assert (result.state, result.answer) == ("failed", "Half a")
    assert phases(agentflow) == []


def test_an_overflow_in_the_middle_of_a_turn_keeps_its_request_and_last_exchange(agentflow: Kit) -> None:
    def read(page: int) -> str:
        """Read a page."""
        return f"PAGE{page} {FILLER}"

    def answer(request: ModelRequest) -> dict[str, Any]:
        number = len(of_purpose(agentflow.requests, "main"))
        if number == 6:
            return TOO_LONG
        return {"text": "end"} if number == 7 else {"tool_calls": [call("read", page=number)]}

    agentflow.agent(tools=[read], replies=answering(capitals, answer))
    assert agentflow.send("read all of it").answer == "end"
    assert phases(agentflow) == ["overflow", "replaced"]
    final = agentflow.requests[-1]
    assert_paired(final)
    assert ("user", "read all of it") in said(final)
    assert all(f"PAGE{page}" in texts(final) for page in range(1, 6))
    assert said(final)[-1][1].startswith("PAGE5")


# -- stopped and killed ------------------------------------------------------------------------------------------------


def test_a_stop_while_the_summary_is_written_ends_the_turn_without_its_text(agentflow: Kit) -> None:
    """T24, X15: the summary's text is not the partial answer; both calls are recorded as ended."""
    slow = {"text": "SUMMARY " * 50, "delay_secs": 0.05}
    agentflow.agent(replies=answering(lambda request: slow, chatty), context=over(900))
    fill(agentflow, 2)
    agentflow.submit({"type": "client.message", "message": {"role": "user", "content": f"go {FILLER}"}})
    agentflow.until("context.limited")
    assert agentflow.stop()["outcome"] == "stopped"
    last = agentflow.path()[-1]
    assert last["content"] == "<ABORTED BY USER>"
    open_calls = [event.data["call_id"] for event in agentflow.events("llm.call.requested")]
    ended = [event.data["call_id"] for event in agentflow.events("llm.call.completed", "llm.call.errored")]
    assert sorted(open_calls) == sorted(ended)
    assert agentflow.send("after").state == "done"


def commits_of(kit: Kit, message: str) -> int:
    before = kit.commits
    assert kit.send(message).state == "done"
    return kit.commits - before


@pytest.mark.parametrize("how", ["strategy", "settings", "overflow", "reset"])
@pytest.mark.parametrize("lean", [True, False])
def test_a_crash_at_every_commit_leaves_a_session_that_goes_on(
    agentflow: Kit, agentflow_db: str, how: str, lean: bool
) -> None:
    """T30, X18: at no commit of a compaction is anything lost, split or left open."""

    def look(number: int) -> str:
        """Look."""
        return f"seen {FILLER}"

    def answer(request: ModelRequest) -> dict[str, Any]:
        last = request.messages[-1]
        if how == "overflow" and last["content"] == "compact" and OPENING not in texts(request):
            return TOO_LONG
        if last["role"] == "tool":
            return {"text": f"done {FILLER}", "usage": {"input": 900, "output": 1}}
        return {"tool_calls": [call("look", number=1)], "usage": {"input": 10, "output": 1}}

    keys: dict[str, Any] = {
        "strategy": {"context": over(850)},
        "settings": {},
        "overflow": {},
        "reset": {"context": {"strategy": [{"use": "reset", "over_tokens": 850}]}},
    }[how]
    settings = {"lean_history": lean} | (by_settings(1000, keep=1) if how == "settings" else {})
    agentflow.agent(tools=[look], replies=answering(capitals, answer), settings=settings, **keys)

    number, died = 0, True
    while died:
        number += 1
        session = f"crash-{number}"
        agentflow.send(f"FACT {FILLER}", session)
        agentflow.kill_after(number)
        try:
            agentflow.send("compact", session)
            died = False
        except ProcessKilled:
            agentflow.reopen()
            agentflow.advance(60)
        agentflow.kill_after(10_000)
        assert agentflow.send("and on", session).state == "done"
        for request in agentflow.requests:
            if request.session_id == session:
                assert_paired(request)
        told = phases(agentflow, session)
        assert "replaced" in told or number < 4, told
        assert said(agentflow.requests[-1])[-1][0] == "tool"
        assert ("user", "and on") in said(agentflow.requests[-1])
    assert number > 5
    assert rows(agentflow_db, "SELECT count(*) FROM llm_call WHERE status = 'requested'") == [(0,)]
    assert replaced_somewhere(agentflow, number)


def replaced_somewhere(kit: Kit, sessions: int) -> bool:
    return any("replaced" in phases(kit, f"crash-{number}") for number in range(1, sessions + 1))


def test_a_turn_that_dies_in_the_summary_does_not_answer_with_it(agentflow: Kit) -> None:
    slow = {"text": "SUMMARY " * 50, "delay_secs": 0.05}
    agentflow.agent(replies=answering(lambda request: slow, chatty), context=over(900))
    fill(agentflow, 2)
    agentflow.submit({"type": "client.message", "message": {"role": "user", "content": f"go {FILLER}"}})
    agentflow.until("context.limited")
    agentflow.kill()
    agentflow.reopen()
    agentflow.send("after")
    assert all(
        "SUMMARY" not in str(message["content"]) for message in agentflow.path() if message["role"] == "assistant"
    )
    assert len(replaced(agentflow)) <= 1
