"""`${VAR}`, `${VAR:-default}`, `${VAR:?message}` and `$$` in strings, after parsing and once (A3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Self

NOTHING_GIVEN: Mapping[str, str] = MappingProxyType({})

_REFERENCE = re.compile(
    r"\$(?:(?P<dollar>\$)|\{(?P<name>[A-Za-z_]\w*)(?::(?P<rule>[-?])(?P<rest>[^}]{0,1000}))?\}|(?P<broken>\{))",
    re.ASCII,
)


class Substituted(str):
    """A text that came, in whole or in part, from environment variables: never shown, only `written` is.

    `written` has the references in place of what they stand for, as `Bearer ${TOKEN}`, a default left out; `values`
    are those that the environment gave, by name.
    """

    __slots__ = ("values", "written")

    written: str
    values: Mapping[str, str]

    def __new__(cls, text: str, written: str = "", values: Mapping[str, str] = NOTHING_GIVEN) -> Self:
        made = super().__new__(cls, text)
        made.written, made.values = written, values
        return made


def substitute(text: str, variables: Mapping[str, str]) -> tuple[str, list[str]]:
    """The text with its references filled in, and a complaint for each that cannot be.

    As in a shell, `:-` and `:?` also apply to a variable that is set but empty. `$5` stays, `$$` is `$`.
    """
    complaints: list[str] = []
    given: dict[str, str] = {}
    used = False

    def fill(match: re.Match[str]) -> str:
        nonlocal used
        if match["dollar"]:
            return "$"
        if match["broken"]:
            complaints.append("'${' starts no reference like ${NAME} or ${NAME:-default}; write $${ for a plain ${")
            return match[0]
        used = True
        value = _value(match, variables, complaints)
        if variables.get(match["name"]):
            given[match["name"]] = value
        return value

    filled = _REFERENCE.sub(fill, text) if "$" in text else text
    if not used:
        return filled, complaints
    written = _REFERENCE.sub(lambda match: f"${{{match['name']}}}" if match["name"] else match[0], text)
    return Substituted(filled, written, given), complaints


def _value(match: re.Match[str], variables: Mapping[str, str], complaints: list[str]) -> str:
    name, rule, rest = match["name"], match["rule"], match["rest"]
    value = variables.get(name)
    if value or (value is not None and rule is None):
        return value
    if rule == "-":
        return str(rest)
    reason = rest if rule == "?" and rest else "set it, or give a default with ${" + name + ":-...}"
    complaints.append(f"the environment variable {name} is {'not set' if value is None else 'empty'}: {reason}")
    return match[0]
