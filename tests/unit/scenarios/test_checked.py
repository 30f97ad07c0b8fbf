"""What was expected against what there was: each difference in one sentence, at its key."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import Event, ModelRequest, Seen, TurnResult, Usage, missing_event, performed, read_scenario


def event(type_: str, **data: Any) -> Event:
    return Event("s-1", 1, "t-1", 0, type_, data)


EVENTS = (
    event("turn.started"),
    event("tool.call.requested", id="c-1", name="add", arguments='{"a": 1}'),
    event("tool.call.requested", id="c-2", name="ask_user", arguments="{}"),
    event("tool.call.requested", id="c-3", name="pay", arguments="{"),
    event("tool.call.errored", id="c-3", name="pay", error="Error: no"),
    event("tool.call.completed", id="c-1", name="add", result="2"),
    event("tool.call.completed", id="c-2", name="ask_user", result="yes"),
    event("done", answer="Hello.", usage={"input": 3}),
)
REQUEST = ModelRequest(
    "c-1", "main",
    [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi."}],
    [{"type": "function", "function": {"name": "add"}}],
)  # fmt: skip
SEEN = Seen(
    TurnResult("s-1", "t-1", 1, "done", "Hello.", Usage(input=3, output=2)),
    events=EVENTS,
    requests=[("guide", REQUEST)],
    path=[{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}],
    status="idle",
)


def failures(expected: str, seen: Seen = SEEN) -> list[str]:
    """The sentences, without their places in the file."""
    file = read_scenario("x.test.yaml", text=f"agent: a\nsteps:\n  - send: Hi.\n    expect: {expected}\n")
    return [line.splitlines()[0].split("steps[0]")[1] for line in file.failures(0, seen)]


@pytest.mark.parametrize(
    "expected",
    [
        "{state: done, answer: Hello., status: idle, queued: 0, gone: false}",
        "{answer: {contains: [ell, o.], lacks: [Bye], matches: '^H'}}",
        '{tools: [{name: add, arguments: {a: 1}, result: "2"}, {name: pay, result: {contains: ["no"]}}]}',
        "{events: [turn.started, tool.call.completed, {type: done, data: {usage: {input: 3}}}]}",
        "{requests: [{agent: guide, system: Be kind., last: Hi., tools: [add], messages: [{user: Hi.}]}]}",
        "{tokens: {input: 3, output: 2, total: 5, at_most: 5}}",
        "{path: [{user: Hi.}, {assistant: {lacks: [Hi]}}]}",
    ],
)
def test_what_is_so_is_no_failure(expected: str) -> None:
    assert failures(expected) == []


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ("{state: failed}", ".expect.state: must be failed, is done"),
        ("{answer: Bye.}", ".expect.answer: must be 'Bye.', is 'Hello.'"),
        ("{answer: {lacks: [ell]}}", ".expect.answer: must not contain 'ell', is 'Hello.'"),
        ("{question: Which}", ".expect.question: must be 'Which', is nothing"),
        ("{error: limit_reached}", ".expect.error: must be limit_reached, is nothing"),
        ("{tools: []}", ".expect.tools: must be 0 calls, there are 2: add, pay"),
        ("{tools: [pay, pay]}", ".expect.tools[0].name: must be pay, is add"),
        ("{tools: [{name: add, arguments: {}}, pay]}", '.expect.tools[0].arguments: must be {}, is {"a": 1}'),
        ("{events: [done, turn.started]}", ".expect.events[1]: turn.started did not happen after done;"),
        ("{events: [{type: done, data: {usage: {}}}, done]}", ".expect.events[1]: done did not happen after done;"),
        ("{requests: []}", ".expect.requests: must be 0 requests, there are 1: Hi."),
        ("{requests: [{tools: []}]}", ".expect.requests[0].tools: must be none, are add"),
        ("{requests: [{last: Ho.}]}", ".expect.requests[0].last: must be 'Ho.', is 'Hi.'"),
        ("{requests: [{messages: [{assistant: Hi.}]}]}", "messages[0].assistant: must be of the assistant, is of the"),
        ("{tokens: {total: 4}}", ".expect.tokens.total: must be 4, is 5"),
        ("{tokens: {at_most: 4}}", ".expect.tokens.at_most: must be at most 4, is 5"),
        ("{path: [{user: Hi.}]}", ".expect.path: must be 1 messages, there are 2: user: Hi., assistant: Hello."),
        ("{status: running}", ".expect.status: must be running, is idle"),
        ("{gone: true}", ".expect.gone: must be True, is False"),
    ],
)
def test_a_difference_says_what_must_be_and_what_is(expected: str, said: str) -> None:
    (failure,) = failures(expected)
    assert said in failure


def test_a_turn_that_failed_and_a_step_that_raised_fail_unless_they_are_expected() -> None:
    error = {"code": "limit_reached", "message": "Too many.", "detail": {}}
    failed = Seen(TurnResult("s-1", "t-1", 1, "failed", None, Usage(), error=error))
    raised = Seen(error="turn_already_active", sentence="It runs.")
    assert failures("{}", failed) == [": the turn failed: limit_reached: Too many."]
    assert failures("{error: limit_reached}", failed) == failures("{state: failed}", failed) == []
    assert failures("{}", raised) == [": raised turn_already_active: It runs."]
    assert failures("{error: turn_already_active}", raised) == []


def test_performed_calls_stand_in_the_order_they_were_asked_for() -> None:
    assert performed(EVENTS) == [("add", '{"a": 1}', "2"), ("pay", "{", "Error: no")]


def test_the_first_missing_event_is_named_with_what_there_was() -> None:
    assert missing_event(EVENTS, [("turn.started", {}), ("done", {"answer": "Hello."})]) is None
    found = missing_event(EVENTS, [("done", {"answer": "Bye."})])
    assert found is not None
    assert found[1].startswith('done with {"answer": "Bye."} did not happen; there were turn.started, ')
