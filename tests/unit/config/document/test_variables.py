"""`${VAR}` in strings (A3, B70)."""

from __future__ import annotations

import pytest

from agentflow.config.document.variables import Substituted, substitute

VARIABLES = {"A": "one", "EMPTY": "", "NESTED": "${A}"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${A}", "one"),
        ("x${A}y${A}", "xoneyone"),
        ("${EMPTY}", ""),
        ("${EMPTY:-d}", "d"),
        ("${NOPE:-d e}", "d e"),
        ("${NOPE:-}", ""),
        ("${A:-d}", "one"),
        ("${A:?must}", "one"),
        ("${NESTED}", "${A}"),
        ("${NOPE:-$5}", "$5"),
    ],
)
def test_a_reference_is_filled_in_once(text: str, value: str) -> None:
    filled, complaints = substitute(text, VARIABLES)
    assert (filled, complaints) == (value, [])
    assert isinstance(filled, Substituted)


@pytest.mark.parametrize(
    ("text", "value"), [("$5", "$5"), ("$A", "$A"), ("$$", "$"), ("$${A}", "${A}"), ("$$$$", "$$"), ("a$", "a$")]
)
def test_other_dollars_are_plain_text(text: str, value: str) -> None:
    filled, complaints = substitute(text, VARIABLES)
    assert (filled, complaints) == (value, [])
    assert not isinstance(filled, Substituted)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("${NOPE}", "NOPE is not set"),
        ("${NOPE:?get one}", "NOPE is not set: get one"),
        ("${EMPTY:?get one}", "EMPTY is empty: get one"),
        ("${", "starts no reference"),
        ("${1}", "starts no reference"),
        ("${A-b}", "starts no reference"),
    ],
)
def test_what_cannot_be_filled_in_is_complained_of(text: str, said: str) -> None:
    _, complaints = substitute(text, VARIABLES)
    assert len(complaints) == 1
    assert said in complaints[0]


def test_every_unset_variable_is_named() -> None:
    assert len(substitute("${N1} ${N2}", {})[1]) == 2
