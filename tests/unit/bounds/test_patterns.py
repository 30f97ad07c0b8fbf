"""Z3: no pattern and no text hold the process, whoever wrote them."""

from __future__ import annotations

import pytest

from agentflow.bounds import patterns


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(a+)+$", "a" * 1_000_000 + "!"),
        (r"(a|aa)+$", "a" * 1_000_000 + "!"),
        (r"(\w+\s?)*$", "a " * 500_000 + "!"),
        (r"(?:x+x+)+y", "x" * 1_000_000),
        (r"(.*a){20}b", "a" * 1_000_000),
        (r"(?:.*,){30}x", "," * 100_000),
    ],
)
def test_a_search_without_end_is_given_up(pattern: str, text: str) -> None:
    with pytest.raises(patterns.TookTooLong, match="takes too long on this text"):
        patterns.compiled(pattern).find(text)


@pytest.mark.parametrize(
    "pattern",
    [
        "(", "a{1,2}{3}*", "x" * 1_001, "(" * 400 + ")" * 400, "(" * 31 + "a" + ")" * 31,
        "(?:(?:a{1,100}){1,100}){1,100}", "a{1,65535}", "(?:" * 9 + "a{9}" + "){9}" * 9, "a{99999999999999999999}",
    ],
    ids=range(9),
)  # fmt: skip
def test_a_pattern_that_has_no_bound_itself_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        patterns.compiled(pattern)


def test_what_people_write_is_found_with_its_groups() -> None:
    pattern = patterns.compiled(r"(?i)weather in (?P<city>\w+)(?P<more>x)?")
    assert pattern.groups == ("city", "more")
    assert pattern.find("Tell me: WEATHER in Ulm?") == {"city": "Ulm", "more": ""}
    assert pattern.find("Tell me") is None
    assert patterns.compiled("^yes$").find("yes") == {}
