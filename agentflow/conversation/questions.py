"""The questions of `ask_user`: which are allowed, and how they read (T17). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentflow.text import one_line

MAX_QUESTIONS = 4
MAX_HEADER = 12
MIN_OPTIONS, MAX_OPTIONS = 2, 4
MAX_LABEL = 60

_MULTI_SELECT = ("multi_select", "multiSelect", "multiple")  # ours first; models know the others from elsewhere
_QUESTION_KEYS = {"header", "question", "options", *_MULTI_SELECT}
_OPTION_KEYS = {"label", "description"}


@dataclass(frozen=True, slots=True)
class Option:
    label: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One question; without options it is open. Free text is always accepted as its answer."""

    header: str
    question: str
    options: tuple[Option, ...] = ()
    multi_select: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The shape of events, status and store: an option without description has no such key."""
        options = [
            {"label": option.label, **({"description": option.description} if option.description else {})}
            for option in self.options
        ]
        return {
            "header": self.header,
            "question": self.question,
            "options": options,
            "multi_select": self.multi_select,
        }


def read_questions(stored: Sequence[Mapping[str, Any]]) -> tuple[Question, ...]:
    """Questions in the shape of `as_dict`, as they were checked and stored."""
    return tuple(
        Question(
            item["header"],
            item["question"],
            tuple(Option(option["label"], option.get("description")) for option in item["options"]),
            item["multi_select"],
        )
        for item in stored
    )


class _Violation(Exception):
    """Ends a check with the sentence the model gets."""


def check_questions(arguments: Mapping[str, Any]) -> tuple[Question, ...] | str:
    """The questions of a call, or the complaint about the first that breaks a rule (T17)."""
    try:
        return _questions(arguments)
    except _Violation as violation:
        return str(violation)


def _questions(arguments: Mapping[str, Any]) -> tuple[Question, ...]:
    _known(arguments, {"questions"}, "the call")
    items = arguments.get("questions")
    if not isinstance(items, list) or not 1 <= len(items) <= MAX_QUESTIONS:
        raise _Violation(f"questions: a list of 1 to {MAX_QUESTIONS} questions is needed")
    questions = tuple(_question(item, f"questions.{number}") for number, item in enumerate(items))
    _unique([question.header for question in questions], "header", "questions")
    _unique([question.question for question in questions], "question", "questions")
    return questions


def _question(item: Any, at: str) -> Question:
    _known(item, _QUESTION_KEYS, at)
    options = item.get("options") or []
    if not isinstance(options, list) or (options and not MIN_OPTIONS <= len(options) <= MAX_OPTIONS):
        raise _Violation(f"{at}.options: none for an open question, or {MIN_OPTIONS} to {MAX_OPTIONS}")
    question = Question(
        header=_text(item, "header", at, MAX_HEADER),
        question=_text(item, "question", at),
        options=tuple(_option(option, f"{at}.options.{number}") for number, option in enumerate(options)),
        multi_select=_multi_select(item, at),
    )
    _unique([option.label for option in question.options], "label", f"{at}.options")
    return question


def _option(item: Any, at: str) -> Option:
    _known(item, _OPTION_KEYS, at)
    description = item.get("description")
    if description is not None and not isinstance(description, str):
        raise _Violation(f"{at}.description: must be a text")
    return Option(_text(item, "label", at, MAX_LABEL), description)


def _multi_select(item: Mapping[str, Any], at: str) -> bool:
    value = next((item[key] for key in _MULTI_SELECT if item.get(key) is not None), False)
    if not isinstance(value, bool):
        raise _Violation(f"{at}.multi_select: must be true or false")
    return value


def _known(item: Any, keys: set[str], at: str) -> None:
    if not isinstance(item, Mapping):
        raise _Violation(f"{at}: must be an object with {_listed(keys - set(_MULTI_SELECT[1:]))}")
    if unknown := item.keys() - keys:
        raise _Violation(f"{at}: unknown {_listed(unknown)}; known are {_listed(keys - set(_MULTI_SELECT[1:]))}")


def _text(item: Mapping[str, Any], key: str, at: str, limit: int | None = None) -> str:
    """A required text; headers and labels become part of one answer line, so they are made one line."""
    value = item.get(key)
    if not isinstance(value, str) or not value.strip():
        raise _Violation(f"{at}.{key}: must be a text that is not empty")
    if limit is None:
        return value.strip()
    line = one_line(value)
    if len(line) > limit:
        raise _Violation(f"{at}.{key}: {len(line)} characters, at most {limit} are allowed")
    return line


def _unique(texts: Sequence[str], what: str, at: str) -> None:
    repeated = next((text for number, text in enumerate(texts) if text in texts[:number]), None)
    if repeated is not None:
        raise _Violation(f"{at}: the {what} {repeated!r} is there twice")


def _listed(keys: set[str]) -> str:
    return ", ".join(f"'{key}'" for key in sorted(keys))


def plain_text(questions: Sequence[Question]) -> str:
    """The questions as one text for a reader without a form: a line each, its choices below it."""
    lines: list[str] = []
    for question in questions:
        lines.append(f"{question.header}: {question.question}")
        lines += [
            f"  - {option.label}" + (f": {option.description}" if option.description else "")
            for option in question.options
        ]
    return "\n".join(lines)
