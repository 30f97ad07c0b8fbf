"""T19: how answers read to the model, in every form they come in (D35-D39)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentflow.conversation.pauses.answers import Answers, format_answers, parts_of, said_in
from agentflow.conversation.questions import Question
from agentflow.errors import InvalidInput
from agentflow.message import Message

ONE = (Question("Plan", "Which plan?"),)
COLON = (Question("a", "A?"), Question("a: b", "B?"))
TWO = (*ONE, Question("Size", "How many?"))


@pytest.mark.parametrize(
    ("questions", "answers", "text"),
    [
        (ONE, {"Plan": ["Pro"]}, "Plan: Pro"),
        (ONE, {"Plan": ["Pro", "Free"]}, "Plan: Pro, Free"),
        (ONE, {"Plan": "the\ncheap\r\n\n one"}, "Plan: the cheap one"),
        (ONE, {"Plan": ["two\nlines", "x"]}, "Plan: two lines, x"),
        (ONE, {"Plan": ""}, "Plan: (no answer)"),
        (ONE, {"Plan": []}, "Plan: (no answer)"),
        (ONE, {"Plan": None}, "Plan: (no answer)"),
        (TWO, {"Size": "3", "Plan": ["Pro"]}, "Plan: Pro\nSize: 3"),
        (TWO, {"Size": "3"}, "Plan: (no answer)\nSize: 3"),
        (TWO, {}, "Plan: (no answer)\nSize: (no answer)"),
        (ONE, "Pro please", "Plan: Pro please"),
        (ONE, "Pro\nplease", "Plan: Pro please"),
        (ONE, "", "Plan: (no answer)"),
        (ONE, " \n ", "Plan: (no answer)"),
        (ONE, "Plan: Free", "Plan: Free"),
        (ONE, "plan: Free", "Plan: plan: Free"),
        (ONE, "Plan: Free\nI think", "Plan: Plan: Free I think"),
        (TWO, "Size: 3\nPlan: Pro\n", "Size: 3\nPlan: Pro"),
        (TWO, "Plan: Pro\n\nSize: 3", "Plan: Pro\nSize: 3"),
        (TWO, "  Plan:Pro \r\n\n\t Size:  3 ", "Plan: Pro\nSize: 3"),
        (TWO, "Plan: Pro", "Plan: Pro\nSize: (not answered separately)"),
        (TWO, "Size: 3", "Size: 3\nPlan: (not answered separately)"),
        (TWO, "Plan: Pro\nPlan: Free", "Plan: Pro, Free\nSize: (not answered separately)"),
        (TWO, "Plan: Pro\nSize: 3\nPlan: Free", "Plan: Pro, Free\nSize: 3"),
        (TWO, "Plan:\nSize: \nSize:3", "Plan: (no answer)\nSize: 3"),
        (COLON, "a: b: c", "a: b: c\na: (not answered separately)"),
        (ONE, {"Plan": 0}, "Plan: 0"),
        (ONE, {"Plan": False}, "Plan: false"),
        (ONE, {"Plan": [0, "x", None, 1.5]}, "Plan: 0, x, 1.5"),
        (ONE, {"Plan": [""]}, "Plan: (no answer)"),
        (TWO, "Pro, for 3", "Plan: Pro, for 3\nSize: (not answered separately)"),
        (TWO, "", "Plan: (no answer)\nSize: (not answered separately)"),
    ],
)
def test_each_form_of_an_answer_has_one_text(questions: tuple[Question, ...], answers: Answers, text: str) -> None:
    assert format_answers(questions, answers) == text


def test_an_answer_to_a_question_that_was_not_asked_is_refused() -> None:
    with pytest.raises(InvalidInput, match="Colour: no question has this header; asked were 'Plan', 'Size'") as caught:
        format_answers(TWO, {"Plan": "Pro", "Colour": "red"})
    assert caught.value.detail == {"field": "answers.Colour", "headers": ["Plan", "Size"]}


@given(st.dictionaries(st.sampled_from(["Plan", "Size"]), st.text() | st.lists(st.text(), max_size=3)))
@settings(max_examples=60, deadline=None)
def test_answers_by_header_make_one_line_per_question_which_is_used_as_it_is(answers: Any) -> None:
    text = format_answers(TWO, answers)
    assert [line.split(":")[0] for line in text.splitlines()] == ["Plan", "Size"]
    assert format_answers(TWO, text) == text


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


@pytest.mark.parametrize(
    ("questions", "answers", "text"),
    [
        (ONE, "", "Plan: (attached)"),
        (ONE, "like this", "Plan: like this (attached)"),
        (TWO, "", "Plan: (attached)\nSize: (not answered separately)"),
        (TWO, "Size: 3\nPlan: as drawn", "Size: 3 (attached)\nPlan: as drawn"),
    ],
)
def test_an_answer_says_that_something_came_with_it(questions: tuple[Question, ...], answers: str, text: str) -> None:
    assert format_answers(questions, answers, attached=True) == text


def test_the_parts_of_answering_messages_are_those_that_are_no_text() -> None:
    words = Message("m1", "user", "see")
    drawn = Message("m2", "user", [{"type": "text", "text": "here"}, PICTURE])
    assert said_in([words, drawn]) == "see\nhere"
    assert (parts_of([words, drawn]), parts_of([words])) == ([PICTURE], None)
