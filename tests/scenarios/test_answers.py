"""What counts as an answer and what becomes of it, through every door and in any process (T19, C26-C29, D35-D40)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import InvalidInput, NoPendingQuestion, QuestionAlreadyAnswered, QuestionExpired, TurnAlreadyActive
from agentflow.testing import Kit
from tests.pictures import png, url
from tests.scenarios.invariants import check_wire
from tests.scenarios.support import Gate, call, results, said

PLAN, COLOR = {"header": "Plan", "question": "Which plan?"}, {"header": "Color", "question": "Which color?"}
ASK_ONE = {"tool_calls": [call("ask_user", questions=[PLAN])]}
ASK_TWO = {"tool_calls": [call("ask_user", questions=[PLAN, COLOR])]}
PICTURE = url(png())
DONE = {"text": "Done."}


def message(content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "client.message", "message": {"role": "user", "content": content, **fields}}


def append(*contents: Any) -> dict[str, Any]:
    return {"type": "client.append", "messages": [{"role": "user", "content": content} for content in contents]}


def pending(kit: Kit) -> str:
    return str(kit.status()["tool_call_id"])


@pytest.fixture(params=["this process", "another process"])
def paused(request: pytest.FixtureRequest, agentflow: Kit) -> Kit:
    """A session that waits for one answer."""
    agentflow.agent(replies=[ASK_ONE, DONE])
    agentflow.send("Hi.")
    if request.param == "another process":
        agentflow.kill()
        agentflow.reopen()
    return agentflow


@pytest.mark.parametrize("content", [[PICTURE], [{"type": "text", "text": " "}, PICTURE], [PICTURE, PICTURE]])
def test_an_answer_that_is_a_picture_is_kept_and_seen(paused: Kit, content: list[Any]) -> None:
    """D35: the result says so, the parts follow it as a user message in the same step."""
    assert paused.deliver(message(content, id="m-1")).answer == "Done."
    *_, result, shown = paused.requests[-1].messages
    pictures = [part for part in content if part is PICTURE]
    assert (result["role"], result["content"]) == ("tool", "Plan: (attached)")
    assert (shown["role"], shown["content"]) == ("user", pictures)
    assert [step["order"] for step in paused.session()["steps"]] == [1, 2]
    check_wire(paused.requests[-1].messages)


def test_words_and_a_picture_answer_together(paused: Kit) -> None:
    paused.deliver(append("Pro", [{"type": "text", "text": "as drawn"}, PICTURE]))
    *_, result, shown = paused.requests[-1].messages
    assert result["content"] == "Plan: Pro as drawn (attached)"
    assert shown["content"] == [PICTURE]


def test_a_view_that_names_the_answer_has_the_picture_on_its_path(paused: Kit) -> None:
    """C26: the answering message's id goes on naming it; a regenerated reply sees the picture again."""
    paused.deliver(message([PICTURE], id="m-1"))
    asked = paused.path()[:2]
    paused.script([{"text": "Once more."}])
    assert paused.view([*asked, {"id": "m-1", "role": "user", "content": [PICTURE]}]).answer == "Once more."
    assert [m["content"] for m in paused.requests[-1].messages if m["role"] == "user"] == ["Hi.", [PICTURE]]


def test_a_later_turn_still_has_the_picture(paused: Kit) -> None:
    """T19, X1: it is a message of the conversation, which a lean history keeps."""
    paused.deliver(message([PICTURE]))
    paused.script([DONE])
    paused.send("And now?")
    assert (("user", [PICTURE])) in said(paused.requests[-1])


def test_a_sub_agent_sees_the_picture_of_its_answer(agentflow: Kit) -> None:
    """T22: the parts follow the result in the run that asked."""
    agentflow.agent("sub", replies=[ASK_ONE, DONE])
    handed = {"tool_calls": [call("delegate", agent="sub", message="a note")]}
    agentflow.agent("main", sub_agents=["sub"], replies=[handed])
    agentflow.send("Hi.")
    agentflow.restart()
    assert agentflow.deliver(message([PICTURE], id="m-1")).answer == "Done."
    assert said(agentflow.requests_of("sub")[1])[-2:] == [("tool", "Plan: (attached)"), ("user", [PICTURE])]
    assert agentflow.submit(message([PICTURE], id="m-1")).replayed


BLANK = ["", " ", "\n", " \t\n \n"]


@pytest.mark.parametrize("blank", BLANK)
@pytest.mark.parametrize("door", ["message", "append", "view", "text", "by header", "answers"])
def test_a_blank_answer_is_an_answer_through_every_door(agentflow: Kit, door: str, blank: str) -> None:
    """D36"""
    agentflow.agent(replies=[ASK_ONE, DONE])
    agentflow.send("Hi.")
    if door == "message":
        agentflow.send(blank)
    elif door == "append":
        agentflow.deliver(append(blank, blank))
    elif door == "view":
        agentflow.view([*agentflow.path(), {"role": "user", "content": blank}])
    elif door == "text":
        agentflow.answer(blank)
    else:
        agentflow.answer(answers={"Plan": blank} if door == "by header" else blank)
    assert results(agentflow.requests[-1]) == ["Plan: (no answer)"]


@pytest.mark.parametrize("blank", BLANK)
def test_a_blank_message_that_answers_nothing_is_refused_and_writes_nothing(agentflow: Kit, blank: str) -> None:
    """C7: when it is new, waits in a queue, branches away from the question, or begins the session."""
    agentflow.agent(replies=[ASK_ONE])
    with pytest.raises(InvalidInput, match=r"message\.content"):
        agentflow.send(blank, session="new")
    agentflow.send("Hi.")
    before = agentflow.events()
    first = agentflow.path()[0]
    elsewhere = {"type": "client.messages", "messages": [first, {"role": "user", "content": blank}]}
    for given in ({**message(blank), "queue": True}, {**message(blank), "interrupt": True}, elsewhere):
        with pytest.raises(InvalidInput, match="needs text or parts"):
            agentflow.deliver(given)
    assert agentflow.events() == before


def test_a_view_brings_a_blank_answer_back_without_harm(agentflow: Kit) -> None:
    """C9, C26"""
    agentflow.agent(replies=[ASK_ONE, DONE, DONE])
    agentflow.send("Hi.")
    agentflow.send({"id": "m-1", "role": "user", "content": ""})
    path = agentflow.path()
    blank = {"id": "m-1", "role": "user", "content": ""}
    assert agentflow.view([*path[:2], blank, path[-1], {"role": "user", "content": "Next."}]).answer == "Done."


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("Plan: Pro\n\nColor: Red", "Plan: Pro\nColor: Red"),
        ("Plan: Pro", "Plan: Pro\nColor: (not answered separately)"),
        ("Plan: Pro\nPlan: Free", "Plan: Pro, Free\nColor: (not answered separately)"),
    ],
)
@pytest.mark.parametrize("door", ["message", "text"])
def test_a_text_in_the_form_is_read_by_header(agentflow: Kit, door: str, text: str, result: str) -> None:
    """D37"""
    agentflow.agent(replies=[ASK_TWO, DONE])
    agentflow.send("Hi.")
    agentflow.send(text) if door == "message" else agentflow.answer(text)
    assert results(agentflow.requests[-1]) == [result]


def test_inputs_of_an_answer_are_checked_and_hold_from_then_on(agentflow: Kit) -> None:
    """D38: what the agent does not declare is refused, and the question stays open."""
    declared = {"tone": {"type": "string", "default": "kind"}, "level": {"type": "integer", "default": 1}}
    prompt = "Be {{ inputs.tone }} at level {{ inputs.level }}."
    agentflow.agent(inputs=declared, prompt=prompt, replies=[ASK_ONE, DONE])
    agentflow.send("Hi.", inputs={"tone": "brief"})
    answer = {"type": "ask_user.answer", "tool_call_id": pending(agentflow), "answers": {"Plan": "Pro"}}
    for wrong in ({"zz": 1}, {"level": "high"}):
        for given in ({**answer, "inputs": wrong}, {**message("Pro"), "inputs": wrong}):
            with pytest.raises(InvalidInput):
                agentflow.deliver(given)
    assert agentflow.status()["pending"]
    agentflow.deliver({**answer, "inputs": {"level": 2}})
    assert agentflow.requests[-1].messages[0]["content"] == "Be brief at level 2."


@pytest.mark.parametrize(
    ("value", "line"), [(0, "0"), (None, "(no answer)"), (False, "false"), (["a", 0], "a, 0"), ([], "(no answer)")]
)
def test_an_answer_that_is_no_text_is_written_as_json(paused: Kit, value: Any, line: str) -> None:
    """D39"""
    paused.answer(answers={"Plan": value})
    assert results(paused.requests[-1]) == [f"Plan: {line}"]


@pytest.mark.parametrize("answers", [{"Plan": {"a": 1}}, {"Plan": [{"a": 1}]}, [1], 0, {"Plan": float("nan")}])
def test_an_answer_that_is_no_answer_is_refused(paused: Kit, answers: Any) -> None:
    """D39"""
    with pytest.raises(InvalidInput, match="answers"):
        paused.answer(answers=answers)
    with pytest.raises(InvalidInput, match="either answers or text"):
        paused.run(paused.runtime.answer("s-1"))
    assert paused.answer(answers="x").answer == "Done."
    assert results(paused.requests[-1]) == ["Plan: x"]


EXPIRY = {"ask_user_expiry_secs": 1}


@pytest.mark.parametrize("elsewhere", [False, True], ids=["this process", "another process"])
def test_an_answer_that_comes_too_late_is_told_so(agentflow: Kit, elsewhere: bool) -> None:
    """D40: by id and without one, and again once a later request has closed the turn."""
    agentflow.agent(settings=EXPIRY, replies=[ASK_ONE, DONE])
    agentflow.send("Hi.")
    call_id = pending(agentflow)
    agentflow.advance(2)
    runtime = agentflow.another_runtime() if elsewhere else agentflow.runtime
    for named in (None, call_id):
        with pytest.raises(QuestionExpired):
            agentflow.run(runtime.answer("s-1", tool_call_id=named, text="Pro"))
    agentflow.send("Something else.")
    with pytest.raises(QuestionExpired):
        agentflow.run(runtime.answer("s-1", tool_call_id=call_id, text="Pro"))
    with pytest.raises(NoPendingQuestion):
        agentflow.run(runtime.answer("s-1", text="Pro"))


def test_what_is_over_on_another_branch_is_over_there_too(agentflow: Kit) -> None:
    """T21, C29: before it is time the branch is named, afterwards the time."""
    agentflow.agent(settings=EXPIRY, replies=[ASK_ONE, DONE])
    agentflow.send("Hi.")
    call_id = pending(agentflow)
    agentflow.edit(agentflow.path()[0]["id"], "Hello.")
    with pytest.raises(InvalidInput, match="sessions checkout"):
        agentflow.answer("Pro", tool_call_id=call_id)
    agentflow.advance(2)
    with pytest.raises(QuestionExpired):
        agentflow.answer("Pro", tool_call_id=call_id)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["this process", "another process"])
def test_each_way_to_be_too_late_has_its_own_code(agentflow: Kit, elsewhere: bool) -> None:
    """C29: answered, stopped, never asked; the very same answer by its turn id is a replay."""
    agentflow.agent(replies=[ASK_ONE, DONE, ASK_ONE])
    agentflow.send("Hi.")
    runtime = agentflow.another_runtime() if elsewhere else agentflow.runtime

    def answering(call_id: str, text: str, turn_id: str | None = None) -> Any:
        return agentflow.run(runtime.answer("s-1", tool_call_id=call_id, text=text, turn_id=turn_id))

    first = pending(agentflow)
    receipt = agentflow.run(agentflow.runtime.answer("s-1", text="Pro", turn_id="a-1"))
    agentflow.result(receipt.turn_id)
    assert answering(first, "Pro", "a-1").replayed
    with pytest.raises(QuestionAlreadyAnswered, match="The pending question has already been answered"):
        answering(first, "Free")
    agentflow.send("Again.")
    second = pending(agentflow)
    agentflow.stop()
    with pytest.raises(NoPendingQuestion, match="stopped"):
        answering(second, "Pro")
    with pytest.raises(NoPendingQuestion, match="No question"):
        answering("nothing", "Pro")


def test_a_stale_answer_is_told_apart_from_a_busy_session(agentflow: Kit) -> None:
    """C29, C18: while a turn runs."""
    gate = Gate(DONE)
    agentflow.agent(settings=EXPIRY, replies=[ASK_ONE, ASK_ONE, gate])
    agentflow.send("Hi.")
    answered = pending(agentflow)
    agentflow.answer("Pro")
    expired = pending(agentflow)
    agentflow.advance(2)
    receipt = agentflow.submit(message("Go on."))
    agentflow.until("llm.call.requested", after_seq=receipt.after_seq)
    for call_id, code in [(answered, QuestionAlreadyAnswered), (expired, QuestionExpired), ("x", TurnAlreadyActive)]:
        with pytest.raises(code):
            agentflow.answer("late", tool_call_id=call_id)
    gate.open()
    assert agentflow.result(receipt.turn_id).answer == "Done."
