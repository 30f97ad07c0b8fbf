"""T17: which questions are allowed."""

from typing import Any

import pytest

from agentflow.conversation.questions import Option, Question, check_questions

PLAN = {"header": "Plan", "question": "Which plan?", "options": [{"label": "Pro"}, {"label": "Free"}]}
SIZE = {"header": "Size", "question": "How many seats?"}


def check(*questions: Any) -> tuple[Question, ...] | str:
    return check_questions({"questions": list(questions)})


def test_good_questions_are_read_with_defaults() -> None:
    described = {"label": " Pro ", "description": "More."}
    assert check({**PLAN, "options": [described, {"label": "Free"}]}, SIZE) == (
        Question("Plan", "Which plan?", (Option("Pro", "More."), Option("Free"))),
        Question("Size", "How many seats?"),
    )


@pytest.mark.parametrize("key", ["multi_select", "multiSelect", "multiple"])
def test_multi_select_has_the_names_models_know(key: str) -> None:
    (question,) = check({**PLAN, key: True})
    assert isinstance(question, Question)
    assert question.multi_select is True


@pytest.mark.parametrize("nothing", [{"options": []}, {"options": None}, {}])
def test_no_options_make_an_open_question(nothing: dict[str, Any]) -> None:
    (question,) = check({**SIZE, **nothing})
    assert isinstance(question, Question)
    assert question.options == ()


@pytest.mark.parametrize(
    "question",
    [
        {**PLAN, "header": "T" * 12},
        {**PLAN, "options": [{"label": "L" * 60}, {"label": "b"}, {"label": "c"}, {"label": "d"}]},
        {**PLAN, "question": "long? " * 1000},
        {**PLAN, "multi_select": None},
    ],
)
def test_the_limits_themselves_are_allowed(question: dict[str, Any]) -> None:
    assert isinstance(check(question), tuple)
    more = [{"header": text, "question": text} for text in "ab"]
    assert isinstance(check(PLAN, SIZE, *more), tuple)


@pytest.mark.parametrize(
    ("questions", "complaint"),
    [
        ([], "questions: a list of 1 to 4"),
        ([{"header": str(n), "question": str(n)} for n in range(5)], "questions: a list of 1 to 4"),
        (["Which?"], "questions.0: must be an object with 'header', 'multi_select', 'options', 'question'"),
        ([{**PLAN, "type": "x"}], "questions.0: unknown 'type'; known are"),
        ([{**PLAN, "header": "T" * 13}], "questions.0.header: 13 characters, at most 12"),
        ([{**PLAN, "header": "  "}], "questions.0.header: must be a text that is not empty"),
        ([{**PLAN, "header": 3}], "questions.0.header: must be a text"),
        ([{"header": "x"}], "questions.0.question: must be a text"),
        ([PLAN, {**SIZE, "header": "Plan"}], "questions: the header 'Plan' is there twice"),
        ([PLAN, {**SIZE, "question": "Which plan?"}], "questions: the question 'Which plan?' is there twice"),
        ([{**PLAN, "options": [{"label": "one"}]}], "questions.0.options: none for an open question, or 2 to 4"),
        ([{**PLAN, "options": [{"label": str(n)} for n in range(5)]}], "questions.0.options: none"),
        ([{**PLAN, "options": {"label": "x"}}], "questions.0.options: none"),
        ([{**PLAN, "options": ["a", "b"]}], "questions.0.options.0: must be an object"),
        ([{**PLAN, "options": [{"label": "a"}, {"label": "a"}]}], "questions.0.options: the label 'a' is there twice"),
        ([{**PLAN, "options": [{"label": "a"}, {"label": "x" * 61}]}], "questions.0.options.1.label: 61 characters"),
        ([{**PLAN, "options": [{"label": "a"}, {"label": "b", "description": 1}]}], ".description: must be a text"),
        ([{**PLAN, "options": [{"label": "a"}, {"label": "b", "value": 1}]}], "unknown 'value'"),
        ([{**PLAN, "multi_select": "yes"}], "questions.0.multi_select: must be true or false"),
    ],
)
def test_a_broken_rule_is_told_with_its_place(questions: list[Any], complaint: str) -> None:
    result = check(*questions)
    assert isinstance(result, str)
    assert complaint in result


@pytest.mark.parametrize("arguments", [{}, {"questions": "x"}, {"questions": [SIZE], "title": "x"}])
def test_the_call_itself_must_hold_a_list_of_questions(arguments: dict[str, Any]) -> None:
    assert isinstance(check_questions(arguments), str)


def test_a_question_is_shown_in_one_shape() -> None:
    question = Question("Plan", "Which?", (Option("Pro", "More."), Option("Free")), multi_select=True)
    assert question.as_dict() == {
        "header": "Plan",
        "question": "Which?",
        "options": [{"label": "Pro", "description": "More."}, {"label": "Free"}],
        "multi_select": True,
    }
    assert check(question.as_dict()) == (question,)
