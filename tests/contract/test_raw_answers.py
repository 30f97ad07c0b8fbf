"""Raw bytes of every provider format through the real library: a reply is one, or it is an error that says why."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest

from agentflow.errors import ModelError
from agentflow.models.assembly import RawCall, Reply
from agentflow.models.litellm_model import LitellmModel
from tests import raw_streams as raw
from tests.contract.test_model_contract import outcome, request
from tests.stub_server import Answer, StubServer

CHAT = ("openai", "hosted_vllm", "deepseek", "mistral", "openrouter", "groq", "together_ai", "lm_studio", "xai")
PREFIXES = (*CHAT, "anthropic", "gemini")


@pytest.fixture(scope="module", autouse=True)
def _warm() -> Iterator[None]:
    """litellm takes seconds to import: once, before anything."""
    asyncio.run(LitellmModel("openai/any").warm())
    return


def answered(prefix: str, body: bytes, **answer: object) -> tuple[Reply, ModelError | None]:
    async def run() -> tuple[Reply, ModelError | None]:
        async with StubServer([Answer(raw=body, **answer)], strict=False) as stub:  # type: ignore[arg-type]
            base = stub.openai_base if prefix in CHAT else stub.anthropic_base
            model = LitellmModel(f"{prefix}/any", api_base=base, api_key="horse-battery")
            return await outcome(model, request())

    return asyncio.run(run())


def failed(prefix: str, body: bytes, **answer: object) -> tuple[Reply, ModelError]:
    reply, error = answered(prefix, body, **answer)
    assert error is not None
    return reply, error


NO_STREAM = {
    "nothing": (b"", {}, "empty body"),
    "only [DONE]": (raw.DONE, {}, "[DONE]"),
    "only comments": (b": ping\n\n: ping\n\n", {}, ": ping"),
    "a page": (b"<!DOCTYPE html><html>Sign in</html>", {"content_type": "text/html"}, "<html>Sign in"),
    "an error object": (b'{"error": {"message": "not today"}}', {"content_type": "application/json"}, "not today"),
    "204": (b"", {"status": 204}, "204"),
}


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("body", NO_STREAM)
def test_a_body_that_is_no_stream_is_a_cut_reply_that_quotes_it(prefix: str, body: str) -> None:
    """T12, D51"""
    content, how, quoted = NO_STREAM[body]
    reply, error = failed(prefix, content, **how)
    assert (error.code, reply.text, reply.finish_reason) == ("model_error.cut", "", None)
    assert quoted in error.message
    assert not content or quoted in error.detail["body"]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_an_error_object_keeps_its_kind(prefix: str) -> None:
    """T16: a rate limit inside a 200 is waited out like any other."""
    body = b'{"error": {"message": "slow down", "code": "rate_limit_exceeded"}}'
    assert failed(prefix, body, content_type="application/json")[1].kind == "rate_limited"


@pytest.mark.parametrize("prefix", CHAT)
@pytest.mark.parametrize("done", [True, False], ids=["[DONE]", "end of file"])
def test_a_stream_without_a_finish_reason_is_cut_and_its_text_kept(prefix: str, done: bool) -> None:
    """T12, D52: whatever reason the library adds."""
    reply, error = failed(prefix, raw.openai({"role": "assistant", "content": ""}, {"content": "Well"}, done=done))
    assert (reply.text, reply.finish_reason, error.kind) == ("Well", None, "cut")


@pytest.mark.parametrize(("prefix", "body"), [("gemini", raw.gemini([{"text": "Well"}])),
                                              ("anthropic", raw.anthropic("Well"))])  # fmt: skip
def test_so_it_is_in_the_other_formats(prefix: str, body: bytes) -> None:
    """T12, D52"""
    reply, error = failed(prefix, body)
    assert (reply.text, error.kind) == ("Well", "cut")


@pytest.mark.parametrize("prefix", CHAT)
def test_a_refusal_is_the_answer(prefix: str) -> None:
    """T12, D53: the library drops it."""
    body = raw.openai({"role": "assistant", "refusal": "I can"}, {"refusal": "not."}, finish="stop")
    reply, error = answered(prefix, body)
    assert (reply.text, reply.finish_reason, reply.finish_word, error) == ("I cannot.", "refusal", "stop", None)


def test_a_refusal_in_the_other_format_too() -> None:
    reply, _ = answered("anthropic", raw.anthropic("I cannot.", finish="refusal"))
    assert (reply.text, reply.finish_reason) == ("I cannot.", "refusal")
    assert answered("anthropic", raw.anthropic(finish="refusal"))[0].finish_reason == "content_filter"


FAILING = [
    ("gemini", raw.gemini([{"text": ""}], finish="MALFORMED_FUNCTION_CALL"), "MALFORMED_FUNCTION_CALL"),
    ("gemini", raw.gemini([{"text": "Well"}], finish="UNEXPECTED_TOOL_CALL"), "UNEXPECTED_TOOL_CALL"),
    ("gemini", raw.gemini([{"text": "Well"}], finish="OTHER"), "OTHER"),
    *((prefix, raw.openai({"content": "Well"}, finish=word), word)
      for prefix in CHAT for word in ("network_error", "insufficient_system_resource", "error", "cancelled")),
]  # fmt: skip


@pytest.mark.parametrize(("prefix", "body", "word"), FAILING)
def test_a_finish_reason_that_means_failure_fails_the_call(prefix: str, body: bytes, word: str) -> None:
    """T12, D54: the provider's own word is kept."""
    _, error = failed(prefix, body)
    assert (error.kind, error.detail["finish_reason"]) == ("cut", word)
    assert word in error.message


@pytest.mark.parametrize(
    ("prefix", "body", "word"),
    [
        ("mistral", raw.openai({"content": "Well"}, finish="model_length"), "model_length"),
        ("openai", raw.openai({"content": "Well"}, finish="length"), "length"),
        ("anthropic", raw.anthropic("Well", finish="max_tokens"), "max_tokens"),
        ("anthropic", raw.anthropic("Well", finish="model_context_window_exceeded"), "model_context_window_exceeded"),
        ("gemini", raw.gemini([{"text": "Well"}], finish="MAX_TOKENS"), "MAX_TOKENS"),
    ],
)
def test_every_word_for_the_output_limit_is_length(prefix: str, body: bytes, word: str) -> None:
    """T12"""
    reply, _ = answered(prefix, body)
    assert (reply.text, reply.finish_reason, reply.finish_word) == ("Well", "length", word)


@pytest.mark.parametrize("prefix", ["gemini"])
def test_a_prompt_that_is_blocked_is_withheld(prefix: str) -> None:
    body = raw.sse([{"promptFeedback": {"blockReason": "SAFETY"}}])
    assert answered(prefix, body)[0].finish_reason == "content_filter"


PARTS = [{"type": "text", "text": "Hi "}, {"type": "text", "text": "there"}]


@pytest.mark.parametrize("prefix", CHAT)
@pytest.mark.parametrize(
    "deltas",
    [
        [{"role": "assistant", "content": ""}, {"content": PARTS}],
        [{"content": PARTS[:1]}, {"content": PARTS[1:]}],
        [{"content": {"type": "text", "text": "Hi "}}, {"content": ["there"]}],
    ],
    ids=["after a role chunk", "in two chunks", "an object, and a list of texts"],
)
def test_content_of_another_shape_is_its_text(prefix: str, deltas: list[raw.Event]) -> None:
    """T12, D55"""
    reply, error = answered(prefix, raw.openai(*deltas, finish="stop"))
    assert (reply.text, error) == ("Hi there", None)


@pytest.mark.parametrize("prefix", ["openai", "hosted_vllm", "deepseek", "mistral", "groq"])
def test_reasoning_of_another_shape_too(prefix: str) -> None:
    """T12, D55"""
    reply, error = answered(prefix, raw.openai({"reasoning_content": PARTS}, {"content": "ok"}, finish="stop"))
    assert (reply.reasoning, reply.text, error) == ("Hi there", "ok", None)


@pytest.mark.parametrize("prefix", CHAT)
@pytest.mark.parametrize("content", [42, True, [{"type": "image_url", "image_url": {"url": "x"}}], {"a": 1}])
def test_content_without_any_text_is_a_bad_reply(prefix: str, content: object) -> None:
    """T12: never `internal_error`, never an empty answer."""
    _, error = failed(prefix, raw.openai({"content": content}, finish="stop"))
    assert error.code == "model_error.bad_reply"


@pytest.mark.parametrize("prefix", CHAT)
def test_a_table_of_dashes_is_no_failure(prefix: str) -> None:
    """D58"""
    reply, error = answered(prefix, raw.openai(*[{"content": "---"}] * 400, finish="stop"))
    assert (len(reply.text), error) == (1200, None)


def test_a_model_that_repeats_itself_is_told_so() -> None:
    """D58"""
    reply, error = failed("openai", raw.openai(*[{"content": "---"}] * 1200, finish="stop"))
    assert (error.kind, len(reply.text) >= 2900) == ("cut", True)
    assert "repeating" in error.message


@pytest.mark.parametrize("prefix", CHAT)
def test_the_call_of_an_old_server_is_a_call(prefix: str) -> None:
    """`function_call`, which the library drops while it streams."""
    deltas = [{"function_call": {"name": "look", "arguments": ""}}, {"function_call": {"arguments": "{}"}}]
    assert answered(prefix, raw.openai(*deltas, finish="function_call"))[0].tool_calls == (RawCall(None, "look", "{}"),)


@pytest.mark.parametrize("prefix", ["openai", "groq"])
def test_words_about_finish_reasons_in_a_text_are_only_text(prefix: str) -> None:
    text = '{"choices":[{"finish_reason":"error","content":[1]}]} "refusal": "no"'
    reply, error = answered(prefix, raw.openai({"content": text}, finish="stop"))
    assert (reply.text, reply.finish_reason, error) == (text, "stop", None)


OURS = "019acf2b-3c4d-7e5f-8a9b-0c1d2e3f4a5b"
ASKING = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": OURS, "type": "function", "function": {"name": "look", "arguments": "{}"}}],
}


@pytest.mark.parametrize(("prefix", "form"), [("mistral", "[A-Za-z0-9]{9}"), ("openai", OURS), ("groq", OURS)])
def test_a_call_of_another_model_leaves_with_an_id_that_is_taken(prefix: str, form: str) -> None:
    """T14, D57: the call and its result under the same one."""

    async def run() -> list[dict[str, Any]]:
        async with StubServer([Answer(raw=raw.openai({"content": "ok"}, finish="stop"))]) as stub:
            model = LitellmModel(f"{prefix}/any", api_base=stub.openai_base, api_key="horse-battery")
            result = {"role": "tool", "tool_call_id": OURS, "name": "look", "content": "seen"}
            await outcome(model, request({"role": "user", "content": "hi"}, ASKING, result, tools=True))
            return stub.requests[0].messages

    messages = asyncio.run(run())
    sent = messages[1]["tool_calls"][0]["id"]
    assert re.fullmatch(form, sent)
    assert messages[2]["tool_call_id"] == sent
