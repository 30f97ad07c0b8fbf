"""Who is asked in which order, and how long a failed model is passed over (W5)."""

from __future__ import annotations

import pytest

from agentflow.config.keys.agent import Interface
from agentflow.errors import ModelError
from agentflow.models.fallback.candidates import Candidates
from agentflow.models.fallback.fitting import Need, fitted
from agentflow.models.litellm_model import LitellmModel
from agentflow.models.scripted_model import ScriptedModel

ANY = Need(10, False, frozenset())
BUSY = ModelError("rate_limited", "Slow down.")


def models(*names: str) -> tuple[ScriptedModel, ...]:
    return tuple(ScriptedModel([], name=name) for name in names)


def names(candidates: Candidates, need: Need = ANY, now: float = 0.0) -> list[str]:
    return [model.name for model in candidates.asked(need, now)]


def test_a_failed_model_is_passed_over_until_it_has_cooled_down() -> None:
    candidates = Candidates(models("a", "b"), cool_down_secs=60)
    asked = candidates.asked(ANY, 100.0)
    assert asked.failed(BUSY, 100.0, shown=False) is None
    again = candidates.asked(ANY, 101.0)
    assert [model.name for model in again] == ["b"]
    assert again.passed_over == (("a", "failed before, passed over for 59 s more"),)
    assert names(candidates, now=160.0) == ["a", "b"]


@pytest.mark.parametrize(
    ("waits", "until"),
    [
        pytest.param([1.0], 1.0, id="the provider's own wait is shorter"),
        pytest.param([None], 60.0, id="the provider names none"),
        pytest.param([86_400.0], 60.0, id="no longer than the key says"),
        pytest.param([None, 1.0], 60.0, id="the later end holds"),
        pytest.param([1.0, 30.0], 30.0, id="a later, longer wait extends it"),
    ],
)
def test_the_later_end_of_the_waits_holds_and_is_capped(waits: list[float | None], until: float) -> None:
    candidates = Candidates(models("a", "b"), cool_down_secs=60)
    for wait in waits:
        candidates.cool(candidates.models[0], ModelError("rate_limited", "Slow down.", retry_after=wait), 0.0)
    assert names(candidates, now=until - 0.1) == ["b"]
    assert names(candidates, now=until) == ["a", "b"]


def test_when_all_are_cooling_the_one_due_soonest_is_asked() -> None:
    candidates = Candidates(models("a", "b", "c"), cool_down_secs=60)
    for model, at in zip(candidates.models, (10.0, 0.0, 20.0), strict=True):
        candidates.cool(model, BUSY, at)
    assert names(candidates, now=30.0) == ["b"]


def test_only_the_last_one_is_asked_again() -> None:
    asked = Candidates(models("a", "b"), cool_down_secs=60).asked(ANY, 0.0)
    assert asked.retries(3) == 0
    asked.failed(BUSY, 0.0, shown=False)
    assert asked.retries(3) == 3


@pytest.mark.parametrize(
    ("error", "shown", "goes_on"),
    [
        (ModelError("rate_limited", "Slow down."), False, True),
        (ModelError("unavailable", "Down."), False, True),
        (ModelError("timeout", "Slow."), False, True),
        (ModelError("rate_limited", "Slow down."), True, False),
        (ModelError("bad_request", "No."), False, False),
        (ModelError("auth", "No key."), False, False),
        (ModelError("context_overflow", "Too long."), False, False),
    ],
)
def test_what_the_interface_s_own_model_refuses_goes_to_nobody_else(
    error: ModelError, shown: bool, goes_on: bool
) -> None:
    failure = Candidates(models("a", "b")).asked(ANY, 0.0).failed(error, 0.0, shown=shown)
    assert failure is (None if goes_on else error)


@pytest.mark.parametrize("kind", ["auth", "bad_request", "context_overflow", "unavailable"])
def test_a_fallback_that_fails_is_followed_by_the_next_and_the_first_failure_is_told(kind: str) -> None:
    """F56: an overflow of a fallback is no overflow of the conversation."""
    asked = Candidates(models("a", "b", "c")).asked(ANY, 0.0)
    assert asked.failed(ModelError("rate_limited", "Slow down.", retry_after=9), 0.0, shown=False) is None
    other = ModelError(kind, "Not here.")  # type: ignore[arg-type]
    assert asked.failed(other, 0.0, shown=False) is None
    failure = asked.failed(other, 0.0, shown=False)
    assert failure is not None
    assert (failure.kind, failure.retry_after) == ("rate_limited", 9)
    assert str(failure) == f"Slow down. Asked after a, and failed too: b ({other.code}); c ({other.code})."


def test_a_fallback_that_is_too_small_makes_no_room_in_the_conversation() -> None:
    """F56, X16: it is asked alone while the interface's own model is cooling."""
    candidates = Candidates(models("a", "b"), cool_down_secs=60)
    candidates.cool(candidates.models[0], BUSY, 0.0)
    failure = candidates.asked(ANY, 1.0).failed(ModelError("context_overflow", "Too long."), 1.0, shown=False)
    assert failure is not None
    assert (failure.kind, failure.message) == ("bad_request", "Too long.")


def test_one_model_alone_is_always_asked_and_never_passed_over() -> None:
    candidates = Candidates(models("a"), cool_down_secs=60)
    candidates.asked(ANY, 0.0).failed(BUSY, 0.0, shown=False)
    assert names(candidates, now=1.0) == ["a"]


def test_fallbacks_that_the_request_does_not_suit_are_passed_over_with_the_reason() -> None:
    """F56; the names are rows of litellm's own table."""
    own = LitellmModel("openai/gpt-4.1", max_output_tokens=30_000)
    others = [LitellmModel(name) for name in ("openai/gpt-4", "openai/gpt-4o", "openai/o3-mini", "openai/gpt-4.1-mini")]
    need = Need(100_000, True, frozenset({"image"}))
    asked = Candidates((own, *others)).asked(need, 0.0)
    assert [model.name for model in asked] == ["openai/gpt-4.1", "openai/gpt-4.1-mini"]
    assert dict(asked.passed_over) == {
        "openai/gpt-4": "reads 8,192 tokens at most, the request has about 100,000",
        "openai/gpt-4o": "writes 16,384 tokens at most, 30,000 are asked for",
        "openai/o3-mini": "reads no pictures",
    }


def test_a_fallback_that_writes_less_is_better_than_none() -> None:
    own, short = LitellmModel("openai/gpt-4.1", max_output_tokens=30_000), LitellmModel("openai/gpt-4o")
    asked = Candidates((own, short), cool_down_secs=60)
    asked.cool(own, BUSY, 0.0)
    assert names(asked) == ["openai/gpt-4o"]


def test_the_parameters_of_a_fallback_are_those_it_takes() -> None:
    given = {"max_output_tokens": 64_000, "reasoning_effort": "high", "temperature": 0.5}
    interface = fitted(Interface(model="openai/gpt-4o", **given))
    assert (interface.max_output_tokens, interface.reasoning_effort, interface.temperature) == (16_384, None, 0.5)
    unknown = Interface(model="openai/my-own-server", **given)
    assert fitted(unknown) == unknown
