"""Room is made before a call that would read too much (X7-X13, X17, X20); seed sentences are quoted."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import ModelRequest
from agentflow.testing import Kit
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
from tests.scenarios.support import Gate, call, said, watched

IDLE = {"window": 200000, "strategy": [{"use": "reset", "idle_secs": 3600}, {"use": "summarize"}]}


def reporting(*inputs: int | None) -> Any:
    """A model whose main calls report these input tokens, one after the other; the last one for all that follow."""
    left = list(inputs)

    def answer(request: ModelRequest) -> dict[str, Any]:
        tokens = left.pop(0) if len(left) > 1 else left[0]
        usage = {} if tokens is None else {"input": tokens, "output": 5}
        return {"text": f"answer {request.turn}", "usage": usage}

    return answering(lambda request: {"text": "S", "usage": {"input": 190000, "output": 5}}, answer)


# -- strategies --------------------------------------------------------------------------------------------------------


def test_an_hour_with_no_turn_starts_the_model_over(agentflow: Kit) -> None:
    """Seed: "Here an hour with no turn starts the model over"; X13: no summary, only the current turn."""
    agentflow.agent(replies=chatty, context=IDLE)
    agentflow.send("before")
    agentflow.advance(3600)
    agentflow.send("after")
    assert said(agentflow.requests[-1]) == [("system", "You are under test."), ("user", "after")]
    assert phases(agentflow) == ["idle", "replaced"]
    limited, done = agentflow.events("context.limited", "context.replaced")
    assert limited.data["strategy"] == "reset"
    assert limited.data["window"] == 200000
    assert done.data["summary"] is None
    assert (done.data["kept"], done.data["copied"]) == (1, 1)
    assert len(agentflow.requests) == 2


@pytest.mark.parametrize("seconds", [3599, -3600, 0])
def test_less_than_the_idle_time_changes_nothing(agentflow: Kit, seconds: float) -> None:
    """X11; a clock that went back is no idle time."""
    agentflow.agent(replies=chatty, context=IDLE)
    agentflow.send("before")
    agentflow.advance(seconds)
    agentflow.send("after")
    assert phases(agentflow) == []


def test_a_first_turn_is_never_idle(agentflow: Kit) -> None:
    agentflow.agent(replies=chatty, context={"strategy": [{"use": "reset", "idle_secs": 0}]})
    agentflow.send("first")
    assert phases(agentflow) == []
    agentflow.send("second")
    assert phases(agentflow) == ["idle", "replaced"]


def test_idle_time_is_looked_at_only_before_the_first_call_of_a_turn(agentflow: Kit) -> None:
    """Seed: "idle_secs applies only at a turn's first model call" (ctx-005)."""

    def wait() -> str:
        """Wait two hours."""
        agentflow.advance(7200)
        return "waited"

    agentflow.agent(
        tools=[wait], replies=[{"text": "hi"}, {"tool_calls": [call("wait")]}, {"text": "done"}], context=IDLE
    )
    agentflow.send(f"one {FILLER}")
    agentflow.send("two")
    assert phases(agentflow) == []


def test_a_question_answered_much_later_is_no_reason_to_start_over(agentflow: Kit) -> None:
    """X17: on a resumed step no idle reset; the next turn counts from its end."""
    question = {"questions": [{"header": "Colour", "question": "Which?", "options": []}]}
    agentflow.agent(
        replies=[{"text": "hi"}, {"tool_calls": [call("ask_user", **question)]}, {"text": "red then"}, {"text": "bye"}],
        context=IDLE,
    )
    agentflow.send(f"one {FILLER}")
    agentflow.send("two")
    agentflow.advance(100_000)
    agentflow.answer("red")
    assert phases(agentflow) == []
    assert texts(agentflow.requests[-1]).count("one lorem") == 1
    agentflow.advance(3600)
    agentflow.send("three")
    assert phases(agentflow) == ["idle", "replaced"]


def test_idle_time_counts_from_the_death_of_a_killed_turn(agentflow: Kit) -> None:
    """X11, B65: instants, also when the previous turn never ended by itself."""
    agentflow.agent(replies=chatty, context=IDLE)
    agentflow.send(f"one {FILLER}")
    agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "two"}})
    agentflow.kill()
    agentflow.reopen()
    agentflow.advance(3599)
    agentflow.send("three")
    assert "idle" not in phases(agentflow)


def test_the_window_less_16000_tokens_is_the_limit(agentflow: Kit) -> None:
    """Seed: "when the model would read more than 184,000 tokens, the engine summarizes" (ctx-002)."""
    agentflow.agent(replies=reporting(183_990, 10), prompt="", context=IDLE)
    agentflow.send(f"one {FILLER}")
    agentflow.send("t" * 40)  # with the 8 characters of the answer 12 tokens more
    assert phases(agentflow) == ["full", "replaced"]
    limited = agentflow.events("context.limited")[0]
    assert limited.data == {
        "reason": "full",
        "strategy": "summarize",
        "tokens": 183_990 + 12,
        "window": 200_000,
        "call_id": agentflow.events("llm.call.requested")[1].data["call_id"],
    }


def test_exactly_the_limit_is_not_more_than_it(agentflow: Kit) -> None:
    agentflow.agent(replies=reporting(183_988, 10), prompt="", context=IDLE)
    agentflow.send(f"one {FILLER}")
    agentflow.send("t" * 40)
    assert phases(agentflow) == []


@pytest.mark.parametrize("reported", [None, 0])
def test_no_report_is_no_truth(agentflow: Kit, reported: int | None) -> None:
    """B20 (iv), (v): without usage, or with zero, characters are counted."""
    agentflow.agent(replies=reporting(reported), context=over(700))
    agentflow.send("short" * 50)
    assert phases(agentflow) == []
    agentflow.send("long " * 300)
    assert phases(agentflow) == ["full", "replaced"]


def test_the_report_is_found_again_in_another_process(agentflow: Kit) -> None:
    """X5: also after a restart; the summary call's own tokens never feed it (B19 c)."""
    agentflow.agent(replies=reporting(190_000, 20_000), context=IDLE)
    agentflow.send(f"one {FILLER}")
    agentflow.restart()
    agentflow.send("two")
    assert phases(agentflow) == ["full", "replaced"]
    agentflow.restart()
    agentflow.send("three")
    agentflow.send("four")
    assert phases(agentflow) == ["full", "replaced"]
    assert len(of_purpose(agentflow.requests, "summary")) == 1


@pytest.mark.parametrize("restart", [False, True], ids=["warm", "cold"])
def test_the_held_calls_own_report_counts_on_the_new_branch(agentflow: Kit, restart: bool) -> None:
    """X5, X19: the call was requested on the branch that was left, and answered on the new one."""
    agentflow.agent(replies=reporting(4000, 2990, 10), context=over(3000))
    agentflow.send(f"one {FILLER}")
    agentflow.send(f"two {FILLER}")
    if restart:
        agentflow.restart()
    agentflow.send("t" * 40)
    assert phases(agentflow) == ["full", "replaced", "full", "replaced"]
    assert agentflow.events("context.limited")[1].data["tokens"] == 2990 + 12


def test_the_report_of_another_branch_is_not_of_this_one(agentflow: Kit) -> None:
    """C6, X5."""
    agentflow.agent(replies=reporting(100, 190_000, 100), context=IDLE)
    agentflow.send(f"one {FILLER}")
    second = agentflow.path()[-1]["id"]
    agentflow.send("two")
    agentflow.edit(agentflow.path()[-2]["id"], "two, differently")
    assert phases(agentflow) == []
    assert agentflow.path()[1]["id"] == second


def test_the_first_strategy_that_applies_is_taken(agentflow: Kit) -> None:
    """Seed: "The engine tries them in order. The first that applies sets the plan" (ctx-004)."""
    agentflow.agent(replies=reporting(190_000, 10), context=IDLE)
    agentflow.send(f"one {FILLER}")
    agentflow.advance(3601)
    agentflow.send("two")
    assert phases(agentflow) == ["idle", "replaced"]
    assert of_purpose(agentflow.requests, "summary") == []


def test_both_conditions_must_hold_when_both_are_given(agentflow: Kit) -> None:
    """X11."""
    both = {"strategy": [{"use": "reset", "idle_secs": 60, "over_tokens": 1000}]}
    agentflow.agent(replies=reporting(10, 5000, 5000, 10), context=both)
    agentflow.send("small")
    agentflow.advance(60)
    agentflow.send("idle but small")
    agentflow.send("big but busy")
    assert phases(agentflow) == []
    agentflow.advance(60)
    agentflow.send("big and idle")
    assert phases(agentflow) == ["idle", "replaced"]


def test_the_summary_is_written_by_the_interface_and_with_the_prompt_of_the_strategy(agentflow: Kit) -> None:
    """Seed: "A summarize strategy takes prompt for its own instructions"; X13: no tools, not streamed."""

    def look() -> str:
        """Look."""
        return "seen"

    context = over(1000, prompt="Only the code words.", llm="cheap")
    cheap = {"cheap": {"model": "scripted/other"}}
    agentflow.agent(tools=[look], replies=answering(capitals, chatty), context=context, interfaces=cheap)
    for number in range(8):
        agentflow.send(f"KIWI{number} {FILLER}")
    summary = of_purpose(agentflow.requests, "summary")[0]
    assert summary.messages[0] == {"role": "system", "content": "Only the code words."}
    assert [message["role"] for message in summary.messages] == ["system", "user"]
    assert list(summary.tools) == []


def test_what_is_summarized_is_gone_and_what_is_asked_stays(agentflow: Kit) -> None:
    """X13, X18: the summary is a user message at the root, the current turn follows word for word."""
    agentflow.agent(replies=answering(capitals, chatty), context=over(500))
    agentflow.send(f"the code word is KIWI {FILLER}")
    agentflow.send("a hash 3f2a: do NOT delete it\nline two\nline three")
    request = agentflow.requests[-1]
    assert said(request)[-1] == ("user", "a hash 3f2a: do NOT delete it\nline two\nline three")
    assert said(request)[1][0] == "user"
    assert said(request)[1][1].startswith(OPENING)
    assert "KIWI" in said(request)[1][1]
    assert len(request.messages) == 3
    assert "3f2a" not in texts(of_purpose(agentflow.requests, "summary")[0])


def test_a_turn_that_grows_too_large_by_itself_is_cut_between_exchanges(agentflow: Kit) -> None:
    """X13: its older exchanges are summarized too; kept: the message that opened it and the last exchange."""

    def read(page: int) -> str:
        """Read a page."""
        return f"PAGE{page} " + FILLER * 3

    def answer(request: ModelRequest) -> dict[str, Any]:
        page = len([1 for each in agentflow.requests if each.purpose == "main"])
        if page == 30:
            return {"text": "read all"}
        return {"tool_calls": [call("read", page=page), call("read", page=1000 + page)]}

    agentflow.agent(
        tools=[read], replies=answering(capitals, answer), context=over(6000), settings={"max_repeated_calls": 0}
    )
    assert agentflow.send("read the whole BOOK").answer == "read all"
    assert phases(agentflow).count("replaced") >= 2
    for request in agentflow.requests:
        assert_paired(request)
        if request.purpose == "main":
            assert ("user", "read the whole BOOK") in said(request)
            assert request.chars / 4 <= 6000 + 2200, "one exchange more than the limit at most"
    final = agentflow.requests[-1]
    assert all(f"PAGE{page}" in texts(final) for page in range(1, 30))


def test_calls_that_were_summarized_keep_their_ids_to_themselves(agentflow: Kit) -> None:
    """T14: a provider that numbers its calls afresh in every reply, in one long turn and across a pause."""
    question = {"questions": [{"header": "Go", "question": "Go on?", "options": []}]}

    def read() -> str:
        """Read."""
        return FILLER * 3

    def answer(request: ModelRequest) -> dict[str, Any]:
        number = len(of_purpose(agentflow.requests, "main"))
        if number == 12:
            return {"tool_calls": [{"id": "c1", **call("ask_user", **question)}]}
        if number == 24:
            return {"text": "end"}
        return {"tool_calls": [{"id": "c1", **call("read")}]}

    agentflow.agent(
        tools=[read], replies=answering(capitals, answer), context=over(1500), settings={"max_repeated_calls": 0}
    )
    assert agentflow.send("go").state == "paused_ask_user"
    agentflow.restart()
    assert agentflow.answer("yes").answer == "end"
    assert phases(agentflow).count("replaced") >= 2
    for request in agentflow.requests:
        assert_paired(request)


# -- settings ----------------------------------------------------------------------------------------------------------


def test_settings_keep_the_recent_messages_and_the_new_one(agentflow: Kit) -> None:
    """Seed: "The system prompt and the most recent messages are kept verbatim"; X8."""
    agentflow.agent(replies=answering(capitals, reporting(10, 10, 10, 900, 10)), settings=by_settings(1000, keep=2))
    for number in range(5):
        agentflow.send(f"WORD{number} {FILLER}" if number < 3 else f"WORD{number}")
    assert phases(agentflow) == ["full", "replaced"]
    request = agentflow.requests[-1]
    assert said(request)[0] == ("system", "You are under test.")
    assert said(request)[1][1].endswith("Code words: WORD0, WORD1, WORD2")
    assert said(request)[2:] == [("user", "WORD3"), ("assistant", "answer 4"), ("user", "WORD4")]
    limited = agentflow.events("context.limited")[0]
    assert "strategy" not in limited.data
    assert (limited.data["tokens"], limited.data["window"]) == (900, 1000)


@pytest.mark.parametrize(("fraction", "window"), [(0, 1000), (0.8, 0)])
def test_settings_run_only_when_both_numbers_are_above_0(agentflow: Kit, fraction: float, window: int) -> None:
    """Seed: "Compaction runs only when both ... are greater than 0"."""
    agentflow.agent(replies=reporting(100_000), settings=by_settings(window, keep=0, fraction=fraction))
    for text in ("one", "two", "three"):
        agentflow.send(f"{text} {FILLER}")
    assert phases(agentflow) == []


def test_settings_run_at_most_once_a_turn_and_before_its_first_call(agentflow: Kit) -> None:
    """Seed: "It runs at the start of a turn, before the first LLM call"."""

    def look() -> str:
        """Look."""
        return "seen"

    def answer(request: ModelRequest) -> dict[str, Any]:
        last = request.messages[-1]["role"]
        reply = {"text": "ok"} if last == "tool" else {"text": "looking", "tool_calls": [call("look")]}
        return {**reply, "usage": {"input": 5000, "output": 1}}

    agentflow.agent(tools=[look], replies=answering(capitals, answer), settings=by_settings(1000, keep=0))
    for text in ("one", "two", "three"):
        agentflow.send(f"{text} {FILLER}")
    turns = [event.turn_id for event in agentflow.events("context.limited")]
    assert len(turns) == len(set(turns)) == 2
    kinds = [event.type for event in agentflow.events() if event.turn_id == turns[0]]
    assert kinds.index("context.limited") < kinds.index("tool.call.requested")


def test_settings_do_not_run_on_a_turn_that_resumes_ask_user(agentflow: Kit) -> None:
    """Seed: "It does not run on a turn that resumes a paused ask_user"."""
    question = {"questions": [{"header": "Colour", "question": "Which?", "options": []}]}
    big = {"usage": {"input": 5000, "output": 1}}
    agentflow.agent(
        replies=[{"text": "hi"}, {"tool_calls": [call("ask_user", **question)], **big}, {"text": "red"}],
        settings=by_settings(1000, keep=0),
    )
    agentflow.send(f"one {FILLER}")
    agentflow.send("two")
    agentflow.answer("red")
    assert phases(agentflow) == []


def test_later_turns_load_the_compacted_view_instead_of_summarizing_again(agentflow: Kit) -> None:
    """Seed: "A checkpoint is stored in the session, so later turns load the compacted view" (X10)."""
    agentflow.agent(replies=answering(capitals, reporting(900, 10)), settings=by_settings(1000, keep=0))
    agentflow.send(f"FIRST {FILLER}")
    agentflow.send("second")
    agentflow.restart()
    agentflow.send("third")
    assert len(of_purpose(agentflow.requests, "summary")) == 1
    assert said(agentflow.requests[-1])[1][1].startswith(OPENING)
    assert "FIRST" in said(agentflow.requests[-1])[1][1]


def test_fewer_messages_than_are_kept_leave_nothing_to_summarize(agentflow: Kit) -> None:
    """X8; B19 (a): no summary call, and it says so."""
    agentflow.agent(replies=reporting(5000), settings=by_settings(1000, keep=30))
    agentflow.send(f"one {FILLER}")
    assert phases(agentflow) == []
    agentflow.send("two")
    assert phases(agentflow) == ["full", "nothing_to_summarize"]
    assert of_purpose(agentflow.requests, "summary") == []


def test_both_configured_settings_come_first(agentflow: Kit) -> None:
    """X17: and at most one of them makes room before a call."""
    agentflow.agent(
        replies=answering(capitals, reporting(900, 10)), settings=by_settings(1000, keep=0), context=over(700)
    )
    agentflow.send(f"one {FILLER}")
    agentflow.send("two " * 200)
    assert phases(agentflow) == ["full", "replaced"]
    assert "strategy" not in agentflow.events("context.limited")[0].data


def test_what_settings_have_just_compacted_no_strategy_compacts_again(agentflow: Kit) -> None:
    """X17: at most one size-triggered compaction between two loop calls."""
    agentflow.agent(
        replies=answering(capitals, reporting(10, 10, 900, 10)), settings=by_settings(1000, keep=2), context=over(580)
    )
    for number in range(4):
        agentflow.send(f"WORD{number} {FILLER}")
    assert phases(agentflow) == ["full", "replaced"]
    assert agentflow.requests[-1].chars / 4 > 580, "the strategy's own limit is still exceeded"


def test_the_summary_is_counted_and_recorded_as_a_call_of_its_own(agentflow: Kit) -> None:
    """X6, X20: one row per model call of any purpose; sums include it."""
    agentflow.agent(replies=reporting(190_000, 10), context=IDLE)
    agentflow.send(f"one {FILLER}")
    result = agentflow.send("two")
    assert result.usage.input == 190_000 + 10
    kinds = [(event.data["purpose"]) for event in agentflow.events("llm.call.completed")]
    assert kinds == ["main", "summary", "main"]
    types = [event.type for event in agentflow.events() if event.turn_id == result.turn_id]
    opened, closed = types.index("context.limited"), types.index("context.replaced")
    assert types[opened:closed].count("llm.call.requested") == 1
    assert replaced(agentflow)[0].data["tokens_after"] < replaced(agentflow)[0].data["tokens_before"] + 1


def test_the_summary_is_not_streamed_and_never_the_answer(agentflow: Kit) -> None:
    """Seed: "The summary that the engine proposes is not streamed"; X15."""
    agentflow.agent(replies=reporting(190_000, 10), context=IDLE)
    agentflow.send(f"one {FILLER}")
    gate = Gate({"text": "S"}, {"text": "answer 2"})
    agentflow.script(gate)
    told = [event.data.get("text", "") for event in watched(agentflow, "two", gate) if event.type == "llm.delta"]
    assert "".join(told) == "answer 2"
    assert [message["role"] for message in agentflow.path()] == ["user", "user", "assistant"]
