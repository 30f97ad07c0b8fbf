"""A document against a class of keys: a frozen value, or every mistake in words for the author (A2)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from agentflow.config.document.codes import Code
from agentflow.config.document.document import Document, Mark
from agentflow.config.document.problems import Path, Problem, did_you_mean, invalid, mask_line, suggestion
from agentflow.config.document.scalars import read_scalar
from agentflow.config.document.variables import Substituted
from agentflow.config.keys.base import COMPLAINTS, Complaint, Keys, class_at, fields_by_key, homes
from agentflow.config.keys.checks.certain import renamed, rewritten
from agentflow.config.keys.spellings import advice, words
from agentflow.secrets.names import holds_secrets
from agentflow.text import preview

AnyKeys = TypeVar("AnyKeys", bound=Keys)

NOTHING_SHARED: Mapping[str, str] = MappingProxyType({})

_SHOWN = 60
_PLAIN = re.compile(r"[^\s:#'\"{}\[\]&*!|>%@`-][^:#'\"{}\[\]\n]*(?::\S[^:#'\"{}\[\]\n]*)*\Z")
"""A text that is the same wherever in YAML it is put, unquoted."""

_EXPECTED = {
    "string_type": "a text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "tuple_type": "a list",
    "dict_type": "a mapping of keys",
    "mapping_type": "a mapping of keys",
    "model_type": "a mapping of keys",
    "string_too_short": "a text that is not empty",
    "string_pattern_mismatch": "a text of the form {pattern}",
    "greater_than_equal": "at least {ge:g}",
    "less_than_equal": "at most {le:g}",
    "literal_error": "one of {expected}",
}
_KINDS = {
    "string_too_short": Code.WRONG_FORM,
    "string_pattern_mismatch": Code.WRONG_FORM,
    "finite_number": Code.OUT_OF_RANGE,
    "greater_than_equal": Code.OUT_OF_RANGE,
    "less_than_equal": Code.OUT_OF_RANGE,
    "literal_error": Code.NOT_A_CHOICE,
}


def validate(document: Document, root: type[AnyKeys], shared: Mapping[str, str] = NOTHING_SHARED) -> AnyKeys:
    """The document's data as `root`; `shared` are model strings of interfaces that are given from outside, by name.

    Raises `InvalidConfig` with every problem of the document and of its data.
    """
    value, problems = checked(document, root, shared)
    if value is None or problems:
        raise invalid(problems)
    return value


def checked(
    document: Document, root: type[AnyKeys], shared: Mapping[str, str] = NOTHING_SHARED
) -> tuple[AnyKeys | None, list[Problem]]:
    """The same without raising: null for data that does not fit, and every problem."""
    if not isinstance(document.data, dict):
        found = "it is empty" if document.data is None else f"this is {_value(document.data, None)}"
        whole = document.problem((), Code.NOT_A_MAPPING, f"the file must be a mapping of keys, {found}")
        return None, [*document.problems, whole]
    found_here = [complained(document, (), each) for each in root.cross_check(document.data, shared)]
    value = None
    try:
        value = root.model_validate(document.data)
    except ValidationError as error:
        found_here += [
            each for details in error.errors(include_url=False) for each in _explain(document, root, details)
        ]
    complained_of = {each.key for each in document.problems}
    return value, document.problems + [each for each in found_here if each.key not in complained_of]


def _explain(document: Document, root: type[Keys], details: ErrorDetails) -> list[Problem]:
    path, kind = details["loc"], details["type"]
    if kind == COMPLAINTS:
        return [complained(document, path, each) for each in details["ctx"]["complaints"]]
    if kind == "extra_forbidden":
        return [
            document.problem(path, Code.UNKNOWN_KEY, _unknown(document, root, path), edit=renamed(document, root, path))
        ]
    if kind == "missing":
        return [document.problem(path, Code.MISSING_KEY, "is required")]
    message = f"must be {_expected(root, details)}, not {_as_read(document, details)}"
    return [
        document.problem(
            path,
            _KINDS.get(kind, Code.WRONG_TYPE),
            message + _hint(document, root, details),
            at=document.place(path).value,
            edit=rewritten(document, root, details),
        )
    ]


def complained(document: Document, path: Path, complaint: Complaint) -> Problem:
    """The problem of a complaint whose path starts at `path`, at its line when it is about a line of a text."""
    path = (*path, *complaint.path)
    return document.problem(path, complaint.code, complaint.message, at=place_of(document, path, complaint.line))


def place_of(document: Document, path: Path, line: int = 0) -> Mark:
    """Where the value at a path begins, or a line of it, counted from 1, when it is a block text."""
    place = document.place(path)
    mark = place.value if path in document.places else place.key
    if line and place.block == "|":
        number = mark.line + line
        text = document.lines[number] if number < len(document.lines) else ""
        mark = Mark(number, len(text) - len(text.lstrip()))
    return mark


def _unknown(document: Document, root: type[Keys], path: Path) -> str:
    key = str(path[-1])
    if said := _advice(document, root, path):
        return f"unknown key; {said}"
    here = fields_by_key(class_at(root, path[:-1]))
    elsewhere: dict[str, list[str]] = {}
    for name, home in homes(root):
        elsewhere.setdefault(name, []).append(home)
    if key in elsewhere:
        return f"unknown key here; {key!r} belongs {' or '.join(dict.fromkeys(elsewhere[key]))}"
    if close := suggestion(key, here):
        return f"unknown key, did you mean {close!r}?"
    if close := suggestion(key, words(root.spellings, path[:-1])):
        return f"unknown key; {advice(root.spellings, (*path[:-1], close), document.at(path, None), None)}"
    if close := suggestion(key, elsewhere):
        return f"unknown key, did you mean {close!r}, which belongs {elsewhere[close][0]}?"
    return f"unknown key; known here: {', '.join(here)}"


def _advice(document: Document, root: type[Keys], path: Path, given: Any = None) -> str | None:
    """What to write in place of what is at `path`, for an author who comes from elsewhere."""
    place = document.place(path)
    value = document.at(path, given)
    secret = holds_secrets(path) or isinstance(value, dict | list)
    written = None if secret or path not in document.places else place.written
    shown = written if written and written == mask_line(written) and len(written) <= _SHOWN else None
    return advice(root.spellings, path, value, shown if shown is None or _PLAIN.match(shown) else None)


def _expected(root: type[Keys], details: ErrorDetails) -> str:
    expected = _EXPECTED.get(details["type"])
    if expected is None:
        return details["msg"].removeprefix("Input should be ")
    if details["type"] == "model_type" and class_at(root, details["loc"]).short:
        expected = "a text or " + expected
    return expected.format(**details.get("ctx", {}))


def _as_read(document: Document, details: ErrorDetails) -> str:
    path = details["loc"]
    given = document.at(path, details["input"])
    if holds_secrets(path):
        return "what is given (not shown)"
    if isinstance(given, Substituted):
        return f"the value of {document.place(path).written}"
    return _value(given, document.place(path).written if path in document.places else None)


def _value(value: Any, written: str | None) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return f"the boolean {written or str(value).lower()}"
        case int() | float():
            return f"the number {value}" + (f" (written {written})" if written not in (None, str(value)) else "")
        case str():
            return f"the text {preview(value, 60)!r}"
        case list():
            return "a list"
        case _:
            return "a mapping"


def _hint(document: Document, root: type[Keys], details: ErrorDetails) -> str:
    """How to mend it: quotes to add or remove, or where what stands here belongs."""
    kind, path = details["type"], details["loc"]
    given, place = document.at(path, details["input"]), document.place(path)
    if said := _advice(document, root, path, given):
        return f"; {said}"
    if isinstance(given, Substituted) or holds_secrets(path):
        return ""
    if kind == "literal_error" and isinstance(given, str):
        return did_you_mean(given, details["ctx"]["expected"].replace(" or ", ", ").replace("'", "").split(", "))
    if kind == "string_type" and isinstance(given, dict) and len(path) == 1:  # what was indented too far
        return next((f"; {key!r} belongs at the top level" for key in given if key in root.model_fields), "")
    if kind == "tuple_type" and isinstance(given, str) and place.written is not None:
        return f"; write [{place.written}]" if _PLAIN.match(given) else "; begin each item with '- '"
    if kind in ("tuple_type", "model_type", "mapping_type", "dict_type") and given is None:
        return "; leave the key out, or write " + ("[]" if kind == "tuple_type" else "{}")
    if kind == "string_type" and place.written:
        return f'; put it in quotes: "{place.written}"'
    if kind == "bool_type" and isinstance(given, str) and not place.quoted:
        return "; write true or false"
    if kind in ("bool_type", "int_type", "float_type") and place.quoted and read_scalar(str(given)) != given:
        return "; remove the quotes"
    return ""
