"""T13: what a model may write as arguments. The cases of B42 and the argument of B38."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentflow.tools.arguments import parse_arguments, refusal

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text('ab{}"é '),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("raw", ["", "null", "{}", "  ", " null\n", " {} "])
def test_nothing_null_and_an_empty_object_are_no_arguments(raw: str) -> None:
    assert parse_arguments(raw)[0] == {}


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        ('{"a": 1', "not valid JSON"),
        ('{"a":1}{"a":2}', "Extra data"),
        ("[]", "this is an array"),
        ('"x"', "this is a string"),
        ('"{\\"a\\": 1}"', "this is a string"),
        ("42", "this is a number"),
        ("true", "this is true or false"),
        ('{"a":NaN}', "NaN is not JSON"),
        ('{"a":-Infinity}', "-Infinity is not JSON"),
        ('{"a":1e999}', "too large"),
        ('{"a":1,"a":2}', "the key 'a' is given twice"),
        ('{"a":{"b":1,"b":1}}', "the key 'b' is given twice"),
        ("{'a': 1}", "not valid JSON"),
        ("{a: 1}", "not valid JSON"),
        ("x" * 2_000_000, "not valid JSON"),
        ("[" * 200_000, "not valid JSON"),
        ('{"a":' + "9" * 5000 + "}", "digits"),
    ],
)
def test_anything_but_one_json_object_is_refused_with_a_reason(raw: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint) as caught:
        parse_arguments(raw)
    assert len(str(caught.value)) < 400


def test_nul_and_lone_surrogates_are_removed_and_the_change_is_told() -> None:
    """B38, T43: written raw or as an escape."""
    assert parse_arguments('{"k\\u0000":"a\\u0000b\\ud800"}') == ({"k": "ab\ufffd"}, True)
    assert parse_arguments('{"k":"\ud83d\ude00"}') == ({"k": "\U0001f600"}, True)
    assert parse_arguments('{"k":"\\u00e9"}') == ({"k": "é"}, False)


@given(st.dictionaries(st.text("ab"), JSON, max_size=4))
@settings(max_examples=60, deadline=None)
def test_every_json_object_is_understood_as_it_was_meant(value: dict[str, object]) -> None:
    assert parse_arguments(json.dumps(value)) == (value, False)


def test_a_refusal_shows_a_bounded_preview_and_what_is_expected() -> None:
    parameters = {
        "properties": {
            "city": {"type": "string"},
            "unit": {"enum": ["C", "F"]},
            "days": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "place": {"$ref": "#/$defs/Place"},
        },
        "required": ["city"],
    }
    text = refusal("weather", "c" * 9_000, "g" * 2_000_000, parameters)
    assert len(text) < 2_000
    assert "'weather'" in text
    assert (
        "Parameters: city (string, required), unit (one of C|F, optional), "
        "days (integer or null, optional), place (object, optional)" in text
    )


def test_a_refusal_of_a_tool_without_parameters_says_so() -> None:
    assert refusal("now", "no", "{", {}).endswith("Parameters: none")
