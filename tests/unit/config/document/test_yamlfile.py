"""The YAML door: 1.2 scalars, duplicates, merges, bombs, odd files (A2, A3; B68, B69, B70)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentflow.config.document import yamlfile
from agentflow.errors import InvalidConfig


def load(text: bytes | str, variables: dict[str, str] | None = None) -> Any:
    return yamlfile.parse(text, "f.yaml", variables=variables).checked()


def refusal(text: bytes | str, variables: dict[str, str] | None = None) -> str:
    with pytest.raises(InvalidConfig) as caught:
        load(text, variables)
    return caught.value.message


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("yes", "yes"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("2001-01-01", "2001-01-01"),
        ("=", "="),
        ("true", True),
        ("FALSE", False),
        ("0123", 123),
        ("0o17", 15),
        ("0x1F", 31),
        ("-7", -7),
        ("1.10", 1.1),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("-.inf", -math.inf),
        ("~", None),
        ("", None),
        ("null", None),
        ("'false'", "false"),
        ('"12"', "12"),
        ("12345678901234567890", 12345678901234567890),
    ],
)
def test_scalars_are_read_by_the_yaml_1_2_core_schema(written: str, value: Any) -> None:
    """B69: nothing is converted silently."""
    read = load(f"key: {written}\n")["key"]
    assert read == value
    assert type(read) is type(value)


def test_nan_is_a_float() -> None:
    assert math.isnan(load("a: .nan")["a"])


def test_on_is_a_key_like_any_other() -> None:
    assert load("on: 1\nno: 2\n") == {"on": 1, "no": 2}


def test_a_duplicate_key_names_both_lines() -> None:
    """B68"""
    message = refusal("tools: [a]\nx: 1\ntools: [b]\n")
    assert message.startswith("f.yaml:3:1: tools: duplicate key, given on line 1 and again on line 3\n")


def test_all_duplicates_are_reported_at_once() -> None:
    message = refusal("a: 1\na: 2\nb: {c: 1, c: 2}\n")
    assert "f.yaml:2:1: a: duplicate" in message
    assert "f.yaml:3:11: b.c: duplicate" in message


def test_merge_keys_take_what_is_not_given_and_earlier_bases_win() -> None:
    """B68: merges stay legal."""
    text = "x: &x {p: 1, q: 2}\ny: &y {q: 5, r: 6}\nz:\n  r: 3\n  <<: [*x, *y]\n"
    assert load(text)["z"] == {"p": 1, "q": 2, "r": 3}


def test_a_merge_of_something_else_than_a_mapping_is_an_error() -> None:
    assert "f.yaml:1:9: a.<<: merges a mapping" in refusal("a: {<<: [1]}")


def test_a_quoted_merge_sign_is_a_key() -> None:
    assert load("'<<': 1") == {"<<": 1}


@pytest.mark.parametrize("level", ["[{}]", "{{<<: [{}]}}"])
def test_an_alias_bomb_is_refused(level: str) -> None:
    """B68: ten levels of ten."""
    lines = ["a0: &a0 {x: 1}"]
    for depth in range(1, 11):
        lines.append(f"a{depth}: &a{depth} " + level.format(",".join([f"*a{depth - 1}"] * 10)))
    assert "it is refused" in refusal("\n".join(lines))


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {<<: *a}", "a: &a {b: *a}"])
def test_an_alias_to_what_it_is_in_is_refused(text: str) -> None:
    assert "contains itself" in refusal(text)


@pytest.mark.parametrize("text", ["[" * 5000, "- " * 3000 + "x"])
def test_deep_nesting_is_refused_without_a_traceback(text: str) -> None:
    assert "levels deep" in refusal(text)


def test_a_chain_of_aliases_cannot_nest_deeper_either() -> None:
    lines = ["- &a0 [x]"] + [f"- &a{i} [*a{i - 1}]" for i in range(1, 200)]
    assert "levels deep" in refusal("\n".join(lines))


def test_a_file_over_a_megabyte_is_refused(tmp_path: Path) -> None:
    (tmp_path / "big.yaml").write_bytes(b"#" * (yamlfile.MAX_BYTES + 1))
    with pytest.raises(InvalidConfig, match="larger than 1000000 bytes"):
        yamlfile.read(tmp_path / "big.yaml")


def test_a_missing_file_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="cannot be read"):
        yamlfile.read(tmp_path / "none.yaml")


def test_bom_and_crlf_are_fine() -> None:
    assert load(b"\xef\xbb\xbfa: 1\r\nb: x\r\n") == {"a": 1, "b": "x"}


def test_an_empty_file_and_a_list_at_the_top_are_data() -> None:
    """B69: no traceback; whether they will do is for the schema to say."""
    assert load("") is None
    assert load("# nothing\n") is None
    assert load("- 1\n") == [1]


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("a:\n\tb: 1\n", "2:1", "not tabs"),
        ("a: b: c\n", "1:5", "in quotes"),
        ("a: 'unclosed\nb: 1\n", "1:4", "quoted scalar"),
        ("a: 1\n---\nb: 2\n", "2:1", "one file holds one document"),
        ("a: \x07b", "1:4", "U+0007"),
        (b"a: 1\nb: \xff", "2:1", "not UTF-8"),
        ("a: *x", "1:4", "undefined alias"),
        ("a: {b: ${C}}", "1:9", "put ${VAR} in quotes"),
        ("{a: What is it?}", "1:15", "put a text with one of , ? : { } [ ] in quotes"),
        ("{a: b, c d?: e}", "1:11", "in quotes"),
        ("a:\tb", "1:3", "write blanks, not tabs"),
        ("a: 'it's'", "1:8", "is written twice"),
        ("a: [1, 2", "1:9", "never closed"),
        ("a: *b", "1:4", "put a text that starts with * in quotes"),
        ("a:\n  b: 1\n c: 2", "3:2", "indent keys of one mapping alike"),
        ("a: x\n  b: 1", "2:4", "indent keys of one mapping alike"),
        ("a: {{ b }}", "1:5", "put a template {{ }} in quotes"),
        ("1: a", "1:1", "a key must be a text"),
        ("? [a]\n: b", "1:3", "a key must be a text"),
        ("a: !!python/name:os.system x", "1:4", "tag that is not supported"),
        ("a: !!set {b: }", "1:4", "tag that is not supported"),
        ("a: !!int foo", "1:4", "not a readable int"),
        ("a: " + "9" * 5000, "1:4", "not a readable int"),
    ],
)
def test_what_cannot_be_read_says_where_and_what_to_do(text: bytes | str, place: str, said: str) -> None:
    """A4, D43"""
    message = refusal(text)
    assert message.startswith(f"f.yaml:{place}: ")
    assert said in message


def test_an_error_shows_its_line_with_a_caret() -> None:
    assert refusal("ab: 1\nab: 2").splitlines()[1:] == ["    ab: 2", "    ^"]


def test_the_caret_points_right_in_a_very_long_line() -> None:
    _, source, caret = refusal("{" + "a: 1, " * 100 + "bb: 2}").splitlines()[:3]
    assert source[caret.index("^") :].startswith("a: 1")
    assert len(source) < 200


def test_positions_of_keys_and_values_are_known() -> None:
    document = yamlfile.parse("a:\n  - b: 1\n    c: 'x'\n", "f.yaml")
    place = document.place(("a", 0, "c"))
    assert (place.key.line, place.key.column, place.value.column, place.quoted) == (2, 4, 7, True)
    assert document.place(("a", 0, "missing", "deep")) == document.place(("a", 0))


@pytest.mark.parametrize("secret", ["!abc", "a: b", "x # y", '"', "no", "one\ntwo", "${OTHER}", "0123", "- a"])
def test_a_variable_is_filled_in_after_parsing_and_stays_a_text(secret: str) -> None:
    """B70: whatever a value looks like, it cannot change the document and is not expanded again."""
    assert load("key: ${KEY}\nafter: 1\n", {"KEY": secret, "OTHER": "no"}) == {"key": secret, "after": 1}


def test_an_unset_variable_is_an_error_at_its_key() -> None:
    """B70"""
    message = refusal("a: 1\nb: pre-${NOPE}", {})
    assert message.startswith("f.yaml:2:4: b: the environment variable NOPE is not set")


def test_without_variables_nothing_is_substituted() -> None:
    assert load("a: ${X} $$") == {"a": "${X} $$"}


SECRET = "sk-12345"


@pytest.mark.parametrize(
    "text",
    [
        f"api_key: {SECRET}\napi_key: {SECRET}\n",
        f"{{a: 1, a: 2, api_key: {SECRET}}}",
        f"{{api_key: {SECRET}, a: 1, a: 2}}",
        f"api_key: !{SECRET} x",
        f"api_key: *{SECRET}",
        f"api_key: %{SECRET}",
        f"worker_secret: {SECRET}: x",
        f"worker_secret: '{SECRET}\nb: 1",
        f"my_token: |\n  {SECRET}\n\tx: 1\n",
        f"api_key:\n  *{SECRET}\n",
        f"{{'api_key': '{SECRET}', a: *b}}",
        f"api_key: {SECRET} ${{UNSET}}",
        f"db: postgresql://me:{SECRET}@host/x\ndb: postgresql://me:{SECRET}@host/x\n",
    ],
)
def test_a_secret_is_never_in_an_error(text: str) -> None:
    """A3: neither in the message nor in the source line shown."""
    message = refusal(text, {})
    assert "f.yaml:" in message
    assert SECRET not in message


def test_a_caret_stays_right_behind_a_masked_secret() -> None:
    _, source, caret = refusal(f"{{api_key: {SECRET}, a: 1, a: 2}}").splitlines()
    assert source[caret.index("^") :] == "a: 2}"


_YAML_LIKE = st.text(alphabet="ab1:-[]{}&*!|>'\"#%$~?<, \n\t\r", max_size=60)


@given(_YAML_LIKE | st.text(max_size=40) | st.binary(max_size=40))
@settings(max_examples=200, deadline=None)
def test_any_text_is_read_or_refused_as_invalid_config(text: str | bytes) -> None:
    said = "f.yaml:"
    try:
        yamlfile.parse(text, "f.yaml", variables={})
    except InvalidConfig as error:
        said = error.message
    assert said.startswith("f.yaml:")
