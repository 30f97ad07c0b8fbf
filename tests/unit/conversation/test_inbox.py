"""What a client may send, and how it is refused (C3, C7, C8, C23)."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentflow.conversation.inbox import (
    AskUserAnswer,
    Client,
    ClientAppend,
    ClientMessage,
    ClientMessages,
    HeadMove,
    Input,
    parse_input,
    refuse_blank,
)
from agentflow.errors import InvalidInput
from agentflow.message import Message, ToolCall

HI = {"role": "user", "content": "hi"}


def say(**fields: Any) -> dict[str, Any]:
    return {"type": "client.message", "message": HI} | fields


def view(*messages: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "client.messages", "messages": list(messages)} | fields


def nested(levels: int) -> Any:
    value: Any = "leaf"
    for _ in range(levels):
        value = [value]
    return value


FULL = [
    say(
        agent_id="bot",
        turn_id="t1",
        stream=False,
        interrupt=True,
        queue=True,
        client={"state": [], "context": [{"a": 1}], "forwarded_props": {"x": None}},
        inputs={"customer": 7},
    ),
    {
        "type": "client.append",
        "queue": "merge",
        "messages": [
            {
                "id": "u1",
                "role": "user",
                "content": [{"type": "text", "text": "see"}, {"type": "image_url", "url": "https://example.com/x"}],
            },
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "name": "look", "arguments": "{}"}]},
            {"role": "tool", "content": "found", "tool_call_id": "c1", "name": "look"},
        ],
    },
    view(),
    {"type": "head.move", "message_id": "u1"},
    {"type": "ask_user.answer", "tool_call_id": "c1", "answers": {"Plan": ["Pro", "Team"]}},
    {"type": "ask_user.answer", "tool_call_id": "c1", "answers": {}},
    {"type": "ask_user.answer", "tool_call_id": "c1", "answers": "whatever you think"},
]


class TestShapes:
    @pytest.mark.parametrize("raw", FULL, ids=lambda raw: raw["type"])
    def test_the_wire_round_trips(self, raw: dict[str, Any]) -> None:
        parsed = parse_input(raw)
        again = json.loads(json.dumps(parsed.as_dict()))
        assert parse_input(again) == parsed
        assert {name: again[name] for name in raw if name not in ("message", "messages")} == {
            name: value for name, value in raw.items() if name not in ("message", "messages")
        }

    @pytest.mark.parametrize(
        "typed",
        [
            ClientMessage(agent_id="bot", message=Message("u1", "user", "hi"), client=Client(state={"x": 1})),
            ClientAppend(messages=(Message("", "assistant", "hi"),), queue="merge"),
            ClientMessages(messages=(), turn_id="t1"),
            HeadMove(message_id="m7"),
            AskUserAnswer(tool_call_id="c1", answers={"Plan": ["Pro"]}),
        ],
        ids=lambda typed: typed.type,
    )
    def test_a_typed_input_is_validated_like_its_wire_shape(self, typed: Input) -> None:
        assert parse_input(typed) == typed
        assert parse_input(typed.as_dict()) == typed

    def test_a_typed_input_is_refused_like_its_wire_shape(self) -> None:
        with pytest.raises(InvalidInput, match=r"message\.role"):
            parse_input(ClientMessage(message=Message("a", "assistant", "hi")))

    def test_openais_calls_are_read_like_ours(self) -> None:
        function = {"name": "look", "arguments": '{"at": 1}'}
        theirs = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
        ours = {"role": "assistant", "tool_calls": [{"id": "c1", "name": "look", "arguments": {"at": 1}}]}
        expected = (ToolCall("c1", "look", '{"at": 1}'),)
        for message in (theirs, ours):
            parsed = parse_input(view(message))
            assert isinstance(parsed, ClientMessages)
            assert parsed.messages[0].tool_calls == expected

    @pytest.mark.parametrize("absent", [None, "", "\x00"])
    def test_null_and_empty_ids_are_no_ids(self, absent: str | None) -> None:
        """C3."""
        parsed = parse_input(say(turn_id=absent, agent_id=absent, message=HI | {"id": absent}))
        assert isinstance(parsed, ClientMessage)
        assert (parsed.turn_id, parsed.agent_id, parsed.message.id) == (None, None, "")
        assert "id" not in parsed.as_dict()["message"]

    def test_what_says_nothing_is_not_written(self) -> None:
        assert parse_input(say(queue=False, client={"context": []}, inputs={}, stream=None)).as_dict() == say()

    def test_the_same_id_twice_is_for_the_merge_to_decide(self) -> None:
        """C10."""
        parsed = parse_input(view(HI | {"id": "u1"}, HI | {"id": "u1"}))
        assert isinstance(parsed, ClientMessages)
        assert [each.id for each in parsed.messages] == ["u1", "u1"]

    def test_texts_are_sanitised_at_the_entrance(self) -> None:
        """T43."""
        parsed = parse_input(
            say(message={"role": "user", "content": "a\x00\ud83d\ude00\ud800"}, client={"state": {"k\x00": "\udc00"}})
        )
        assert isinstance(parsed, ClientMessage)
        assert parsed.message.content == "a\U0001f600\ufffd"
        assert parsed.client.state == {"k": "\ufffd"}

    @pytest.mark.parametrize(
        ("value", "parts"),
        [("Pro", ["Pro"]), (0, [0]), (False, [False]), (None, []), ("", [""]), (["a", 1], ["a", 1]), (("a",), ["a"])],
    )
    def test_plain_answers_become_lists(self, value: Any, parts: list[Any]) -> None:
        """D39"""
        parsed = parse_input({"type": "ask_user.answer", "tool_call_id": "c1", "answers": {"Plan": value}})
        assert parsed == AskUserAnswer(tool_call_id="c1", answers={"Plan": parts})


REFUSED: list[tuple[Any, str, str]] = [
    ("hello", "input", "must be an object, not a string"),
    ({}, "type", "not null"),
    ({"type": "client.mesage"}, "type", "not 'client.mesage'"),
    ({"type": nested(500)}, "type", "not a list"),
    ({"type": "client.message"}, "message", "required"),
    ({"type": "client.append"}, "messages", "must be a list"),
    (say(turnId="t"), "turnId", "did you mean 'turn_id'?"),
    (say(surprise=nested(5_000)), "surprise", "unknown field"),
    (say(message=HI | {"contents": "x"}), "message.contents", "did you mean 'content'?"),
    (say(client={"forwardedProps": 1}), "client.forwardedProps", "did you mean 'forwarded_props'?"),
    (say(message={"role": "assistant", "content": "x"}), "message.role", "must be user, not assistant"),
    (view(HI, {"role": "wizard", "content": "x"}), "messages[1].role", "not 'wizard'"),
    (view({"role": nested(5_000)}), "messages[0].role", "not a list"),
    (view("hi"), "messages[0]", "must be an object"),
    (say(message={"role": "user", "content": 7}), "message.content", "not a number"),
    (say(message={"role": "user", "content": [{"text": "x"}]}), "message.content[0].type", "needs a type"),
    (say(message={"role": "user", "content": [{"type": "text"}]}), "message.content[0].text", "not null"),
    (say(message=HI | {"id": 7}), "message.id", "must be a string, not a number"),
    (say(message=HI | {"id": "x" * 201}), "message.id", "at most 200 characters, it has 201"),
    (say(message=HI | {"name": 7}), "message.name", "must be a string"),
    (say(message=HI | {"tool_call_id": "c"}), "message.tool_call_id", "only a tool message"),
    (say(message=HI | {"tool_calls": [{}]}), "message.tool_calls", "only an assistant message"),
    (view({"role": "tool", "content": "x"}), "messages[0].tool_call_id", "required"),
    (view({"role": "assistant", "tool_calls": {"a": 1}}), "messages[0].tool_calls", "must be a list"),
    (view({"role": "assistant", "tool_calls": [{"name": "f"}]}), "messages[0].tool_calls[0].id", "required"),
    (
        view({"role": "assistant", "tool_calls": [{"id": "c", "function": {}}]}),
        "messages[0].tool_calls[0].function.name",
        "required",
    ),
    (
        view({"role": "assistant", "tool_calls": [{"id": "c", "name": "f", "arguments": 7}]}),
        "messages[0].tool_calls[0].arguments",
        "a JSON text or an object",
    ),
    (
        view({"role": "assistant", "tool_calls": [{"id": "c", "name": "f"}, {"id": "c", "name": "f"}]}),
        "messages[0].tool_calls[1].id",
        "already used",
    ),
    (say(stream=1), "stream", "must be true or false, not a number"),
    (say(interrupt="yes"), "interrupt", "must be true or false, not a string"),
    (say(queue=1), "queue", "must be true, false or 'merge'"),
    (say(queue="later"), "queue", "not 'later'"),
    (view(HI, queue=True), "queue", "client.messages cannot be queued"),
    (view(HI, queue="merge"), "queue", "client.messages cannot be queued"),
    ({"type": "head.move", "message_id": "m", "interrupt": True}, "interrupt", "unknown field"),
    ({"type": "head.move", "message_id": ""}, "message_id", "required"),
    ({"type": "ask_user.answer", "answers": {}}, "tool_call_id", "required"),
    ({"type": "ask_user.answer", "tool_call_id": "c", "answers": {"Plan": {"a": 1}}}, "answers.Plan", "not an object"),
    ({"type": "ask_user.answer", "tool_call_id": "c", "answers": {"Plan": [[1]]}}, "answers.Plan", "not a list"),
    ({"type": "ask_user.answer", "tool_call_id": "c", "answers": [1]}, "answers", "a text, or an object"),
    ({"type": "ask_user.answer", "tool_call_id": "c", "answers": 0}, "answers", "a text, or an object"),
    ({"type": "ask_user.answer", "tool_call_id": "c"}, "answers", "not null"),
    (say(inputs=[1]), "inputs", "must be an object, not a list"),
    (say(client={"context": {}}), "client.context", "must be a list, not an object"),
    (say(client={"state": {1: 2}}), "client.state", "keys must be strings"),
    (say(client={"state": {"a": [object()]}}), "client.state.a[0]", "must be JSON, not a object"),
    (say(inputs={"n": float("nan")}), "inputs.n", "nan is not a JSON number"),
]


class TestRefusing:
    @pytest.mark.parametrize(("raw", "field", "sentence"), REFUSED, ids=[f"{f}: {s}" for _, f, s in REFUSED])
    def test_a_refusal_names_the_field_and_says_what_is_wrong(self, raw: Any, field: str, sentence: str) -> None:
        with pytest.raises(InvalidInput) as refused:
            parse_input(raw)
        assert refused.value.code == "invalid_input"
        assert refused.value.detail == {"field": field}
        assert str(refused.value).startswith(f"{field}: ")
        assert sentence in str(refused.value)

    @pytest.mark.parametrize("value", ["false", "0", 0])
    def test_a_number_is_never_taken_for_a_flag(self, value: Any) -> None:
        with pytest.raises(InvalidInput):
            parse_input(say(stream=value))

    def test_64_levels_are_accepted_and_65_are_not(self) -> None:
        """C7: the input is the first level, `client` the second, its state the third."""
        assert parse_input(say(client={"state": nested(62)}))
        with pytest.raises(InvalidInput, match="64 levels"):
            parse_input(say(client={"state": nested(63)}))
        deep_part = {"type": "data", "data": nested(60)}
        assert parse_input(say(message={"role": "user", "content": [deep_part]}))
        with pytest.raises(InvalidInput, match="64 levels"):
            parse_input(view({"role": "user", "content": [deep_part]}))

    def test_nesting_far_beyond_the_interpreters_limit_is_refused_like_any_other(self) -> None:
        with pytest.raises(InvalidInput, match="64 levels"):
            parse_input(say(client={"state": nested(sys.getrecursionlimit() * 3)}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
ALMOST = st.fixed_dictionaries(
    {"type": st.sampled_from(["client.message", "client.append", "client.messages", "head.move", "ask_user.answer"])},
    optional={
        "message": st.fixed_dictionaries({"role": st.just("user")}, optional={"content": JSON, "id": JSON}) | JSON,
        "messages": st.lists(
            st.fixed_dictionaries(
                {"role": st.sampled_from(["user", "assistant", "tool"])},
                optional={"content": JSON, "tool_call_id": JSON, "tool_calls": JSON, "id": JSON},
            ),
            max_size=3,
        )
        | JSON,
        "client": JSON,
        "inputs": JSON,
        "queue": JSON,
        "stream": JSON,
        "turn_id": JSON,
        "message_id": JSON,
        "tool_call_id": JSON,
        "answers": JSON,
    },
)


@settings(max_examples=150, deadline=None)
@given(ALMOST | JSON)
def test_any_json_is_either_refused_or_read_and_written_back_the_same(raw: Any) -> None:
    read = outcome(raw)
    if isinstance(read, InvalidInput):
        assert read.detail["field"]
    else:
        assert parse_input(json.loads(json.dumps(read.as_dict()))) == read


def outcome(raw: Any) -> Input | InvalidInput:
    try:
        return parse_input(raw)
    except InvalidInput as refused:
        return refused


BLANKS: list[Any] = ["", " \n\t", "\x00", [], None, [{"type": "text", "text": " "}]]


@pytest.mark.parametrize("content", BLANKS)
def test_a_message_that_says_nothing_is_refused_where_it_is_no_answer(content: Any) -> None:
    """C7: whether it answers is known at delivery only."""
    blank = {"role": "user", "content": content}
    for raw, field in [(say(message=blank), "message.content"), (view(HI, blank), "messages[1].content")]:
        with pytest.raises(InvalidInput, match="needs text or parts") as refused:
            refuse_blank(parse_input(raw))
        assert refused.value.detail == {"field": field}


def test_a_blank_message_that_is_recorded_already_changes_nothing() -> None:
    """C9: an answer may have been blank, and comes back with every view."""
    given = parse_input(view(HI, {"id": "m1", "role": "user", "content": ""}))
    refuse_blank(given, {"another"})
    with pytest.raises(InvalidInput):
        refuse_blank(given, {"m1"})


WRONG: Any = [1]  # of no field's type
TYPED = [
    (ClientMessage(message=WRONG), "message"),
    (ClientMessage(message=Message("", "user", WRONG)), "message.content[0]"),
    (ClientMessage(message=Message(WRONG, "user", "hi")), "message.id"),
    (ClientMessage(message=Message("", WRONG, "hi")), "message.role"),
    (ClientMessage(message=Message("", "assistant", None, WRONG)), "message.tool_calls"),
    (ClientMessage(message=Message("", "user", "hi"), queue=WRONG), "queue"),
    (ClientMessage(message=Message("", "user", "hi"), interrupt=WRONG), "interrupt"),
    (ClientMessage(message=Message("", "user", "hi"), client=WRONG), "client"),
    (ClientMessage(message=Message("", "user", "hi"), client=Client(context=5)), "client.context"),  # type: ignore[arg-type]
    (ClientMessage(message=Message("", "user", "hi"), inputs=WRONG), "inputs"),
    (ClientMessage(message=Message("", "user", "hi"), agent_id=WRONG), "agent_id"),
    (ClientMessage(message=Message("", "user", "hi"), turn_id=WRONG), "turn_id"),
    (ClientAppend(messages=WRONG), "messages[0]"),
    (ClientMessages(messages=5), "messages"),  # type: ignore[arg-type]
    (HeadMove(message_id=WRONG), "message_id"),
    (AskUserAnswer(tool_call_id=WRONG, answers="x"), "tool_call_id"),
    (AskUserAnswer(tool_call_id="c", answers=WRONG), "answers"),
]


@pytest.mark.parametrize(("given", "field"), TYPED)
def test_a_typed_input_of_wrong_types_is_refused_as_the_same_object_would_be(given: Input, field: str) -> None:
    """One parse for both: the field is named, and nothing but `InvalidInput` comes out."""
    with pytest.raises(InvalidInput) as refused:
        parse_input(given)
    assert refused.value.detail["field"] == field


def test_a_typed_input_and_its_wire_shape_are_the_same_input() -> None:
    asked = Message("a-1", "assistant", None, (ToolCall("c-1", "add", "{}"),))
    typed = ClientAppend(agent_id="a", messages=(asked, Message("r", "tool", "3", (), "c-1", "add")), record_only=True)
    assert parse_input(typed) == parse_input(json.loads(json.dumps(typed.as_dict()))) == typed
