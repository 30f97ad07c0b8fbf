"""What is written for people is read back as the same data (R9)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentflow.config.document.yaml_text import yaml_text
from agentflow.config.document.yamlfile import parse

ODD = [
    "no", "1e5", "0o17", "0x1F", "12:30", "~", "null", "<<", "=", "2026-12-01", "a: b", "# x", "'", '"', "- a", "---",
    "a\nb\n", "a\n\nb", "a \nb", "  a\nb", "\n", "a\n\n", "a\r\nb", "\x85", "\u2028x\ny", "${X}", "{{ a }}", "!x",
    "\ufeff",
]  # fmt: skip
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12) | st.sampled_from(ODD)
PLAIN = st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, allow_infinity=False)


def _of(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(children, max_size=3) | st.dictionaries(TEXTS, children, max_size=3)


@given(st.dictionaries(TEXTS, st.recursive(PLAIN | TEXTS, _of, max_leaves=8), max_size=3))
def test_json_is_read_back_as_it_was(value: dict[str, Any]) -> None:
    document = parse(yaml_text({"": value}), "a case")
    assert (document.problems, document.data) == ([], {"": value})


@pytest.mark.parametrize("text", ODD)
def test_a_text_that_looks_like_something_else_stays_a_text(text: str) -> None:
    assert parse(yaml_text({"a": text, text: 1}), "a case").data == {"a": text, text: 1}


def test_a_text_of_several_lines_is_a_block_that_can_be_edited() -> None:
    assert yaml_text({"a": ["one\n\ntwo\n"], "b": {"c": "no"}}) == "a:\n- |\n  one\n\n  two\nb:\n  c: no\n"
