"""A6: typed parameters become the tool's JSON Schema, and a model's arguments the function's own types."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import enum
import functools
import json
import typing
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import freezegun
import jsonschema
import pytest
import typing_extensions
from pydantic import BaseModel, ConfigDict, EmailStr, Field

from agentflow.errors import InvalidConfig
from agentflow.tools.flows.context import FlowContext
from agentflow.tools.flows.signature import context_parameter, describe

if typing.TYPE_CHECKING:
    from decimal import Decimal as OnlyForTyping


class Unit(enum.Enum):
    CELSIUS = "C"
    FAHRENHEIT = "F"


@dataclass
class Place:
    city: str
    country: str | None = None


class Guest(BaseModel):
    name: str
    born: datetime.date


class Extras(typing_extensions.TypedDict, total=False):
    seats: int


def weather(
    place: Place,
    unit: Unit,
    guests: list[Guest],
    extras: Extras,
    ctx: FlowContext,
    when: datetime.date = datetime.date(2026, 1, 2),
    detail: Literal["short", "long"] = "short",
    tags: dict[str, int] | None = None,
    share: Annotated[float, Field(ge=0, le=1)] = 0.5,
) -> str:
    """Tell the weather.

    Args:
        unit: The scale.
    """
    return ""


def test_every_kind_of_type_is_described() -> None:
    schema = describe(weather, "weather").parameters
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["place", "unit", "guests", "extras"]
    properties = schema["properties"]
    assert list(properties) == ["place", "unit", "guests", "extras", "when", "detail", "tags", "share"]
    assert properties["place"] == {"$ref": "#/$defs/Place"}
    assert properties["unit"] == {"$ref": "#/$defs/Unit", "description": "The scale."}
    assert properties["when"] == {"type": "string", "format": "date", "default": "2026-01-02"}
    assert properties["detail"] == {"type": "string", "enum": ["short", "long"], "default": "short"}
    assert properties["tags"]["anyOf"][1] == {"type": "null"}
    assert properties["tags"]["default"] is None
    assert properties["share"] == {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5}
    assert schema["$defs"]["Unit"]["enum"] == ["C", "F"]
    assert set(schema["$defs"]["Guest"]["required"]) == {"name", "born"}


def test_arguments_arrive_as_the_annotated_types_and_defaults_stay_the_functions_own() -> None:
    converted = describe(weather, "weather").convert(
        {
            "place": {"city": "Rome"},
            "unit": "F",
            "guests": [{"name": "Sam", "born": "2001-02-03"}],
            "extras": {"seats": 2},
            "when": "2026-05-06",
        }
    )
    assert converted == {
        "place": Place("Rome"),
        "unit": Unit.FAHRENHEIT,
        "guests": [Guest(name="Sam", born=datetime.date(2001, 2, 3))],
        "extras": {"seats": 2},
        "when": datetime.date(2026, 5, 6),
    }


def test_converting_never_calls_the_function() -> None:
    """dependencies.md: a plain `TypeAdapter(function).validate_python` would."""

    def explode(x: int) -> None:
        raise AssertionError("called")

    assert describe(explode, "explode").convert({"x": 1}) == {"x": 1}


def test_a_value_that_does_not_convert_is_named_with_its_place() -> None:
    with pytest.raises(ValueError, match=r"guests\.0\.born: Input should be a valid date"):
        describe(weather, "weather").convert(
            {"place": {"city": "x"}, "unit": "C", "guests": [{"name": "S", "born": "no"}], "extras": {}}
        )


def test_a_function_without_parameters_takes_an_empty_object() -> None:
    def now() -> str:
        return ""

    assert describe(now, "now").parameters == {"type": "object", "additionalProperties": False, "properties": {}}


def test_parameters_may_have_any_name() -> None:
    def odd(schema: int, model_config: str, _private: int = 1) -> None: ...

    assert list(describe(odd, "odd").parameters["properties"]) == ["schema", "model_config", "_private"]
    assert describe(odd, "odd").convert({"schema": 1, "model_config": "x"}) == {"schema": 1, "model_config": "x"}


def test_a_default_without_json_is_left_to_the_function() -> None:
    def kept(seconds: Any = Unit) -> None: ...

    assert describe(kept, "kept").parameters["properties"]["seconds"] == {}


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)

    on: datetime.date
    id: uuid.UUID
    price: decimal.Decimal
    unit: Unit
    numbers: set[int]
    pair: tuple[int, str]
    blob: bytes


class Pair(typing.NamedTuple):
    left: int
    right: str = "r"


GIVEN = {"on": "2026-01-02", "id": str(uuid.UUID(int=1)), "price": "1.50", "unit": "C", "numbers": [1, 2],
         "pair": [1, "a"], "blob": "abc"}  # fmt: skip
TAKEN = Strict(on=datetime.date(2026, 1, 2), id=uuid.UUID(int=1), price=decimal.Decimal("1.50"), unit=Unit.CELSIUS,
               numbers={1, 2}, pair=(1, "a"), blob=b"abc")  # fmt: skip


@pytest.mark.parametrize(
    ("hint", "given", "taken"),
    [
        (Strict, GIVEN, TAKEN),
        (Literal[Unit.CELSIUS], "C", Unit.CELSIUS),
        (list[Literal[Unit.CELSIUS, "any"]], ["C", "any"], [Unit.CELSIUS, "any"]),
        (Literal[Unit.CELSIUS] | None, None, None),
        (tuple[int, str], [1, "a"], (1, "a")),
        (Pair, [1, "a"], Pair(1, "a")),
        (frozenset[str], ["a"], frozenset("a")),
        (Annotated[decimal.Decimal, Field(strict=True)], "1.5", decimal.Decimal("1.5")),
        (dict[Unit, int], {"F": 1}, {Unit.FAHRENHEIT: 1}),
    ],
)
def test_every_type_is_taken_from_what_json_has(hint: Any, given: Any, taken: Any) -> None:
    """D61: strict types too; the schema accepts the same."""

    def take(x: Any) -> None: ...

    take.__annotations__ = {"x": hint}
    signature = describe(take, "take")
    assert jsonschema.Draft202012Validator(signature.parameters).is_valid({"x": given})
    assert signature.convert({"x": given}) == {"x": taken}


def test_null_is_taken_where_it_is_the_default() -> None:
    """D61"""

    def take(unit: str = None, n: int | None = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013  # as authors write it

    signature = describe(take, "take")
    assert signature.parameters["properties"]["unit"]["anyOf"] == [{"type": "string"}, {"type": "null"}]
    assert signature.convert({"unit": None}) == {"unit": None}


def everywhere(
    pair: tuple[int, str],
    more: tuple[int, ...],
    one: Literal["a"],
    kinds: dict[Unit, int],
    deep: list[tuple[str, str]],
    price: decimal.Decimal = decimal.Decimal(1),
) -> None: ...


def test_the_schema_is_one_that_every_provider_takes() -> None:
    """D65: no `prefixItems`, no look-around, no `propertyNames`; the types of the items are kept."""
    schema = describe(everywhere, "everywhere").parameters
    text = json.dumps(schema, allow_nan=False)
    assert [word for word in ("prefixItems", "propertyNames", "const", "(?") if f'"{word}' in text] == []
    pair = schema["properties"]["pair"]
    assert pair["items"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert (pair["minItems"], pair["maxItems"], pair["description"]) == (2, 2, "In this order: integer, string.")
    assert schema["properties"]["deep"]["items"]["items"] == {"type": "string"}
    assert schema["properties"]["one"]["enum"] == ["a"]


def test_a_tuple_in_another_order_does_not_fit() -> None:
    with pytest.raises(ValueError, match=r"pair\.0: Input should be a valid integer"):
        describe(everywhere, "e").convert({"pair": ["a", 1], "more": [], "one": "a", "kinds": {}, "deep": []})


def test_a_text_in_the_annotation_describes_the_parameter() -> None:
    def take(
        x: Annotated[int, "How many."],
        y: Annotated[str, typing_extensions.Doc("Which one.")],
        z: Annotated[str, "Not this."] = "",
    ) -> None:
        """Take.

        Args:
            z: The docstring comes first.
        """

    properties = describe(take, "take").parameters["properties"]
    assert [properties[name].get("description") for name in "xyz"] == [
        "How many.", "Which one.", "The docstring comes first.",
    ]  # fmt: skip


def cyclic() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


class Broken:
    @classmethod
    def __get_pydantic_core_schema__(cls, *_: Any) -> Any:
        raise KeyError("the author's own")


def callback(x: Callable[[int], int]) -> None: ...
def needs_a_package(x: EmailStr) -> None: ...
def own_fault(y: int, x: Broken) -> None: ...
def looking_around(x: Annotated[str, Field(pattern="(?=a)b")]) -> None: ...
def bytes_default(x: bytes = b"\xff") -> None: ...
def no_number(x: float = float("nan")) -> None: ...
def a_cycle(x: list[Any] = cyclic()) -> None: ...  # noqa: B008


@pytest.mark.parametrize(
    "function", [callback, needs_a_package, own_fault, looking_around, bytes_default, no_number, a_cycle]
)
def test_a_signature_that_cannot_be_described_says_where(function: Callable[..., Any]) -> None:
    """D62: never a raw traceback."""
    with pytest.raises(InvalidConfig, match="parameter 'x'") as caught:
        describe(function, "flows.py:7: flow 'f'")
    assert str(caught.value).startswith("flows.py:7: flow 'f': ")
    assert "\n" not in str(caught.value)


def positional(x: int, /) -> None: ...
def variadic(*xs: int) -> None: ...
def keywords(**xs: int) -> None: ...
def untyped(ctx, x: int) -> None: ...  # type: ignore[no-untyped-def]
def field_default(x: int = Field(3)) -> None: ...
def unspeakable(x: int, lock: asyncio.Lock) -> None: ...


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (positional, "parameter 'x' can only be passed by position"),
        (variadic, "parameter 'xs' takes any number of values"),
        (keywords, "parameter 'xs' takes any name"),
        (untyped, "parameter 'ctx' has no type; annotate it"),
        (field_default, "parameter 'x' has a Field as its default"),
        (unspeakable, "parameter 'lock' cannot be described to a model"),
    ],
)
def test_a_parameter_a_model_cannot_fill_is_refused_by_name(function: Callable[..., Any], complaint: str) -> None:
    with pytest.raises(InvalidConfig, match=complaint) as caught:
        describe(function, "flows.py:7: flow 'f'")
    assert str(caught.value).startswith("flows.py:7: flow 'f': ")


def test_an_annotation_that_cannot_be_read_is_an_error_with_its_place() -> None:
    def priced(x: OnlyForTyping) -> None: ...

    with pytest.raises(InvalidConfig, match=r"shop\.py:1: an annotation cannot be read: .*OnlyForTyping"):
        describe(priced, "shop.py:1")


def test_the_context_is_found_under_any_name_and_hidden() -> None:
    def optional(x: int, c: FlowContext | None = None) -> None: ...

    def none(x: int) -> None: ...

    assert context_parameter(weather, "w") == "ctx"
    assert context_parameter(optional, "o") == "c"
    assert context_parameter(none, "n") is None
    assert list(describe(optional, "o").parameters["properties"]) == ["x"]


def test_the_context_may_be_imported_for_typing_only() -> None:
    namespace: dict[str, Any] = {}
    exec("def lookup(x: 'int', ctx: 'FlowContext') -> 'str': ...", namespace)
    assert context_parameter(namespace["lookup"], "lookup") == "ctx"


def test_a_wrapped_function_is_described_as_what_it_wraps() -> None:
    def inner(x: int, ctx: FlowContext) -> int:
        return x

    @functools.wraps(inner)
    def outer(*args: Any, **kwargs: Any) -> int:
        return inner(*args, **kwargs)

    assert list(describe(outer, "outer").parameters["properties"]) == ["x"]
    assert context_parameter(outer, "outer") == "ctx"


def test_a_date_can_be_described_while_a_test_holds_the_clock_still() -> None:
    """T38, dependencies 2.5: freezegun swaps the date classes that annotations are read from."""

    def plan(on: datetime.date, at: list[datetime.datetime | None], n: Annotated[int, Field(ge=1)] = 1) -> None: ...

    with freezegun.freeze_time("2026-01-01", real_asyncio=True):
        signature = describe(plan, "plan")
    assert signature.parameters["properties"]["on"] == {"type": "string", "format": "date"}
    converted = signature.convert({"on": "2026-05-06", "at": [None, "2026-05-06T07:08:09Z"]})
    assert type(converted["on"]) is datetime.date
    assert converted["at"][1] == datetime.datetime(2026, 5, 6, 7, 8, 9, tzinfo=datetime.UTC)
