"""Inputs of a request against `inputs:`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from agentflow.config.agent_config import InputSpec
from agentflow.config.inputs import check_inputs, parse_assignments
from agentflow.errors import InvalidInput

SPECS: Mapping[str, InputSpec] = {
    "id": InputSpec(type="string", required=True),
    "count": InputSpec(type="integer", default=3),
    "price": InputSpec(type="number"),
    "vip": InputSpec(type="boolean", default=False),
    "tags": InputSpec(type="array"),
    "more": InputSpec(type="object"),
    "plan": InputSpec(enum=("free", "pro")),
    "user_token": InputSpec(type="string"),
}


def test_every_declared_input_gets_its_value_its_default_or_none() -> None:
    assert check_inputs(SPECS, {"id": "c-1", "price": 2, "vip": True}) == {
        "id": "c-1",
        "count": 3,
        "price": 2,
        "vip": True,
        "tags": None,
        "more": None,
        "plan": None,
        "user_token": None,
    }


def test_null_for_an_optional_input_is_not_giving_it() -> None:
    assert check_inputs(SPECS, {"id": "x", "count": None})["count"] == 3


def test_false_and_zero_are_values() -> None:
    specs = {"a": InputSpec(type="boolean", default=True), "b": InputSpec(type="integer", default=1)}
    assert check_inputs(specs, {"a": False, "b": 0}) == {"a": False, "b": 0}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "Input 'id' is required"),
        ({"id": None}, "'id' must be a string, not None"),
        ({"id": 5}, "'id' must be a string, not 5"),
        ({"id": "x", "count": True}, "'count' must be an integer, not True"),
        ({"id": "x", "count": 1.0}, "'count' must be an integer, not 1.0"),
        ({"id": "x", "price": "2"}, "'price' must be a number, not '2'"),
        ({"id": "x", "price": float("nan")}, "'price' must be a number, not nan"),
        ({"id": "x", "vip": "false"}, "'vip' must be a boolean, not 'false'"),
        ({"id": "x", "tags": "a"}, "'tags' must be an array"),
        ({"id": "x", "more": []}, "'more' must be an object"),
        ({"id": "x", "plan": "por"}, "'plan' must be one of \"free\", \"pro\", not 'por'"),
        ({"id": "x", "cuont": 1}, "'cuont' is not an input of this agent, did you mean 'count'?"),
        ({"id": "x", "zzz": 1}, "it has id, count, price"),
    ],
)
def test_an_input_that_does_not_fit_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_inputs(SPECS, given)
    assert said in caught.value.message


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        check_inputs(SPECS, {"count": "x", "nope": 1})
    assert set(caught.value.detail["inputs"]) == {"id", "count", "nope"}


def test_a_secret_input_is_not_shown() -> None:
    """A3"""
    with pytest.raises(InvalidInput) as caught:
        check_inputs(SPECS, {"id": "x", "user_token": 12345})
    assert "12345" not in caught.value.message


def test_command_line_texts_are_converted_by_the_declared_type() -> None:
    texts = ["id=0123", "count=-4", "price=1.5", "vip=true", "tags=[1, 2]", 'more={"a": "=b"}', "plan=pro", "other=1"]
    assert parse_assignments(SPECS, texts) == {
        "id": "0123",
        "count": -4,
        "price": 1.5,
        "vip": True,
        "tags": [1, 2],
        "more": {"a": "=b"},
        "plan": "pro",
        "other": "1",
    }


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["count=many"], "'count' must be an integer, not 'many'"),
        (["count=1.5"], "'count' must be an integer"),
        (["vip=True"], "'vip' must be a boolean, not 'True'"),
        (["price=NaN"], "'price' must be a number"),
        (["tags={}"], "'tags' must be an array"),
        (["id"], "'id' is written KEY=VALUE"),
        (["id=a", "id=b"], "'id' is given twice"),
    ],
)
def test_a_command_line_text_that_cannot_be_converted_is_refused(texts: list[str], said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_assignments(SPECS, texts)
    assert said in caught.value.message
