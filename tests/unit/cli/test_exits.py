"""The exit codes of the interfaces' table."""

from __future__ import annotations

import pytest

import agentflow
from cli.exits import ERRORS, Exit, of_error, of_turn
from cli.main import HINTS


@pytest.mark.parametrize(
    ("state", "error", "code"),
    [
        ("done", None, 0),
        ("failed", "model_error.auth", 1),
        ("failed", "limit_reached", 6),
        ("failed", "agent_not_found", 1),
        ("aborted", "question_expired", 1),
        ("aborted", None, 1),
        ("paused_ask_user", None, 4),
    ],
)
def test_a_turn_leaves_with_the_code_of_its_state_and_error(state: str, error: str | None, code: int) -> None:
    assert of_turn(state, error) == code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("invalid_config", 2),
        ("agent_not_found", 3),
        ("call_not_found", 3),
        ("turn_already_active", 5),
        ("store_error", 1),
        ("unheard_of", 1),
    ],
)
def test_an_error_leaves_with_the_code_of_its_kind(error: str, code: int) -> None:
    assert of_error(error) == code


def test_the_table_names_only_codes_that_exist() -> None:
    codes = {getattr(agentflow, name).code for name in agentflow.__all__ if _is_error(name)}
    assert set(ERRORS) <= {code for code in codes if isinstance(code, str)}


def test_a_signal_leaves_with_128_and_its_number() -> None:
    assert (Exit.SIGINT, Exit.SIGTERM) == (128 + 2, 128 + 15)


def _is_error(name: str) -> bool:
    value = getattr(agentflow, name)
    return isinstance(value, type) and issubclass(value, agentflow.AgentflowError)


def test_hints_belong_to_errors_that_exist() -> None:
    assert HINTS.keys() <= ERRORS.keys()
