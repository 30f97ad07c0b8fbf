"""Exceptions wrapped in exceptions become facts."""

from __future__ import annotations

import pytest
from freezegun import freeze_time

from agentflow.models.wire.failures import facts_of, retry_after


class Answer:
    def __init__(self, status_code: int, headers: dict[str, str] | None = None) -> None:
        self.status_code = status_code
        self.headers = headers or {}


class Fault(Exception):
    def __init__(self, text: str = "", **attributes: object) -> None:
        super().__init__(text)
        vars(self).update(attributes)


class InnerFault(Fault):
    pass


def test_the_status_is_the_innermost_answers() -> None:
    """B26: the library turns 413 into 400, and makes up answers without headers."""
    inner = InnerFault(response=Answer(413, {"content-type": "x"}))
    middle = Fault(response=Answer(500))
    middle.__cause__ = inner
    outer = Fault("too long", status_code=400, original_exception=middle, response=Answer(400, {"a": "b"}))
    facts = facts_of(outer, streaming=False)
    assert (facts.status, facts.names, facts.text) == (413, {"Fault", "InnerFault"}, "too long")


def test_without_an_answer_there_is_no_status() -> None:
    assert facts_of(Fault(status_code=500, response=Answer(500)), streaming=False).status is None


def test_codes_are_gathered_from_attributes_bodies_and_text() -> None:
    inner = InnerFault(body={"error": {"code": 429, "type": "Rate_Limit"}}, code="", type=None)
    outer = Fault('x - {"error": {"type": "overloaded_error"}}', code="context_length_exceeded")
    outer.__context__ = inner
    assert facts_of(outer, streaming=True).codes == {"429", "rate_limit", "overloaded_error", "context_length_exceeded"}


def test_a_circle_of_causes_ends() -> None:
    one, other = Fault("one"), InnerFault("other")
    one.__cause__, other.__cause__ = other, one
    assert facts_of(one, streaming=False).names == {"Fault", "InnerFault"}


@pytest.mark.parametrize("place", ["response", "headers", "litellm_response_headers"])
def test_retry_after_is_found_wherever_the_library_put_it(place: str) -> None:
    """T16"""
    headers = {"retry-after": "7"}
    fault = Fault(**{place: Answer(429, headers) if place == "response" else headers})
    assert facts_of(fault, streaming=False).retry_after == 7.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "Mon, 30 Nov 2026 09:00:30 GMT"}, 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 08:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    """T16, T38"""
    with freeze_time("2026-11-30 09:00:00"):
        assert retry_after(headers) == seconds
