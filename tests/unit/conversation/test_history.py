"""Histories as the model reads them: whole exchanges, ids that stand once, nothing empty (T7, T13-T15, X1, X3)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow.conversation.history import (
    History,
    UnpairedHistory,
    build_request,
    checked_wire,
    exchanges,
    lean,
    replayed_arguments,
)
from agentflow.errors import InvalidInput
from agentflow.media.provider import sent_files
from agentflow.message import Message, ToolCall


def asked(id_: str, *call_ids: str, text: str | None = None, provider: dict[str, Any] | None = None) -> Message:
    calls = tuple(ToolCall(call_id, "look", "{}") for call_id in call_ids)
    return Message(id_, "assistant", text, calls, provider=provider)


def result(call_id: str, text: str = "seen") -> Message:
    return Message(f"r-{call_id}", "tool", text, (), call_id, "look")


USER, ANSWER = Message("u", "user", "go"), Message("a", "assistant", "done")


def ids(messages: list[dict[str, Any]]) -> list[str]:
    """Of each call, then of each result, in order."""
    calls = (call["id"] for message in messages for call in message.get("tool_calls") or ())
    return [*calls, *(message["tool_call_id"] for message in messages if message["role"] == "tool")]


def test_an_exchange_is_a_reply_with_its_results_in_call_order() -> None:
    """T14: they are recorded as they come and sent in call order."""
    grouped = exchanges([USER, asked("a1", "x", "y"), result("y"), result("x"), ANSWER])
    assert [exchange.message.id for exchange in grouped] == ["u", "a1", "a"]
    assert [each.tool_call_id for each in grouped[1].results] == ["x", "y"]
    assert grouped[1].open == ()


def test_calls_without_a_result_are_open() -> None:
    (exchange,) = exchanges([asked("a1", "x", "y"), result("y")])
    assert exchange.open == ("x",)
    with pytest.raises(UnpairedHistory, match="open calls x"):
        History().extend([asked("a1", "x", "y"), result("y")])


@pytest.mark.parametrize(
    "path",
    [
        [result("x")],
        [USER, result("x")],
        [asked("a1", "x"), result("x"), result("x")],
        [asked("a1", "x"), result("z")],
        [asked("a1", "x"), USER, result("x")],
    ],
    ids=["first of all", "after the user", "twice", "of another call", "too late"],
)
def test_a_result_of_no_open_call_is_refused(path: list[Message]) -> None:
    with pytest.raises(UnpairedHistory, match="which is not open here"):
        exchanges(path)


def test_a_lean_reading_keeps_what_was_said() -> None:
    """X1."""
    path = [USER, asked("a1", "x", text="I look."), result("x"), asked("a2", "y"), result("y"), ANSWER]
    assert [(message.id, message.content, message.tool_calls) for message in lean(path)] == [
        ("u", "go", ()),
        ("a1", "I look.", ()),
        ("a", "done", ()),
    ]


def test_a_call_id_that_comes_again_is_written_otherwise_with_its_result() -> None:
    history = History()
    history.extend([asked("a1", "x"), result("x"), asked("a2", "x", "x_2"), result("x_2"), result("x")])
    assert ids(history.wire) == ["x", "x_2", "x_2_2", "x", "x_2", "x_2_2"]


def test_a_history_knows_the_ids_of_the_one_before_it() -> None:
    """D13: both are one request."""
    earlier = History()
    earlier.extend([asked("a1", "x"), result("x")])
    current = History(before=earlier)
    current.extend([asked("a2", "x"), result("x")])
    assert ids(current.wire) == ["x_2", "x_2"]


@pytest.mark.parametrize(
    ("message", "written"),
    [
        (Message("m", "user", " "), []),
        (Message("m", "assistant", ""), []),
        (Message("m", "user", [{"type": "text", "text": ""}]), []),
        (Message("m", "user", [{"type": "text", "text": "a"}]), [{"type": "text", "text": "a"}]),
        (Message("m", "system", "rules"), "rules"),
    ],
)
def test_no_empty_text_is_written(message: Message, written: Any) -> None:
    history = History()
    history.extend([message])
    assert [each["content"] for each in history.wire] == ([written] if written else [])


def test_a_result_without_text_says_so() -> None:
    history = History()
    history.extend([asked("a1", "x"), result("x", "")])
    assert history.wire[1]["content"] == "(no output)"


@pytest.mark.parametrize(("model", "replayed"), [("m", True), ("other", False), (None, False)])
def test_what_a_provider_gave_goes_back_to_it_alone(model: str | None, replayed: bool) -> None:
    """T15."""
    history = History()
    history.extend([asked("a1", text="hm", provider={"model": "m", "reasoning_content": "why"})], model=model)
    assert ("reasoning_content" in history.wire[0]) is replayed
    assert "model" not in history.wire[0]


@pytest.mark.parametrize(
    ("arguments", "replayed"),
    [("", "{}"), (" null ", "{}"), ('{"a": 1}', '{"a": 1}'), ("[1]", "{}"), ("{", "{}"), ('{"a": NaN}', "{}")],
)
def test_arguments_that_are_no_object_are_replayed_as_none(arguments: str, replayed: str) -> None:
    """T13."""
    assert replayed_arguments(ToolCall("x", "look", arguments)) == replayed


def test_the_texts_of_a_step_stand_before_its_messages() -> None:
    """X4: what comes before them is the same from call to call."""
    earlier, current = History(), History()
    earlier.extend([USER, ANSWER])
    current.extend([Message("u2", "user", "more")])
    built = build_request("Be kind.", earlier, ["note", " "], current, 100)
    assert [message["content"] for message in built.messages] == ["Be kind.", "go", "done", "note", "more"]
    assert built.chars == sum(map(len, ("Be kind.", "go", "done", "note", " ", "more"))) + 100


def test_a_request_knows_the_files_of_its_messages() -> None:
    """W4: of the turns before, of this one, and of results; a history is not looked through for them again."""
    pictures = [{"type": "image", "hash": f"file-{number:032x}", "media_type": "image/png"} for number in range(3)]
    earlier, current = History(), History()
    earlier.extend([Message("u1", "user", [pictures[0]]), ANSWER])
    current.extend([Message("u2", "user", [{"type": "text", "text": "and"}, pictures[1]])])
    assert build_request("", earlier, [], current, 0).files == {each["hash"] for each in pictures[:2]}
    current.extend([asked("a2", "x"), Message("r", "tool", [pictures[2]], (), "x", "look")])
    built = build_request("", earlier, [], current, 0)
    assert built.files == set(sent_files(built.messages)) == {each["hash"] for each in pictures}


# -- messages made elsewhere --


def wire(*call_ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [{"id": each, "function": {}} for each in call_ids]}


def answered(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "seen"}


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ([{"role": "robot"}], r"messages\[0\] has no role"),
        (["hi"], r"messages\[0\] has no role"),
        ([answered("x")], r"messages\[0\] is a result"),
        ([wire("x"), {"role": "user", "content": "hi"}], r"messages\[1\] comes before the result of call 'x'"),
        ([wire("x", "y"), answered("x")], "call 'y' has no result"),
        ([wire("x"), answered("x"), answered("x")], r"messages\[2\] is a result"),
    ],
)
def test_messages_that_cannot_be_sent_are_refused(messages: list[Any], complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        checked_wire(messages)


def test_ids_of_messages_made_elsewhere_stand_once_too() -> None:
    """T14: whoever made them."""
    given = [wire("x"), answered("x"), wire("x", "y"), answered("y"), answered("x")]
    checked = checked_wire(given)
    assert ids(checked) == ["x", "x_2", "y", "x", "y", "x_2"]
    assert ids(given) == ["x", "x", "y", "x", "y", "x"]
    assert checked[:2] == given[:2]
