"""A worker's answer is judged whole: the table trigger x action, ids, names, order (C33)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentflow.errors import WorkerFailed
from agentflow.message import Message, ToolCall
from agentflow.turn.decide import table
from agentflow.turn.decide.actions import CallModel, Done
from agentflow.turn.decide.decision import Decision
from agentflow.turn.decide.judge import TYPES, Situation, judge
from agentflow.turn.decide.protocol import FORMS, read_response
from agentflow.turn.decide.table import TABLE, May, Point

QUESTION = {"header": "Plan", "question": "Which one?"}
PATH = [Message("u1", "user", "hi")]
REPLY = Message("m1", "assistant", None, (ToolCall("c1", "double", "{}"), ToolCall("c2", "ask_user", "{}")))
RESULT = Message("r1", "tool", "4", (), "c1", "double")

SAMPLES: dict[str, dict[str, Any]] = {
    "llm.call": {},
    "tool.call": {"name": "double", "input": {"n": 1}},
    "tool.result": {"id": "c1", "result": 4},
    "tool.error": {"id": "c1", "error": "no"},
    "ask_user": {"questions": [QUESTION]},
    "context.replace": {"summary": "S"},
    "done": {"data": [1]},
    "fail": {"error": "offline"},
}


def situation(point: Point) -> Situation:
    """Everything is there that an action may need; during calls, c1 is open and left to the worker."""
    brought = {Point.LLM_FINISHED: REPLY, Point.TOOL_FINISHED: RESULT}.get(point)
    during = point in (Point.TOOL_EXECUTE, Point.TOOL_FINISHED)
    held = "m9" if point in (Point.CONTEXT_LIMIT, Point.SUMMARY_FINISHED) else None
    return Situation(
        point, PATH, brought, ("c1",) if during else (), ("c1",) if during else (), held, held is not None,
        ("double", "hand_over", "ask_user"), ("hand_over",), ("main", "cheap"),
    )  # fmt: skip


def judged(actions: list[dict[str, Any]], at: Situation, messages: Any = None) -> Decision:
    view = [message.as_dict() for message in (*at.path, *([at.brought] if at.brought else []))]
    raw = {"messages": view if messages is None else messages, "actions": actions}
    if at.point is Point.SESSION_START:
        raw.pop("messages")
    return judge(read_response(raw, {}), at)


def refused(actions: list[dict[str, Any]], at: Situation, field: str, messages: Any = None) -> str:
    with pytest.raises(WorkerFailed) as failed:
        judged(actions, at, messages)
    assert failed.value.detail == {"field": field}
    return failed.value.message


def sample(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **SAMPLES[kind], **fields}


def test_the_table_has_every_point_and_every_action() -> None:
    assert set(TABLE) == set(Point)
    assert {frozenset(row) for row in TABLE.values()} == {frozenset(FORMS)}
    assert set(TYPES.values()) == set(FORMS) == set(SAMPLES)


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("point", Point)
def test_each_action_may_stand_where_the_table_says_and_nowhere_else(point: Point, kind: str) -> None:
    """D25: done, or refused naming the field; nothing is dropped."""
    may, at = TABLE[point][kind], situation(point)
    if may in (May.NO, May.NONE_OPEN):
        refused([sample(kind)], at, "actions[0].type")
    else:
        assert [TYPES[type(action)] for action in judged([sample(kind)], at).actions] == [kind]


@pytest.mark.parametrize("kind", [name for name, may in TABLE[Point.TOOL_EXECUTE].items() if may is May.NONE_OPEN])
@pytest.mark.parametrize("first", ["tool.result", "tool.error", "context.replace"])
def test_what_needs_all_calls_closed_may_follow_what_closes_them(kind: str, first: str) -> None:
    assert len(judged([sample(first), sample(kind)], situation(Point.TOOL_EXECUTE)).actions) == 2


@pytest.mark.parametrize("second", SAMPLES)
@pytest.mark.parametrize("first", table.ENDING)
def test_nothing_follows_what_ends_an_answer(first: str, second: str) -> None:
    """D25: [llm.call, ask_user], [done, tool.call]."""
    assert first in refused([sample(first), sample(second)], situation(Point.LLM_FINISHED), "actions[1].type")


@pytest.mark.parametrize("actions", [
    [sample("tool.result"), sample("tool.error")], [sample("tool.call", id="c1"), sample("tool.result")],
    [sample("tool.call", id="x"), sample("tool.call", id="x")],
    [sample("tool.call", id="x"), sample("ask_user", id="x")],
])  # fmt: skip
def test_twice_the_same_id_in_one_answer_is_refused(actions: list[dict[str, Any]]) -> None:
    """D22, C33."""
    assert "twice" in refused(actions, situation(Point.LLM_FINISHED), "actions[1].id")


def test_twice_the_same_message_id_is_refused() -> None:
    twice = [{"id": "n1", "role": "user", "content": "a"}] * 2
    refused([sample("context.replace", messages=twice)], situation(Point.LLM_FINISHED), "actions[0].messages[1].id")
    refused([], situation(Point.CLIENT_MESSAGES), "messages[1].id", twice)


@pytest.mark.parametrize(("action", "point", "field"), [
    (sample("tool.result", id="c9"), Point.LLM_FINISHED, "id"),
    (sample("tool.error", id="c9"), Point.TOOL_EXECUTE, "id"),
    (sample("tool.call", name="dance"), Point.CLIENT_MESSAGES, "name"),
    ({"type": "tool.call", "id": "c9"}, Point.LLM_FINISHED, "name"),
    (sample("tool.call", id="c1", name="hand_over"), Point.LLM_FINISHED, "name"),
    (sample("llm.call", llm="nobody"), Point.CLIENT_MESSAGES, "llm"),
    (sample("llm.call", id="m9"), Point.CLIENT_MESSAGES, "id"),
    (sample("llm.call", id="m8"), Point.CONTEXT_LIMIT, "id"),
    (sample("llm.call", purpose="summary"), Point.CLIENT_MESSAGES, "purpose"),
    (sample("llm.call", purpose="summary", id="m9"), Point.CONTEXT_LIMIT, "id"),
    (sample("llm.call", model="unknown"), Point.CLIENT_MESSAGES, "model"),
])  # fmt: skip
def test_names_and_ids_are_known_where_they_must_be(action: dict[str, Any], point: Point, field: str) -> None:
    at = replace(situation(point), unusable=lambda call: ("model", "nobody opens it.") if call.model else None)
    refused([action], at, f"actions[0].{field}")


@pytest.mark.parametrize("fields", [{"id": "m9"}, {}, {"purpose": "summary"}])
def test_the_held_call_is_named_or_not_and_a_summary_comes_before_it(fields: dict[str, Any]) -> None:
    action = sample("llm.call", **fields)
    assert judged([action], situation(Point.CONTEXT_LIMIT)).then is not None
    if "purpose" in fields:
        refused([action], replace(situation(Point.CONTEXT_LIMIT), can_summarize=False), "actions[0].purpose")


@pytest.mark.parametrize("last", ["llm.call", "done"])
def test_nothing_but_its_pause_follows_a_question(last: str) -> None:
    refused(
        [sample("tool.call", id="c2", name="ask_user"), sample(last)], situation(Point.LLM_FINISHED), "actions[1].type"
    )


def test_a_call_that_ends_the_turn_is_not_followed_by_the_model() -> None:
    calls = [sample("tool.call", name="hand_over")]
    refused([*calls, sample("llm.call")], situation(Point.CLIENT_MESSAGES), "actions[1].type")
    assert judged([*calls, sample("done")], situation(Point.CLIENT_MESSAGES)).then == Done([1])


def test_the_history_is_replaced_once() -> None:
    refused([sample("context.replace")] * 2, situation(Point.CLIENT_MESSAGES), "actions[1].type")


def test_where_nobody_can_be_asked_a_question_is_refused() -> None:
    refused([sample("ask_user")], replace(situation(Point.CLIENT_MESSAGES), tools=("double",)), "actions[0].type")


def test_a_task_has_no_data() -> None:
    refused([sample("done")], replace(situation(Point.TURN_FINISHED), takes_data=False), "actions[0].data")


def test_the_reply_is_recorded_as_it_is_as_it_was_changed_or_not_at_all() -> None:
    at = situation(Point.LLM_FINISHED)
    changed = {"role": "assistant", "content": "[redacted]"}
    path = [message.as_dict() for message in PATH]
    assert judged([], at).record is REPLY
    assert judged([], at, [*path, changed]).record == Message("m1", "assistant", "[redacted]")
    assert judged([], at, path) == Decision()
    elsewhere = judged([], at, [{"id": "u2", "role": "user", "content": "else"}])
    assert (elsewhere.record, elsewhere.view) == (None, (Message("u2", "user", "else"),))


def test_calls_of_a_reply_that_is_not_recorded_are_not_known() -> None:
    refused([sample("tool.result")], situation(Point.LLM_FINISHED), "actions[0].id", [PATH[0].as_dict()])


def test_either_order_of_a_replace_and_its_calls_is_one_decision() -> None:
    """D21."""
    calls = [{"type": "tool.call", "id": "c1"}]
    at = situation(Point.LLM_FINISHED)
    assert judged([sample("context.replace"), *calls], at) == judged([*calls, sample("context.replace")], at)


_ACTIONS = st.lists(st.sampled_from([*map(sample, SAMPLES)]), max_size=4)


@given(st.sampled_from(Point), _ACTIONS)
def test_an_answer_is_done_whole_or_not_at_all(point: Point, actions: list[dict[str, Any]]) -> None:
    try:
        decision = judged(actions, situation(point))
    except WorkerFailed:
        return
    assert sorted(TYPES[type(action)] for action in decision.actions) == sorted(action["type"] for action in actions)
    last = decision.actions[-1:] and TYPES[type(decision.actions[-1])]
    assert isinstance(decision.then, CallModel) == (last == "llm.call")
