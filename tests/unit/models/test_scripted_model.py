"""The scripted model: which reply is taken, and what it streams."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentflow.errors import InvalidConfig
from agentflow.message import Usage
from agentflow.models import scripted_model
from agentflow.models.assembly import RawCall
from agentflow.models.protocol import ModelRequest, ReasoningDelta, TextDelta, ToolFragment
from agentflow.models.scripted_model import MAX_REQUESTS, ScriptedModel
from tests.unit.models.streams import ask, deltas_of, request, tool_result, user


def texts(model: ScriptedModel, *asked: ModelRequest) -> list[str]:
    """The text of each reply, or the code of the error there was."""
    answers = [ask(model, each) for each in asked]
    return [error.code if error else reply.text for reply, error in answers]


def said(*replies: str) -> list[dict[str, Any]]:
    return [{"text": text} for text in replies]


def test_replies_are_taken_in_order_and_used_up() -> None:
    assert texts(ScriptedModel(said("a", "b")), *[request()] * 3) == ["a", "b", "model_error.script"]


def test_what_is_used_up_is_remembered_per_session() -> None:
    model = ScriptedModel(said("a", "b"))
    asked = [request(session=session) for session in ("one", "two", "one", "two")]
    assert texts(model, *asked) == ["a", "a", "b", "b"]


def test_a_reply_with_repeat_is_never_used_up() -> None:
    model = ScriptedModel([{"text": "again", "repeat": True}, {"text": "never"}])
    assert texts(model, *[request()] * 3) == ["again"] * 3


GUARDS: list[tuple[dict[str, Any], ModelRequest, bool]] = [
    ({"last_user": "(?i)refund"}, request(user("My REFUND, please")), True),
    ({"last_user": "(?i)refund"}, request(user("refund"), user("thanks")), False),
    ({"last_user": "sum"}, request(user("sum"), tool_result("f", "x")), True),
    ({"last_user": "^$"}, request({"role": "system", "content": "x"}), True),
    ({"has_tool_result": True}, request(user("x"), tool_result("f", "x")), True),
    ({"has_tool_result": True}, request(tool_result("f", "x"), user("x")), False),
    ({"has_tool_result": False}, request(user("x")), True),
    ({"tool": "f"}, request(tool_result("f", "x")), True),
    ({"tool": "f"}, request(tool_result("g", "x")), False),
    ({"tool": "f"}, request(tool_result("f", "x"), user("x")), False),
    ({"turn": 2}, request(turn=2), True),
    ({"turn": 2}, request(turn=1), False),
    ({"purpose": "summary"}, request(purpose="summary"), True),
    ({"purpose": "summary"}, request(purpose="main"), False),
    ({"turn": 2, "last_user": "hi"}, request(turn=2), True),
    ({"turn": 2, "last_user": "ho"}, request(turn=2), False),
]


@pytest.mark.parametrize(("guard", "asked", "holds"), GUARDS)
def test_a_reply_is_taken_only_when_its_whole_guard_holds(
    guard: dict[str, Any], asked: ModelRequest, holds: bool
) -> None:
    model = ScriptedModel([{"when": guard, "text": "guarded"}, {"text": "open"}])
    assert texts(model, asked) == ["guarded" if holds else "open"]


def test_a_reply_that_was_passed_over_waits_for_its_guard() -> None:
    model = ScriptedModel([{"when": {"turn": 2}, "text": "second"}, *said("a", "b")])
    assert texts(model, request(turn=1), request(turn=2), request(turn=2)) == ["a", "second", "b"]


def test_a_title_call_takes_no_reply_meant_for_the_conversation() -> None:
    """A script is written for the turns; naming the chat must not eat the next one's answer (R7)."""
    model = ScriptedModel(said("a", "b"), at_end="echo")
    title = request(purpose="title")
    assert texts(model, request(), title, request()) == ["a", "model_error.script", "b"]


def test_a_title_call_is_answered_by_its_guard_or_by_a_script_of_its_own() -> None:
    title = request(purpose="title")
    guarded = ScriptedModel([*said("a"), {"when": {"purpose": "title"}, "text": "Title"}])
    assert texts(guarded, request(), title) == ["a", "Title"]
    assert texts(ScriptedModel(said("Own", "Next")), title, title) == ["Own", "Next"]


def test_at_the_end_the_last_reply_is_repeated_or_the_user_echoed() -> None:
    assert texts(ScriptedModel(said("a", "b"), at_end="repeat"), *[request()] * 4) == ["a", "b", "b", "b"]
    assert texts(ScriptedModel([], at_end="echo"), request(user("{{ hello }}"))) == ["{{ hello }}"]
    assert texts(ScriptedModel([], at_end="repeat"), request()) == ["model_error.script"]


def test_the_error_at_the_end_says_what_was_asked() -> None:
    _, error = ask(ScriptedModel([], name="scripted/a.yaml"), request(user("Where?"), turn=3))
    assert str(error) == (
        "The script scripted/a.yaml has no unused reply for this request: purpose main, turn 3, last user message "
        "'Where?'. Add one, or set at_end."
    )


def test_a_reply_streams_in_pieces_that_make_the_whole() -> None:
    reply = {"text": "Hello you", "reasoning": "hm hm", "chunk_size": 4,
             "tool_calls": [{"id": "x", "name": "f", "arguments": {"a": 1}}]}  # fmt: skip
    deltas, _ = asyncio.run(deltas_of(ScriptedModel([reply]), request()))
    assert [delta.text for delta in deltas if isinstance(delta, ReasoningDelta)] == ["hm h", "m"]
    assert [delta.text for delta in deltas if isinstance(delta, TextDelta)] == ["Hell", "o yo", "u"]
    fragments = [delta for delta in deltas if isinstance(delta, ToolFragment)]
    assert fragments[0] == ToolFragment(0, "x", "f", "")
    assert "".join(fragment.arguments for fragment in fragments) == '{"a": 1}'


def test_a_reply_is_all_it_says() -> None:
    blocks = {"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "S"}]}
    reply, error = ask(
        ScriptedModel([
            {"text": "Look", "reasoning": "hm", "provider": blocks,
             "tool_calls": [{"name": "f"}, {"name": "g", "arguments": '{"broken'}],
             "usage": {"input": 1200, "output": 20, "cache_read": 1000, "cache_write": 5, "cost": 0.25}},
        ])
    )  # fmt: skip
    assert error is None
    assert (reply.text, reply.reasoning, reply.provider, reply.finish_reason) == ("Look", "hm", blocks, "tool_calls")
    assert reply.tool_calls == (RawCall(None, "f", "{}"), RawCall(None, "g", '{"broken'))
    assert reply.usage == Usage(1200, 20, 1000, 5, Decimal("0.25"))


def test_tokens_are_characters_by_four_when_usage_is_absent() -> None:
    """X5: the request's characters, schemas included, if it was counted; else those of its messages."""
    model = ScriptedModel([{"text": "123456789", "repeat": True}])
    assert ask(model, request(user("12345"), chars=41))[0].usage == Usage(11, 3)
    assert ask(model, request(user("12345"), user("67")))[0].usage == Usage(2, 3)


def test_an_empty_usage_is_no_report_and_zeros_are_kept() -> None:
    """X5: what a zero means is decided by who reads it."""
    model = ScriptedModel([{"usage": {}}, {"usage": {"input": 0, "output": 0}}])
    assert [ask(model)[0].usage for _ in range(2)] == [None, Usage(0, 0)]


def test_the_finish_reason_is_as_scripted_or_follows_from_the_calls() -> None:
    """T12"""
    replies = [{"finish_reason": "length", "tool_calls": [{"name": "f"}]}, {"tool_calls": [{"name": "f"}]}, {}]
    model = ScriptedModel(replies)
    assert [ask(model)[0].finish_reason for _ in replies] == ["length", "tool_calls", "stop"]


@pytest.mark.parametrize(
    "kind",
    ["rate_limited", "timeout", "unavailable", "auth", "bad_request", "context_overflow", "content_filter"],
)
def test_an_error_comes_before_anything_else(kind: str) -> None:
    """T16"""
    deltas, error = asyncio.run(deltas_of(ScriptedModel([{"text": "x", "error": {"kind": kind}}]), request()))
    assert (deltas, error and error.kind) == ([], kind)


def test_a_rate_limit_says_how_long_to_wait() -> None:
    _, error = ask(ScriptedModel([{"error": {"kind": "rate_limited", "retry_after": 2}}]))
    assert error is not None
    assert error.retry_after == 2.0


@pytest.mark.parametrize(
    ("failure", "text", "arguments"),
    [
        ({"kind": "cut", "after": 0}, "", []),
        ({"kind": "cut", "after": 3}, "Hel", []),
        ({"kind": "cut", "after": 5}, "Hello", []),
        ({"kind": "cut", "after": 8}, "Hello", ['{"a']),
        ({"kind": "cut"}, "Hello", ['{"a": 1}']),
        ({"kind": "unavailable", "after": 4}, "Hell", []),
    ],
)
def test_a_stream_is_cut_after_so_many_characters(failure: dict[str, Any], text: str, arguments: list[str]) -> None:
    """T12, B30: neither finish reason nor usage comes after a cut."""
    reply, error = ask(
        ScriptedModel([{"text": "Hello", "tool_calls": [{"name": "f", "arguments": {"a": 1}}], "error": failure}])
    )
    assert error is not None
    assert error.kind == failure["kind"]
    assert (reply.text, [call.arguments for call in reply.tool_calls]) == (text, arguments)
    assert (reply.finish_reason, reply.usage) == (None, None)


def test_a_function_answers_for_itself() -> None:
    async def later(asked: ModelRequest) -> dict[str, Any]:
        return {"text": f"later {asked.turn}"}

    model = ScriptedModel([lambda asked: {"text": asked.messages[-1]["content"]}, later])
    assert texts(model, *[request(user("me"), turn=2)] * 3) == ["me", "later 2", "model_error.script"]


def test_one_function_answers_every_request() -> None:
    assert texts(ScriptedModel(lambda asked: {"text": asked.purpose}), *[request(purpose="title")] * 3) == ["title"] * 3


def test_a_function_that_gives_no_reply_is_a_script_error() -> None:
    _, error = ask(ScriptedModel(lambda asked: {"txt": "x"}))
    assert error is not None
    assert (error.kind, "did you mean 'text'" in str(error)) == ("script", True)


def test_every_request_is_kept_but_not_for_ever() -> None:
    model = ScriptedModel([{"text": "x", "repeat": True}])

    async def many() -> None:
        for turn in range(MAX_REQUESTS + 5):
            await deltas_of(model, request(turn=turn))

    asyncio.run(many())
    assert (len(model.requests), model.requests[0].turn, model.requests[-1].turn) == (MAX_REQUESTS, 5, MAX_REQUESTS + 4)


def test_what_sessions_used_up_is_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripted_model, "MAX_SESSIONS", 2)
    model = ScriptedModel(said("a", "b"))
    asked = [request(session=session) for session in ("one", "two", "one", "three", "two", "one")]
    assert texts(model, *asked) == ["a", "a", "b", "a", "a", "a"]


def test_leftovers_can_be_asked_for() -> None:
    model = ScriptedModel([*said("a", "b", "c"), {"text": "d", "repeat": True}])
    texts(model, request(session="one"), request(session="two"), request(session="two"))
    assert model.unused() == (2,)


def write(folder: Path, content: str, name: str = "script.yaml") -> str:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(content)
    return "scripted/script.yaml"


@pytest.mark.parametrize("name", ["script.yaml", "scripted/script.yaml"])
def test_a_script_is_found_beside_the_agent(tmp_path: Path, name: str) -> None:
    model = ScriptedModel.from_file(write(tmp_path, "replies: [{text: hi}]", name), tmp_path)
    assert (model.name, model.scripted, texts(model, request())) == ("scripted/script.yaml", True, ["hi"])


def test_a_missing_script_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match=r"there is no .*none\.yaml and no .*scripted/none\.yaml"):
        ScriptedModel.from_file("scripted/none.yaml", tmp_path)


def test_models_of_one_scope_go_on_where_the_last_one_stopped(tmp_path: Path) -> None:
    """One process may open the project anew for every turn; another database is another conversation."""
    name = write(tmp_path, "replies: [{text: a}, {text: b}]")
    scopes = ("db-1", "db-1", "db-2", None, None)
    models = [ScriptedModel.from_file(name, tmp_path, scope=scope) for scope in scopes]
    assert [texts(model, request())[0] for model in models] == ["a", "b", "a", "a", "a"]


def test_a_changed_script_starts_anew(tmp_path: Path) -> None:
    """A7"""
    before = ScriptedModel.from_file(write(tmp_path, "replies: [{text: a}, {text: b}]"), tmp_path, scope="db-3")
    assert texts(before, request()) == ["a"]
    after = ScriptedModel.from_file(write(tmp_path, "replies: [{text: c}, {text: d}]"), tmp_path, scope="db-3")
    assert texts(after, request()) == ["c"]
