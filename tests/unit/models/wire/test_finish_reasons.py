"""Providers' words for why a reply ended."""

from __future__ import annotations

import pytest

from agentflow.models.wire.finish_reasons import finish_kind


@pytest.mark.parametrize(
    ("word", "told", "kind"),
    [
        ("stop", "stop", "stop"), ("STOP", "stop", "stop"), ("end_turn", "stop", "stop"), ("eos", "stop", "stop"),
        ("function_call", "tool_calls", "tool_calls"), ("tool_use", "tool_calls", "tool_calls"),
        ("MAX_TOKENS", "length", "length"), ("model_length", "stop", "length"),
        ("model_context_window_exceeded", "length", "length"), ("incomplete", "stop", "length"),
        ("refusal", "content_filter", "refusal"), ("SAFETY", "content_filter", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "stop", "failed"), ("network_error", "stop", "failed"),
        ("insufficient_system_resource", "stop", "failed"), ("cancelled", "stop", "failed"),
        ("unknown", "stop", "failed"), ("FINISH_REASON_UNSPECIFIED", "stop", "failed"),
        (None, "length", "length"), ("a new word", "length", "length"), ("a new word", "another", "stop"),
    ],
)  # fmt: skip
def test_a_word_is_one_of_six_kinds(word: str | None, told: str, kind: str) -> None:
    """T12, D54: what the library hides behind `stop` is found in the provider's own word."""
    assert finish_kind(word, told) == kind
