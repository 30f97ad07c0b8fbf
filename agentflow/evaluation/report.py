"""What came of all cases, as data and as JUnit XML (R9). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from agentflow.evaluation.attempt import Attempt, Outcome
from agentflow.message import Usage
from agentflow.text import one_line, preview

SCHEMA = "agentflow.evaluation/1"

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAGS: dict[Outcome, str] = {"fail": "failure", "error": "error"}
_HEAD = 200


@dataclass(frozen=True, slots=True)
class CaseReport:
    """The attempts at one case. The rate is `passed` of `judged`: an attempt with an error is not judged."""

    case: str
    agent: str
    attempts: Sequence[Attempt]

    def count(self, outcome: Outcome) -> int:
        return sum(each.outcome == outcome for each in self.attempts)

    @property
    def outcome(self) -> Outcome:
        """`error` when an attempt could not be judged, else `fail` when one failed."""
        return "error" if self.count("error") else "fail" if self.count("fail") else "pass"

    def as_dict(self) -> dict[str, Any]:
        used = sum((each.usage for each in self.attempts), Usage())
        return {
            "case": self.case,
            "agent": self.agent,
            "outcome": self.outcome,
            **_rate(self.attempts),
            "usage": used.as_dict(),
            "cost": None if used.cost is None else str(used.cost),
            "duration_ms": sum(each.duration_ms for each in self.attempts),
            "attempts": [each.as_dict() for each in self.attempts],
        }


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What came of cases that were run, in their order."""

    cases: Sequence[CaseReport]

    @property
    def ok(self) -> bool:
        """Whether every attempt at every case passed."""
        return all(each.outcome == "pass" for each in self.cases)

    def as_dict(self) -> dict[str, Any]:
        """The JSON of `eval run --json`: `{schema, ok, passed, failed, errors, judged, rate, cases}`."""
        attempts = [each for case in self.cases for each in case.attempts]
        cases = [each.as_dict() for each in self.cases]
        return {"schema": SCHEMA, "ok": self.ok, **_rate(attempts), "cases": cases}

    def junit(self) -> str:
        """JUnit XML: a test case for each attempt, a suite for each case."""
        root = ElementTree.Element("testsuites", _counts([each for case in self.cases for each in case.attempts]))
        for case in self.cases:
            suite = ElementTree.SubElement(root, "testsuite", {"name": _clean(case.case), **_counts(case.attempts)})
            for number, each in enumerate(case.attempts, 1):
                _add(suite, case, number, each)
        ElementTree.indent(root)
        return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _rate(attempts: Sequence[Attempt]) -> dict[str, Any]:
    counted = {each: sum(one.outcome == each for one in attempts) for each in ("pass", "fail", "error")}
    judged = counted["pass"] + counted["fail"]
    return {
        "passed": counted["pass"],
        "failed": counted["fail"],
        "errors": counted["error"],
        "judged": judged,
        "rate": round(counted["pass"] / judged, 4) if judged else None,
    }


def _counts(attempts: Sequence[Attempt]) -> dict[str, str]:
    rate = _rate(attempts)
    seconds = sum(each.duration_ms for each in attempts) / 1000
    return {
        "tests": str(len(attempts)),
        "failures": str(rate["failed"]),
        "errors": str(rate["errors"]),
        "time": f"{seconds:.3f}",
    }


def _add(suite: ElementTree.Element, case: CaseReport, number: int, made: Attempt) -> None:
    name = case.case if len(case.attempts) == 1 else f"{case.case} ({number} of {len(case.attempts)})"
    about = {"name": _clean(name), "classname": _clean(case.agent), "time": f"{made.duration_ms / 1000:.3f}"}
    test = ElementTree.SubElement(suite, "testcase", about)
    if made.outcome != "pass":
        said = {"message": preview(_clean(one_line(made.problems[0])), _HEAD)}
        ElementTree.SubElement(test, _TAGS[made.outcome], said).text = _clean("\n".join(made.problems))
    if made.verdicts:
        lines = (f"turn {each['turn']}: {each['verdict']}: {each['reason']}" for each in made.verdicts)
        ElementTree.SubElement(test, "system-out").text = _clean("\n".join(lines))


def _clean(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
