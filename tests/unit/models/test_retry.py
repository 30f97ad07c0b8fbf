"""Attempt in, delay or stop out (T16)."""

from __future__ import annotations

import pytest

from agentflow.errors import ModelError, ModelErrorKind
from agentflow.models.retry import jitter, retry_delay


def failed(kind: ModelErrorKind, retry_after: float | None = None) -> ModelError:
    return ModelError(kind, "x", retry_after=retry_after)


@pytest.mark.parametrize("kind", ["rate_limited", "unavailable", "timeout", "cut"])
def test_passing_faults_are_retried_until_the_retries_are_spent(kind: ModelErrorKind) -> None:
    """T16; a cut before anything was shown is one of them (T12)."""
    assert [retry_delay(failed(kind), attempt, 3) for attempt in (1, 2, 3, 4)] == [0.5, 1.0, 2.0, None]


@pytest.mark.parametrize("kind", ["auth", "bad_request", "context_overflow", "content_filter", "script"])
def test_what_would_fail_again_is_not_retried(kind: ModelErrorKind) -> None:
    """T16, X16: an overflow is outside the retry budget."""
    assert retry_delay(failed(kind), 1, 3) is None


def test_no_retries_means_none() -> None:
    assert retry_delay(failed("timeout"), 1, 0) is None


def test_retry_after_is_honoured() -> None:
    """T16; zero is a number too."""
    waits = [7.0, 0.0, 60.0]
    assert [retry_delay(failed("rate_limited", wait), 1, 3, jitter=1.0) for wait in waits] == waits


def test_a_provider_that_asks_for_too_long_a_wait_is_not_waited_for() -> None:
    """T16: coming back sooner would not honour it, waiting an hour would hold the turn."""
    assert retry_delay(failed("rate_limited", 3600.0), 1, 3) is None


def test_the_back_off_is_capped() -> None:
    assert [retry_delay(failed("timeout"), attempt, 5000, jitter=1.0) for attempt in (6, 7, 4000)] == [30.0, 30.0, 30.0]


def test_jitter_comes_from_the_caller() -> None:
    assert [retry_delay(failed("timeout"), 2, 3, jitter=share) for share in (0.0, 0.5, 1.0)] == [1.0, 1.5, 2.0]


def test_calls_refused_together_do_not_return_together() -> None:
    """The share is made of the call's id: it spreads, and a run told again is the same run."""
    shares = [jitter(f"call-{number}", 1) for number in range(200)]
    assert shares == [jitter(f"call-{number}", 1) for number in range(200)]
    assert len({round(share, 1) for share in shares}) > 8
    assert 0 <= min(shares) <= max(shares) < 1
