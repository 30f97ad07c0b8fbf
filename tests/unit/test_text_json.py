"""Z3: JSON from outside is read to 64 levels and 200,000 values and no further, whatever its texts hold."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentflow.bounds import json_slices
from agentflow.bounds.weight import MAX_LEVELS, MAX_VALUES
from agentflow.errors import StoreError
from agentflow.text import LONG_TEXT, holds_object, read_json, stored_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def in_slices(text: str) -> Any:
    return json_slices.read(text, most_values=MAX_VALUES, most_levels=MAX_LEVELS)


def as_long(text: str) -> Any:
    """By the way of a text that is too long to be read at once."""
    return read_json(" " * LONG_TEXT + text)


WAYS: tuple[Callable[[str], Any], ...] = (read_json, in_slices, as_long)
each_way = pytest.mark.parametrize("read", WAYS, ids=lambda way: way.__name__)


@given(JSON, st.booleans(), st.sampled_from([None, 1]))
def test_what_is_not_deep_is_read_as_ever(value: object, ascii_only: bool, indent: int | None) -> None:
    written = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert read_json(written) == in_slices(written) == value


@given(st.text(alphabet='[]{}",:\\u dD83ce0.-+1 \ntrufalsn'))
def test_what_is_no_json_is_refused_by_both_ways_alike(text: str) -> None:
    assert _outcome(read_json, text) == _outcome(in_slices, text)


def _outcome(read: Callable[[str], Any], text: str) -> str:
    try:
        return repr(read(text))
    except ValueError:
        return "refused"


@pytest.mark.parametrize("seed", range(30))
def test_a_long_string_is_whole_wherever_its_pieces_are_cut(seed: int) -> None:
    """Escapes, pairs of them, runs of backslashes and quotes lie across every cut."""
    chance = random.Random(seed)
    parts = ["\\", '"', "\n", "😀", "a", "\ud83d", "\u0000", "é", "\\u", "\x7f"]
    text = "".join(chance.choices(parts, k=chance.choice([500, 700, 3000, 200_000])))
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")  # halves that meet are one
    assert in_slices(json.dumps([text])) == [text]


@each_way
@pytest.mark.parametrize(
    "deep",
    ["[" * 65 + "]" * 65, '{"a":' * 65 + "1" + "}" * 65, '[{"a":' * 500 + "1" + "}]" * 500]
    + [opening * levels for opening in ("[", '{"a":', '[{"a":') for levels in (1_000, 100_000)],
    ids=range(9),
)
def test_more_than_64_levels_are_refused(read: Callable[[str], Any], deep: str) -> None:
    with pytest.raises(ValueError, match=r"more than 64 levels|not JSON|Expecting") as refused:
        read(deep)
    assert "more than 64 levels" in str(refused.value) or deep[-1] not in "]}"


@each_way
def test_64_levels_are_read_and_brackets_in_texts_are_no_levels(read: Callable[[str], Any]) -> None:
    assert read("[" * MAX_LEVELS + "]" * MAX_LEVELS) is not None
    assert read(json.dumps(['[[[\\"{' * 100, "]"])) == ['[[[\\"{' * 100, "]"]


@each_way
def test_200_000_values_are_read_and_no_more(read: Callable[[str], Any]) -> None:
    most = "[" + "1," * (MAX_VALUES - 2) + "1]"
    assert len(read(most)) == MAX_VALUES - 1
    for more in (most[:-1] + ",1]", "[" + "[]," * MAX_VALUES + "1]"):
        with pytest.raises(ValueError, match="more than 200,000 values"):
            read(more)


def test_a_text_of_more_bytes_than_allowed_is_not_looked_at() -> None:
    with pytest.raises(ValueError, match=r"more than 32,000,000 bytes"):
        read_json(b"\xff" * 32_000_001)


@each_way
@pytest.mark.parametrize(
    "broken",
    [
        '"' + "\\" * 1_000_000,
        "[" * 60 + '"' * 1_000_000,
        "[" * 60 + '"' + "a" * 1_000_000,
        '"' + "\\u" * 500_000,
        "1" * 900_000,
        "[1 " + " " * 900_000,
        '{"a"' * 200_000,
        '"' + "\x01" * 900_000 + '"',
    ],
    ids=range(8),
)
def test_a_broken_text_is_refused_however_long_it_is(read: Callable[[str], Any], broken: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read(broken)


def test_a_slice_looks_at_no_more_than_a_piece_of_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call into C is short, so that a thread that reads gives everybody else a turn."""
    asked: list[int] = []
    real = json_slices.scanstring

    def scanstring(text: str, at: int, strict: bool) -> Any:
        found = real(text, at, strict)
        asked.append(found[1] - at)
        return found

    monkeypatch.setattr(json_slices, "scanstring", scanstring)
    for text in ("a" * 3_000_000, "\n" * 1_500_000, '"' * 1_500_000):
        assert in_slices(json.dumps(text)) == text
    assert max(asked) <= 65536 + 1


@pytest.mark.parametrize("damaged", ["", "{", "[" * 65 + "]" * 65, "[" * 1_000, "[" * 100_000 + "]" * 100_000, "\x00"])
def test_a_damaged_row_is_told_as_one(damaged: str) -> None:
    """A database may come from elsewhere."""
    with pytest.raises(StoreError, match="row of the database is damaged"):
        stored_json(damaged)


def test_a_row_may_hold_what_no_input_may() -> None:
    """Requests that were merged while they waited are one row."""
    assert len(stored_json("[" + "1," * MAX_VALUES + "1]")) == MAX_VALUES + 1


@each_way
@pytest.mark.parametrize("number", ["1e999", "-1e999", "[1.0e400]", "9" * 900 + ".5"])
def test_a_number_that_no_machine_has_is_refused(read: Callable[[str], Any], number: str) -> None:
    """It would be infinite here, and written again as what is no JSON."""
    with pytest.raises(ValueError, match="too large"):
        read(number)


def test_what_was_found_of_a_long_text_is_remembered_for_some() -> None:
    long = '{"a": "' + "x" * LONG_TEXT + '"}'
    assert [holds_object(text) for text in (long, long, long[:-1], "[" + long + "]", "{}", "[]")] == [
        True, True, False, False, True, False,
    ]  # fmt: skip
