"""R9: what a report says of attempts, and that no text of a model can break it."""

from __future__ import annotations

from decimal import Decimal
from xml.etree import ElementTree

from agentflow.evaluation.attempt import Attempt
from agentflow.evaluation.report import CaseReport, Evaluation
from agentflow.message import Usage


def made(outcome: str, *problems: str, **fields: object) -> Attempt:
    return Attempt(outcome, list(problems), **fields)  # type: ignore[arg-type]  # as a test says it


def test_an_attempt_that_could_not_be_judged_is_in_no_rate() -> None:
    case = CaseReport("a.yaml", "test", [made("pass"), made("fail", "x"), made("pass"), made("error", "y")])
    told = case.as_dict()
    assert (told["passed"], told["failed"], told["errors"], told["judged"], told["rate"]) == (2, 1, 1, 3, 0.6667)
    assert (case.outcome, Evaluation([case]).ok) == ("error", False)
    assert Evaluation([CaseReport("a.yaml", "test", [made("error", "y")])]).as_dict()["rate"] is None
    assert Evaluation([CaseReport("a.yaml", "test", [made("pass")])]).ok


def test_an_error_stays_one_whatever_else_goes_wrong() -> None:
    attempt = Attempt()
    attempt.says("fail", [])
    assert attempt.outcome == "pass"
    attempt.says("error", ["the judge"])
    attempt.says("fail", ["the answer, with password=hunter22"])
    assert (attempt.outcome, attempt.problems) == ("error", ["the judge", "the answer, with password=***"])


def test_what_attempts_used_is_summed() -> None:
    used = [made("pass", usage=Usage(10, 2, cost=Decimal("0.1"))), made("pass", usage=Usage(5, 1, cost=Decimal("0.2")))]
    told = CaseReport("a.yaml", "test", used).as_dict()
    assert (told["usage"]["total"], told["cost"]) == (18, "0.3")


def test_the_xml_holds_whatever_a_model_says() -> None:
    verdict = {"turn": 1, "verdict": "pass", "reason": "]]> \x1b[31m"}
    attempts = [made("fail", 'answer: </failure>\x00\x1b]0;"&\ud800', "second"), made("pass", verdicts=[verdict])]
    root = ElementTree.fromstring(Evaluation([CaseReport('a".yaml', "test", attempts)]).junit())
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("2", "1", "0")
    first, second = root.iter("testcase")
    assert first.get("name") == 'a".yaml (1 of 2)'
    failure = first.find("failure")
    assert failure is not None
    assert failure.text is not None
    assert failure.text.startswith("answer: </failure>")
    assert "second" in failure.text
    assert second.find("failure") is None
    assert "]]>" in str(second.findtext("system-out"))
