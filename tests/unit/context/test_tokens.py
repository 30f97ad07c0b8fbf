"""X5: what the model would read, in tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentflow.context.tokens import Report, room_chars, tokens_to_read


@pytest.mark.parametrize(
    ("report", "chars", "tokens"),
    [
        (Report(184_000, 15), 29, 184_004),
        (Report(1000, 100), 101, 1001),
        (Report(1000, 100), 100, 1000),
        (Report(1000, 100), 93, 999),
        (Report(10, 4_000), 0, 0),
    ],
)
def test_a_report_is_corrected_by_a_quarter_of_the_characters_since(report: Report, chars: int, tokens: int) -> None:
    """X5: rounded up, also when the request shrank (a lean history), and never below 0."""
    assert tokens_to_read(report, chars) == tokens


@pytest.mark.parametrize("report", [None, Report(None, 99_999), Report(0, 99_999)])
def test_a_missing_or_zero_count_is_no_report(report: Report | None) -> None:
    """X5, B20 (iv) and (v)."""
    assert tokens_to_read(report, 4001) == 1001


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**4))
def test_more_characters_are_never_fewer_tokens(reported: int, before: int, chars: int, more: int) -> None:
    report = Report(reported, before)
    assert 0 <= tokens_to_read(report, chars) <= tokens_to_read(report, chars + more)


def test_room_follows_the_density_the_provider_measured() -> None:
    """Two characters a token leave half the characters that four leave."""
    assert room_chars(100, tokens=1000, request_chars=2000) == 200
    assert room_chars(100, tokens=500, request_chars=2000) == 400
    assert room_chars(100, tokens=0, request_chars=0) == 400
