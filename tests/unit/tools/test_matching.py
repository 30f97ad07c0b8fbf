"""Arguments against a schema: what the library says, without what it takes for ever to say."""

from __future__ import annotations

import urllib.request
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agentflow.tools.matching import mismatch, validator_of

PAIR = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TREE: dict[str, Any] = {
    "type": "object",
    "properties": {"child": {"$ref": "#"}, "name": {"type": "string"}},
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        (PAIR, {"a": 1}),
        (PAIR, {"a": "1"}),
        (PAIR, {}),
        (TREE, {"child": {"child": {"name": "x"}}}),
        (TREE, {"child": {"child": {"name": 1}}}),
        (TREE, {"child": {"other": 1}}),
        ({"properties": {"x": {"pattern": "^a+$"}}}, {"x": "aaa"}),
        ({"properties": {"x": {"pattern": "^a+$"}}}, {"x": "baab"}),
        ({"properties": {"x": {"pattern": "b"}}}, {"x": "abc"}),
        ({"properties": {"x": {"pattern": "b"}}}, {"x": 3}),
        ({"properties": {"x": {"uniqueItems": True}}}, {"x": [1, 2, {"a": 1, "b": 2}]}),
        ({"properties": {"x": {"uniqueItems": True}}}, {"x": [{"a": 1, "b": 2}, {"b": 2, "a": 1}]}),
        ({"properties": {"x": {"uniqueItems": True}}}, {"x": [1, True, "1"]}),
        ({"properties": {"x": {"uniqueItems": False}}}, {"x": [1, 1]}),
        ({"properties": {"patternProperties": {"type": "string"}}, "additionalProperties": False},
         {"patternProperties": "x"}),
        ({"properties": {"unevaluatedProperties": {"type": "string"}}}, {"unevaluatedProperties": 1}),
        ({"properties": {"x": {"enum": [{"patternProperties": 1}]}}}, {"x": {"patternProperties": 1}}),
        ({"$defs": {"n": {"type": "null"}}, "properties": {"x": {"$ref": "#/$defs/n"}}}, {"x": 1}),
    ],
)  # fmt: skip
def test_it_is_what_the_library_says(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    """T13"""
    fits = Draft202012Validator(schema).is_valid(arguments)
    assert (mismatch(validator_of(schema), arguments) is None) is fits


def test_the_complaint_names_the_place() -> None:
    assert mismatch(validator_of(TREE), {"child": {"name": 1}}) == "child.name: 1 is not of type 'string'"


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(a|aa)*c", "(.*)*x"])
def test_a_pattern_that_backtracks_is_matched_at_once(pattern: str) -> None:
    """Z3: with the usual engine this does not end in a lifetime."""
    checks = validator_of({"properties": {"x": {"pattern": pattern}}})
    assert "does not match" in (mismatch(checks, {"x": "a" * 50_000 + "!"}) or "")


def test_a_pattern_of_no_linear_kind_is_left_to_who_runs_the_tool() -> None:
    """Look-around and references back: providers take them nowhere either (T13)."""
    checks = validator_of({"properties": {"x": {"pattern": r"(?=a)b|(c)\1"}}})
    assert mismatch(checks, {"x": "zzz"}) is None


def test_keys_with_patterns_are_not_searched_and_all_others_are_free() -> None:
    checks = validator_of({"patternProperties": {"^(a+)+$": {"type": "string"}}, "additionalProperties": False})
    assert mismatch(checks, {"a" * 40 + "!": 1}) is None


def test_equal_items_are_found_by_one_look_at_each() -> None:
    items: list[Any] = [{"number": number} for number in range(20_000)]
    checks = validator_of({"properties": {"x": {"uniqueItems": True}}})
    assert mismatch(checks, {"x": items}) is None
    assert "non-unique" in (mismatch(checks, {"x": [*items, {"number": 7}]}) or "")


def test_a_schema_that_doubles_at_every_level_is_given_up() -> None:
    """Z3: its references are counted, for each check anew."""
    doubling = {"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}
    nested: dict[str, Any] = {}
    for _ in range(60):
        nested = {"a": nested}
    checks = validator_of(doubling)
    for _ in range(2):
        with pytest.raises(ValueError, match="refers to itself too often"):
            mismatch(checks, nested)
    assert mismatch(checks, {"a": {"a": {}}}) is None


def test_nothing_is_fetched_from_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Z3: the library itself asks the address of a reference."""
    asked: list[Any] = []
    monkeypatch.setattr(urllib.request, "urlopen", lambda request, *_, **__: asked.append(request))
    checks = validator_of({"properties": {"x": {"$ref": "http://127.0.0.1:9/schema"}}})
    with pytest.raises(Exception, match=r"127\.0\.0\.1"):
        mismatch(checks, {"x": 1})
    assert asked == []


def test_many_wrong_items_cost_a_bounded_number_of_complaints() -> None:
    checks = validator_of({"properties": {"x": {"items": {"type": "string"}}}})
    assert "is not of type 'string'" in (mismatch(checks, {"x": [1] * 100_000}) or "")
