"""Z3: JSON from outside is read to 64 levels and no further, whatever its texts hold."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentflow.text import MAX_JSON_DEPTH, read_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_what_is_not_deep_is_read_as_ever(value: object) -> None:
    assert read_json(json.dumps(value)) == value


@pytest.mark.parametrize("deep", ["[" * 65 + "]" * 65, '{"a":' * 65 + "1" + "}" * 65, "[" * 1_000_000, '[{"a":' * 500])
def test_more_than_64_levels_are_refused(deep: str) -> None:
    with pytest.raises(ValueError, match="more than 64 levels"):
        read_json(deep)


def test_64_levels_are_read_and_brackets_in_texts_are_no_levels() -> None:
    assert read_json("[" * MAX_JSON_DEPTH + "]" * MAX_JSON_DEPTH) is not None
    assert read_json(json.dumps(['[[[\\"{' * 100, "]"])) == ['[[[\\"{' * 100, "]"]


@pytest.mark.parametrize(
    "broken", ['"' + "\\" * 1_000_000, "[" * 70 + '"' * 1_000_000, "[" * 70 + '"' + "a" * 1_000_000]
)
def test_a_broken_text_is_refused_however_long_it_is(broken: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_json(broken)
