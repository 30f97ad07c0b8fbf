"""S5: every error has one status, in one table."""

from __future__ import annotations

import json

import pytest

from agentflow import AgentflowError, InvalidInput, ModelError, TurnAlreadyActive, errors
from agentflow.server.problems import OWN_STATUS, STATUS, Refusal, pointer_of, problem, status_of


def test_every_code_has_its_status_and_the_table_has_no_other() -> None:
    ours = {
        value.code for value in vars(errors).values() if isinstance(value, type) and issubclass(value, AgentflowError)
    }
    assert ours | {"context_overflow"} == set(STATUS)
    assert set(STATUS) & set(OWN_STATUS) == set()


def test_a_kind_of_a_models_error_has_the_status_of_models() -> None:
    assert status_of(ModelError("rate_limited", "Slow down.").code) == 502


def test_a_problem_says_what_happened_and_what_to_do() -> None:
    busy = TurnAlreadyActive("Busy.", detail={"turn_id": "t-1", "retry_after": 1.2, "status": "hidden", "code": "x"})
    answer = problem(busy)
    assert (answer.status_code, answer.media_type) == (409, "application/problem+json")
    assert answer.headers["retry-after"] == "2"
    assert json.loads(bytes(answer.body)) == {
        "type": "urn:agentflow:problem:turn_already_active", "title": "Conflict", "status": 409, "detail": "Busy.",
        "code": "turn_already_active", "turn_id": "t-1", "retry_after": 1.2,
    }  # fmt: skip


def test_a_field_is_told_as_a_json_pointer() -> None:
    answer = problem(InvalidInput("Wrong.", detail={"field": "messages[0].content"}))
    assert json.loads(bytes(answer.body))["errors"] == [{"pointer": "/messages/0/content", "detail": "Wrong."}]


@pytest.mark.parametrize(
    ("field", "pointer"), [("a", "/a"), ("a[1][2].b", "/a/1/2/b"), ("a/b~c", "/a~1b~0c"), ("inputs.x", "/inputs/x")]
)
def test_pointers(field: str, pointer: str) -> None:
    assert pointer_of(field) == pointer


def test_a_refusal_of_the_server_has_its_headers() -> None:
    answer = problem(Refusal("unauthorized", "No.", headers={"WWW-Authenticate": "Bearer"}))
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert "retry-after" not in answer.headers
