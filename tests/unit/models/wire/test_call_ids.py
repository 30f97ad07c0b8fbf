"""Ids of calls as a provider takes them, the same way each time."""

from __future__ import annotations

import re
from typing import Any

import pytest

from agentflow.models.wire.call_ids import accepted_ids, ids_of, rewrite_ids

OURS = "019acf2b-3c4d-7e5f-8a9b-0c1d2e3f4a5b"
LONG = "call_" + "x" * 300
MISTRAL, ANTHROPIC, OPENAI = r"[A-Za-z0-9]{9}", r"[A-Za-z0-9_-]{1,64}", r"[\x21-\x7e]{1,40}"


@pytest.mark.parametrize(
    ("model", "provider", "form"),
    [
        ("mistral/mistral-large", "mistral", MISTRAL),
        ("hosted_vllm/Ministral-8B", "hosted_vllm", MISTRAL),
        ("anthropic/claude-x", "anthropic", ANTHROPIC),
        ("openrouter/anthropic/claude-x", "openrouter", ANTHROPIC),
        ("openai/gpt-x", "openai", OPENAI),
        ("groq/any", "groq", r"[\x21-\x7e]{1,64}"),
    ],
)
def test_every_id_leaves_in_the_providers_form(model: str, provider: str, form: str) -> None:
    """T14, D57"""
    given = [OURS, LONG, "functions.look:0", "abcDEF123", "mit Leerzeichen", "ü", ""]
    rewritten = accepted_ids(given, model, provider)
    sent = [rewritten.get(each, each) for each in given]
    assert [each for each in sent if not re.fullmatch(form, each)] == []
    assert len(set(sent)) == len(given)
    assert "abcDEF123" not in rewritten


def test_an_id_is_rewritten_the_same_way_in_every_request() -> None:
    first = accepted_ids([OURS, LONG], "m", "mistral")
    later = accepted_ids([LONG, "abcDEF123", OURS, "another one"], "m", "mistral")
    assert first == {each: later[each] for each in (OURS, LONG)}


def test_a_rewritten_id_never_meets_one_that_is_there() -> None:
    taken = accepted_ids([OURS], "m", "mistral")[OURS]
    again = accepted_ids([OURS, taken], "m", "mistral")
    assert again[OURS] != taken
    assert taken not in again


def test_what_a_provider_hides_in_its_ids_goes_back() -> None:
    """Gemini's ids carry the signature of its thinking."""
    assert accepted_ids([LONG], "gemini/gemini-x", "gemini") == {}


def test_a_call_and_its_result_get_the_same_id() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "assistant", "tool_calls": [{"id": OURS}, {"id": "abcDEF123"}]},
        {"role": "tool", "tool_call_id": OURS},
        {"role": "tool", "tool_call_id": "abcDEF123"},
        {"role": "user", "content": "x"},
    ]
    rewrite_ids(messages, accepted_ids(ids_of(messages), "m", "mistral"))
    first, second = (call["id"] for call in messages[0]["tool_calls"])
    assert [message.get("tool_call_id") for message in messages[1:]] == [first, second, None]
    assert (len(first), second) == (9, "abcDEF123")
