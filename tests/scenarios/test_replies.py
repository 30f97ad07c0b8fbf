"""Model replies, whole, cut, empty and failed (T12-T16)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow.models.protocol import FinishReason, ReasoningDelta, TextDelta, ToolFragment
from agentflow.testing import Kit
from tests.scenarios.support import Deltas, Gate, call, results, rows, said, watched

PASSING = {"kind": "unavailable", "retry_after": 0}


@pytest.fixture
def marks() -> list[str]:
    return []


@pytest.fixture
def mark(marks: list[str]) -> Any:
    def mark(text: str) -> str:
        """Mark something."""
        marks.append(text)
        return "marked"

    return mark


# -- cut at the output limit ---------------------------------------------------------------------------------------


def test_a_text_cut_at_the_output_limit_is_the_answer_and_marked(agentflow: Kit) -> None:
    """T12: `length` without tools: the text is the answer, marked `truncated`."""
    agentflow.agent(replies=[{"text": "Once upon a", "finish_reason": "length"}])
    result = agentflow.send("A story!")
    assert (result.state, result.answer) == ("done", "Once upon a")
    (told,) = agentflow.events("llm.call.completed")
    assert (told.data["finish_reason"], told.data["truncated"]) == ("length", True)


def test_the_providers_own_finish_word_is_kept_with_the_call(agentflow: Kit, agentflow_db: str) -> None:
    """T12: of a completed call, beside what it means; null where the provider's word is not known."""
    ended = [FinishReason("length", "max_tokens")], [FinishReason("stop")]
    agentflow.agent(model=Deltas(*([TextDelta("Once"), *finish] for finish in ended)))
    agentflow.send("A story!")
    (step,) = agentflow.run(agentflow.runtime.trace("s-1"))["steps"]
    assert [(node["finish_reason"], node["finish_word"]) for node in step["nodes"]] == [("length", "max_tokens")]
    agentflow.send("Again.")
    assert rows(agentflow_db, "SELECT finish_reason, finish_word FROM llm_call ORDER BY requested_at, turn") == [
        ("length", "max_tokens"), ("stop", None),
    ]  # fmt: skip


def test_no_call_of_a_reply_cut_at_the_output_limit_runs(agentflow: Kit, mark: Any, marks: list[str]) -> None:
    """B43: two complete calls and one cut one; none is executed, the model is told, the loop goes on."""
    cut = [call("mark", text="a"), call("mark", text="b"), {"name": "mark", "arguments": '{"te'}]
    agentflow.agent(tools=[mark], replies=[{"tool_calls": cut, "finish_reason": "length"}, {"text": "sorry"}])
    result = agentflow.send("Mark all.")
    assert (result.answer, marks) == ("sorry", [])
    assert len(results(agentflow.requests[1])) == 3
    assert all("cut at the output limit" in text for text in results(agentflow.requests[1]))
    assert len(agentflow.events("tool.call.errored")) == 3


def test_cut_arguments_under_another_finish_reason_are_an_error_result(
    agentflow: Kit, mark: Any, marks: list[str]
) -> None:
    """B43 (c): some servers report `tool_calls` for a reply that was cut."""
    broken = {"tool_calls": [{"name": "mark", "arguments": '{"text": "a'}], "finish_reason": "tool_calls"}
    agentflow.agent(tools=[mark], replies=[broken, {"text": "sorry"}])
    assert agentflow.send("Mark.").answer == "sorry"
    assert marks == []


# -- a stream that breaks ------------------------------------------------------------------------------------------


def test_a_stream_that_breaks_before_anything_was_shown_is_retried_silently(agentflow: Kit, agentflow_db: str) -> None:
    """B30, T12: reset before any delta."""
    agentflow.agent(replies=[{"error": PASSING}, {"error": PASSING}, {"text": "Hello world"}])
    result = agentflow.send("hi")
    assert (result.state, result.answer) == ("done", "Hello world")
    assert len(agentflow.requests) == 3
    assert len(agentflow.events("llm.call.requested")) == 1
    assert agentflow.events("llm.call.errored") == []
    assert rows(agentflow_db, "SELECT attempts, status FROM llm_call") == [(3, "completed")]


def test_a_retry_sends_the_same_request(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"error": PASSING}, {"text": "ok"}])
    agentflow.send("hi")
    assert agentflow.requests[0] == agentflow.requests[1]


def test_whoever_watches_sees_that_a_call_is_tried_again(agentflow: Kit) -> None:
    """T16: streamed, not logged."""
    opened = Gate({"error": PASSING}, {"text": "Here."})
    agentflow.agent(replies=opened)
    told = watched(agentflow, "Hi.", opened)
    (retrying,) = (event for event in told if event.type == "model.retrying")
    (requested,) = (event for event in told if event.type == "llm.call.requested")
    assert retrying.seq is None
    assert {key: retrying.data[key] for key in ("call_id", "attempt", "next_secs")} == {
        "call_id": requested.data["call_id"], "attempt": 1, "next_secs": 0,
    }  # fmt: skip
    assert agentflow.events("model.retrying") == []


@pytest.mark.parametrize("kind", ["cut", "unavailable"])
def test_a_stream_that_breaks_after_text_fails_the_turn_and_keeps_the_text(agentflow: Kit, kind: str) -> None:
    """B30: never 'Hello worHello world': one clear error, the partial text kept as the answer."""
    agentflow.agent(replies=[{"text": "Hello world", "error": {"kind": kind, "after": 9, "retry_after": 0}}])
    result = agentflow.send("hi")
    assert (result.state, result.answer) == ("failed", "Hello wor")
    assert result.error is not None
    assert result.error["code"] == f"model_error.{kind}"
    assert [message["content"] for message in agentflow.path()] == ["hi", "Hello wor"]
    (done,) = agentflow.events("done")
    assert (done.data["answer"], done.data["aborted"]) == ("Hello wor", False)


def test_shown_reasoning_counts_as_shown(agentflow: Kit) -> None:
    """T12: text and reasoning count as shown."""
    agentflow.agent(model=Deltas([ReasoningDelta("Hmm")]))
    result = agentflow.send("hi")
    assert (result.state, result.answer) == ("failed", None)
    assert result.error is not None
    assert result.error["code"] == "model_error.cut"


def test_tool_calls_of_a_cut_stream_are_dropped(agentflow: Kit, mark: Any, marks: list[str]) -> None:
    """T12, B01 (c): the whole call arrived and then the connection dropped."""
    agentflow.agent(
        tools=[mark],
        replies=[{"text": "I", "tool_calls": [call("mark", text="a")], "error": {"kind": "cut"}}, {"text": "ok"}],
    )
    assert agentflow.send("Mark.").state == "failed"
    assert marks == []
    assert agentflow.send("hello again").answer == "ok"
    assert said(agentflow.requests[1])[1:] == [("user", "Mark."), ("assistant", "I"), ("user", "hello again")]
    assert all("tool_calls" not in message for message in agentflow.path())


def test_arguments_that_broke_off_before_anything_was_shown_are_retried_whole(
    agentflow: Kit, mark: Any, marks: list[str]
) -> None:
    """B30: reset inside tool arguments: nothing is spliced."""
    agentflow.agent(
        tools=[mark],
        replies=[
            {"tool_calls": [call("mark", text="abc")], "error": {"kind": "unavailable", "after": 7, "retry_after": 0}},
            {"tool_calls": [call("mark", text="abc")]},
            {"text": "ok"},
        ],
    )
    assert agentflow.send("Mark.").answer == "ok"
    assert marks == ["abc"]


# -- errors --------------------------------------------------------------------------------------------------------


def test_retries_are_bounded(agentflow: Kit) -> None:
    """T16: `llm_retries` follow the first attempt, then the turn fails with what the provider said."""
    agentflow.agent(replies=[{"error": PASSING}] * 3, settings={"llm_retries": 2})
    result = agentflow.send("hi")
    assert result.error is not None
    assert (result.state, result.error["code"]) == ("failed", "model_error.unavailable")
    assert len(agentflow.requests) == 3


@pytest.mark.parametrize("kind", ["auth", "bad_request", "content_filter"])
def test_errors_that_do_not_pass_fail_the_turn_at_once(agentflow: Kit, kind: str) -> None:
    """T16: with a code and a sentence a person can act on; T41: one error event, before done."""
    agentflow.agent(replies=[{"error": {"kind": kind}}])
    result = agentflow.send("hi")
    assert result.error is not None
    assert (result.state, result.error["code"]) == ("failed", f"model_error.{kind}")
    assert result.error["message"].endswith(".")
    assert len(agentflow.requests) == 1
    types = [event.type for event in agentflow.events()]
    assert types[-5:] == ["llm.call.errored", "error", "step.completed", "turn.completed", "done"]
    assert agentflow.events("error")[0].data == result.error
    assert agentflow.events("done")[0].data["error"] == result.error


def test_a_model_that_takes_too_long_is_a_timeout(agentflow: Kit) -> None:
    """Limits: `llm_timeout_secs`."""
    slow = {"text": "never", "delay_secs": 30}
    agentflow.agent(replies=[slow], settings={"llm_timeout_secs": 0.01, "llm_retries": 0})
    result = agentflow.send("hi")
    assert result.error is not None
    assert result.error["code"] == "model_error.timeout"
    assert "0.01 seconds" in result.error["message"]


def test_a_fault_of_the_model_adapter_fails_the_turn_and_not_the_process(agentflow: Kit) -> None:
    def broken(request: Any) -> dict[str, Any]:
        raise ZeroDivisionError("oops")

    agentflow.agent(replies=broken)
    result = agentflow.send("hi")
    assert result.error is not None
    assert (result.state, result.error["code"]) == ("failed", "internal_error")
    agentflow.script([{"text": "ok"}])
    assert agentflow.send("again").answer == "ok"


# -- empty replies -------------------------------------------------------------------------------------------------


SILENT = pytest.mark.parametrize(
    "reply",
    [{"text": ""}, {"text": "   "}, {"text": "\n"}, {"reasoning": "Hmm."}],
    ids=["nothing", "blanks", "a newline", "only reasoning"],
)


@SILENT
def test_a_silent_end_after_results_is_done_and_no_message(
    agentflow: Kit, mark: Any, marks: list[str], reply: dict[str, Any]
) -> None:
    """B37, T12: the tools have done the work; no empty text goes out with the next turn."""
    agentflow.agent(tools=[mark], replies=[{"tool_calls": [call("mark", text="a")]}, reply, {"text": "ok"}])
    result = agentflow.send("hi")
    assert (result.state, result.answer, result.error, marks) == ("done", None, None, ["a"])
    agentflow.send("again")
    assert said(agentflow.requests[2])[-1] == ("user", "again")
    assert not any(role == "assistant" and text is not None for role, text in said(agentflow.requests[2]))


@SILENT
def test_a_silent_answer_to_a_user_is_a_cut_one(agentflow: Kit, reply: dict[str, Any]) -> None:
    """T12: never `done` with nothing said."""
    agentflow.agent(replies=[reply], settings={"llm_retries": 0})
    result = agentflow.send("hi")
    assert result.error is not None
    assert (result.state, result.answer or None, result.error["code"]) == ("failed", None, "model_error.cut")
    assert "neither text nor a call" in result.error["message"]
    agentflow.script([{"text": "ok"}])
    assert agentflow.send("again").answer == "ok"


def test_silence_is_tried_again(agentflow: Kit) -> None:
    """T12, T16"""
    agentflow.agent(replies=[{"text": ""}, {"text": "Here I am."}])
    assert agentflow.send("hi").answer == "Here I am."


@pytest.mark.parametrize("reply", [{"reasoning": "Let me think of"}, {"text": ""}], ids=["reasoning", "nothing"])
def test_the_output_limit_before_anything_was_said_names_the_setting(agentflow: Kit, reply: dict[str, Any]) -> None:
    """T12, D59: trying again would not help."""
    agentflow.agent(replies=[{**reply, "finish_reason": "length"}])
    result = agentflow.send("hi")
    assert result.error is not None
    assert (result.state, result.error["code"], len(agentflow.requests)) == ("failed", "model_error.output_limit", 1)
    assert "max_output_tokens" in result.error["message"]


def test_a_refusal_is_the_answer(agentflow: Kit) -> None:
    """T12, D53"""
    agentflow.agent(replies=[{"text": "I cannot.", "finish_reason": "refusal"}])
    assert (agentflow.send("hi").state, agentflow.path()[-1]["content"]) == ("done", "I cannot.")
    assert agentflow.events("llm.call.completed")[0].data["finish_reason"] == "refusal"


def test_a_call_told_three_times_runs_once(agentflow: Kit, mark: Any, marks: list[str]) -> None:
    """T14, D56"""
    agentflow.agent(tools=[mark], replies=[{"tool_calls": [call("mark", text="a") | {"id": "c1"}] * 3}, {"text": "ok"}])
    assert (agentflow.send("Mark.").answer, marks) == ("ok", ["a"])


@pytest.mark.parametrize("text", ["", "  "])
def test_a_reply_of_calls_only_has_no_text_on_the_wire(agentflow: Kit, mark: Any, text: str) -> None:
    """B37: a tool-call-only reply is null, never an empty string."""
    agentflow.agent(tools=[mark], replies=[{"text": text, "tool_calls": [call("mark", text="a")]}, {"text": "ok"}])
    agentflow.send("Mark.")
    assert said(agentflow.requests[1])[2] == ("assistant", None)


def test_a_withheld_reply_without_text_fails_the_turn(agentflow: Kit) -> None:
    """T16: a content filter says so instead of an empty answer."""
    agentflow.agent(replies=[{"finish_reason": "content_filter"}])
    result = agentflow.send("hi")
    assert result.error is not None
    assert (result.state, result.error["code"]) == ("failed", "model_error.content_filter")


def test_a_withheld_reply_with_text_is_an_answer(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "Well", "finish_reason": "content_filter"}])
    assert agentflow.send("hi").answer == "Well"


# -- calls and provider data ---------------------------------------------------------------------------------------


def test_missing_and_repeated_call_ids_get_our_own(agentflow: Kit, mark: Any, marks: list[str]) -> None:
    """T14."""
    fragments = [
        ToolFragment(0, "x", "mark", '{"text": "a"}'),
        ToolFragment(1, None, "mark", '{"text": "b"}'),
        ToolFragment(2, "x", "mark", '{"text": "c"}'),
    ]
    model = Deltas([*fragments, FinishReason("tool_calls")], [TextDelta("ok"), FinishReason("stop")])
    agentflow.agent(tools=[mark], model=model)
    assert agentflow.send("Mark.").answer == "ok"
    assert sorted(marks) == ["a", "b", "c"]
    asked = [each["id"] for each in model.requests[1].messages[2]["tool_calls"]]
    assert asked[0] == "x"
    assert len(set(asked)) == 3


def test_a_call_without_a_name_is_an_error_result(agentflow: Kit, mark: Any) -> None:
    """B28: not a crash."""
    model = Deltas(
        [ToolFragment(0, "x", None, "{}"), FinishReason("tool_calls")], [TextDelta("ok"), FinishReason("stop")]
    )
    agentflow.agent(tools=[mark], model=model)
    assert agentflow.send("Mark.").answer == "ok"
    assert "names no tool" in results(model.requests[1])[0]


def test_provider_data_goes_back_to_the_provider_in_the_same_turn_only(agentflow: Kit, mark: Any) -> None:
    """T15, B31: byte-identical in the tool loop, never part of the answer, gone in the next turn."""
    blocks = [{"type": "thinking", "thinking": "", "signature": "s=="}, {"type": "redacted_thinking", "data": "x"}]
    agentflow.agent(
        tools=[mark],
        replies=[
            {"reasoning": "Hm.", "provider": {"thinking_blocks": blocks}, "tool_calls": [call("mark", text="a")]},
            {"text": "ok", "provider": {"thinking_blocks": blocks}},
            {"text": "bye"},
        ],
    )
    assert agentflow.send("Mark.").answer == "ok"
    agentflow.send("again")
    assert agentflow.requests[1].messages[2]["thinking_blocks"] == blocks
    assert not any("thinking_blocks" in message for message in agentflow.requests[2].messages)
    assert "Hm." not in str(agentflow.path())
