"""How the answers to questions read to the model: one line per question, `<header>: <answer>` (T19). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentflow.conversation import wire
from agentflow.conversation.questions import Question
from agentflow.errors import InvalidInput
from agentflow.message import Content, Message, text_of
from agentflow.text import compact_json, one_line

NO_ANSWER = "(no answer)"
NOT_ANSWERED_SEPARATELY = "(not answered separately)"
ATTACHED = "(attached)"

Value = str | bool | int | float | None
Answer = Value | Sequence[Value]
"""One text or other plain value, or the chosen labels; null and blank are no answer, which counts as an answer too."""
Answers = str | Mapping[str, Answer]
"""The answers as one text, or by header."""


def read_answers(value: Any, name: str) -> Answers:
    """One text, or answers by header: texts, lists of them, and other plain values as JSON (T19)."""
    if isinstance(value, str):
        return wire.json_value(value, name, 2)  # type: ignore[no-any-return]  # a string stays one
    if not isinstance(value, Mapping):
        wire.refuse(name, f"must be a text, or an object of answers by header, not {wire.kind_of(value)}.")
    given = wire.json_object(value, name, 2)
    return {header: _values(answer, f"{name}.{header}") for header, answer in given.items()}


def _values(value: Any, name: str) -> list[Value]:
    parts = value if isinstance(value, list) else [] if value is None else [value]
    for part in parts:
        if isinstance(part, list | dict):
            wire.refuse(
                name, f"must be a text, a number, true, false, null or a list of these, not {wire.kind_of(part)}."
            )
    return parts


def check_answers(questions: Sequence[Question], answers: Answers) -> None:
    """Refuse an answer to what was not asked. Raises `InvalidInput`."""
    headers = [question.header for question in questions]
    if not isinstance(answers, str) and (unknown := [header for header in answers if header not in headers]):
        asked = ", ".join(map(repr, headers))
        sentence = f"answers.{unknown[0]}: no question has this header; asked were {asked}."
        raise InvalidInput(sentence, detail={"field": f"answers.{unknown[0]}", "headers": headers})


def format_answers(questions: Sequence[Question], answers: Answers, *, attached: bool = False) -> str:
    """The result of an answered `ask_user` call (T19).

    A text whose every line starts with a known `<header>:` is read by header; any other answers the first question.
    `attached`: pictures or files came with it, which the model finds in the message after the result.
    """
    if isinstance(answers, str):
        said = _by_header(questions, answers) or _of_the_first(questions, answers)
    else:
        check_answers(questions, answers)
        said = {question.header: _answer(answers.get(question.header)) for question in questions}
    if attached:
        first = next(iter(said))
        said[first] = ATTACHED if said[first] == NO_ANSWER else f"{said[first]} {ATTACHED}"
    return "\n".join(f"{header}: {answer}" for header, answer in said.items())


def _by_header(questions: Sequence[Question], text: str) -> dict[str, str]:
    """The answers of a text that has the form, in its order; empty for a text that has not."""
    headers = sorted((question.header for question in questions), key=len, reverse=True)
    given: dict[str, list[str]] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        header = next((header for header in headers if line.startswith(f"{header}:")), None)
        if header is None:
            return {}
        given.setdefault(header, []).append(line[len(header) + 1 :])
    said = {header: _answer(answers) for header, answers in given.items()}
    return said | {each.header: NOT_ANSWERED_SEPARATELY for each in questions if said and each.header not in said}


def _of_the_first(questions: Sequence[Question], text: str) -> dict[str, str]:
    first, *others = questions
    return {first.header: _answer(text), **{question.header: NOT_ANSWERED_SEPARATELY for question in others}}


def _answer(answer: Answer) -> str:
    parts = answer if isinstance(answer, Sequence) and not isinstance(answer, str) else [answer]
    return ", ".join(line for line in map(_line, parts) if line) or NO_ANSWER


def _line(value: Value) -> str:
    if value is None:
        return ""
    return one_line(value) if isinstance(value, str) else compact_json(value)


def said_in(messages: Sequence[Message]) -> str:
    """The text of the messages that answer (C26)."""
    return "\n".join(text_of(message.content) for message in messages)


def brings_parts(message: Message) -> bool:
    """Whether a message has more than text: pictures, files."""
    return isinstance(message.content, list) and any(part.get("type") != "text" for part in message.content)


def parts_of(messages: Sequence[Message]) -> Content:
    """The pictures and files of the messages that answer, null when there are none."""
    parts = [
        part
        for message in messages
        if isinstance(message.content, list)
        for part in message.content
        if part.get("type") != "text"
    ]
    return parts or None
