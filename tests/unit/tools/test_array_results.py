"""What arrays and data frames become (D63): known by their shape, so fakes of the same shape stand for them here; the
libraries themselves are asked where they are installed.
"""

from __future__ import annotations

import datetime
import math
from typing import Any

import pytest

from agentflow.tools.plain_values import Unreadable
from agentflow.tools.results import success

NO_NUMBER = "\n[1 value is no number (NaN, infinite, missing) and is given as null]"


class Scalar:
    """A number of an array: compared by value, told apart from Python's by `item` and `tolist`."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scalar) and bool(self._value == other._value)

    def __hash__(self) -> int:
        return hash(self._value)

    def item(self) -> Any:
        return self._value

    tolist = item


class Array:
    """Compared item by item, as arrays are: no truth of its own."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> Any:
        return Array([each == other for each in self._values])

    __hash__ = None  # type: ignore[assignment]  # nor have arrays one

    def __bool__(self) -> bool:
        raise ValueError("the truth value of an array is ambiguous")

    def tolist(self) -> Any:
        return self._values


class RangeIndex:
    name = None
    start, step = 0, 1
    is_unique = True


class Labels:
    """An index or columns with something to say."""

    def __init__(self, *, is_unique: bool = True) -> None:
        self.is_unique = is_unique


class Frame:
    def __init__(self, rows: list[dict[str, Any]], index: Any = RangeIndex, *, unique: bool = True) -> None:
        self._rows = rows
        self.index = index() if index is RangeIndex else index
        self.columns = Labels(is_unique=unique)

    def iterrows(self) -> Any:
        raise AssertionError("slow, and it changes types")

    def reset_index(self) -> Frame:
        return Frame([{"index": f"r{number}", **row} for number, row in enumerate(self._rows)])

    def to_dict(self, orient: str) -> list[dict[str, Any]]:
        assert orient == "records"
        return self._rows


class Series:
    def __init__(self, values: dict[str, Any], index: Any) -> None:
        self._values = values
        self.index = index

    def to_frame(self) -> Any:
        raise AssertionError("not needed")

    def to_list(self) -> list[Any]:
        return list(self._values.values())

    def to_dict(self) -> dict[str, Any]:
        return self._values


class NAType:
    def __ne__(self, other: object) -> Any:
        return self

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Scalar(3), "3"),
        ({"n": Scalar(0.5)}, '{"n":0.5}'),
        ({Scalar(7): "seven"}, '{"7":"seven"}'),
        (Scalar(math.nan), f"null{NO_NUMBER}"),
        (Array([1, 2]), "[1,2]"),
        (Array([]), "[]"),
        (Array([[1.5, math.inf]]), f"[[1.5,null]]{NO_NUMBER}"),
        ([Array([1]), {"a": Array(["x"])}], '[[1],{"a":["x"]}]'),
        (Frame([{"a": 1}, {"a": 2}]), '[{"a":1},{"a":2}]'),
        (Frame([{"a": 1}], Labels()), '[{"index":"r0","a":1}]'),
        (Series({"a": 1, "b": 2}, RangeIndex()), "[1,2]"),
        (Series({"a": 1, "b": 2}, Labels()), '{"a":1,"b":2}'),
        ([NAType()], f"[null]{NO_NUMBER}"),
    ],
)
def test_what_has_the_shape_of_an_array_or_a_table_is_given_as_one(value: object, text: str) -> None:
    assert success(value).text == text


@pytest.mark.parametrize(
    "value", [Frame([], unique=False), Series({}, Labels(is_unique=False))], ids=["columns", "labels"]
)
def test_what_would_lose_a_value_under_one_name_is_refused(value: object) -> None:
    with pytest.raises(Unreadable, match=r"rename one of them|two values under one label"):
        success(value)


def test_numpy_itself() -> None:
    np = pytest.importorskip("numpy")
    given = {
        "scalars": [np.int64(3), np.float32(0.5), np.float64(2.5), np.bool_(True), np.str_("x")],
        "array": np.arange(4).reshape(2, 2),
        "nothing": np.array([]),
        "one": np.array(7),
        "missing": np.array([1.0, np.nan]),
        "day": np.datetime64("2026-01-02"),
        np.int64(5): "key",
    }
    assert success(given).text == (
        '{"scalars":[3,0.5,2.5,true,"x"],"array":[[0,1],[2,3]],"nothing":[],"one":7,"missing":[1.0,null],'
        f'"day":"2026-01-02","5":"key"}}{NO_NUMBER}'
    )


def test_pandas_itself() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"n": [1, 2], "at": [pd.Timestamp("2026-01-02"), pd.NaT]})
    assert success(frame).text == f'[{{"n":1,"at":"2026-01-02T00:00:00"}},{{"n":2,"at":null}}]{NO_NUMBER}'
    assert success(frame.set_index("n")).text.startswith('[{"n":1,"at":"2026-01-02T00:00:00"},')
    assert success(pd.Series([1, 2])).text == "[1,2]"
    assert success(pd.Series([1, 2], index=["a", "b"])).text == '{"a":1,"b":2}'
    assert success(pd.Categorical(["x", "y"])).text == '["x","y"]'
    assert success([pd.NA, datetime.date(2026, 1, 2)]).text == f'[null,"2026-01-02"]{NO_NUMBER}'
    doubled = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(Unreadable, match="two columns of one name"):
        success(doubled)
