"""What `validate` found, in the form each reader takes: people, programs, GitHub's checks, tools that read SARIF."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ..terminal.output import Output

FORMATS = ("text", "json", "github", "sarif")

_SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


@dataclass(frozen=True, slots=True)
class Finding:
    """One complaint: `level` is `error` or `warning`, `text` the line for people with the source line and caret below,
    `data` what programs read of it: file, line, column, key, code and message.
    """

    level: str
    text: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """What was found of one agent. `connections` says of each interface what came of asking it, null when not asked."""

    agent: str
    findings: Sequence[Finding]
    connections: Sequence[Mapping[str, Any]] | None = None

    @property
    def has_errors(self) -> bool:
        return any(each.level == "error" for each in self.findings)

    @property
    def silent(self) -> int:
        """How many interfaces did not answer."""
        return sum(each["code"] is not None for each in self.connections or ())


def write(output: Output, reports: Sequence[Report], form: str) -> None:
    """Writes them in one of `FORMATS`."""
    if form == "json":
        output.json({"agents": [_as_json(each) for each in reports]}, indent=2)
    elif form == "sarif":
        output.json(_sarif(_findings(reports)), indent=2)
    elif form == "github":
        for finding in _findings(reports):
            output.line(_command(finding))
    else:
        for report in reports:
            for finding in report.findings:
                output.line(_with_code(finding))
            for asked in report.connections or ():
                output.line(_asked(asked))


def _findings(reports: Iterable[Report]) -> list[Finding]:
    """All of them, each once: what two agents share is found with both."""
    found = [finding for report in reports for finding in (*report.findings, *_unanswered(report.connections or ()))]
    return list({finding.text: finding for finding in found}.values())


def _as_json(report: Report) -> dict[str, Any]:
    levels = {"errors": "error", "warnings": "warning"}
    told = {name: [each.data for each in report.findings if each.level == level] for name, level in levels.items()}
    return {"agent": report.agent, **told} | ({} if report.connections is None else {"connections": report.connections})


def _with_code(finding: Finding) -> str:
    head, line, rest = finding.text.partition("\n")
    return f"{head} [{finding.data['code']}]{line}{rest}"


def _asked(asked: Mapping[str, Any]) -> str:
    place = f"{asked['where']}: {asked['interface']}"
    if asked["scripted"]:
        return f"{place}: not asked, {asked['model']} is scripted"
    if asked["code"] is None:
        return f"{place}: {asked['model']} answers"
    return f"{place}: {asked['code']}: {asked['message']}"


def _unanswered(connections: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    """An interface that does not answer, as an error at its model string."""
    for asked in connections:
        if asked["code"] is not None:
            file, line, column = asked["where"].rsplit(":", 2)
            place = {"file": file, "line": int(line), "column": int(column), "key": f"interfaces.{asked['interface']}"}
            yield Finding("error", _asked(asked), {**place, "code": asked["code"], "message": asked["message"]})


def _command(finding: Finding) -> str:
    """A workflow command of GitHub, which shows the complaint at its line."""
    data = finding.data
    place = {"file": data["file"], "line": data["line"], "col": data["column"], "title": data["code"]}
    told = ",".join(f"{name}={_escaped(str(value), '%:,')}" for name, value in place.items())
    return f"::{finding.level} {told}::{_escaped(_sentence(data), '%')}"


def _escaped(text: str, special: str) -> str:
    return "".join(f"%{ord(each):02X}" if each in special or each in "\r\n" else each for each in text)


def _sentence(data: Mapping[str, Any]) -> str:
    return f"{data['key']}: {data['message']}" if data["key"] else str(data["message"])


def _sarif(findings: Sequence[Finding]) -> dict[str, Any]:
    """A log of SARIF 2.1.0 with one run."""
    from agentflow import __version__, complaints

    means = complaints()
    rules = list(dict.fromkeys(str(each.data["code"]) for each in findings))
    driver = {
        "name": "agentflow validate",
        "version": __version__,
        "rules": [{"id": code, "shortDescription": {"text": means.get(code, code)}} for code in rules],
    }
    results = [_result(each, rules.index(str(each.data["code"]))) for each in findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SARIF, "version": "2.1.0", "runs": [run]}


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    data = finding.data
    region = {"startLine": data["line"], "startColumn": data["column"]}
    location = {"artifactLocation": {"uri": quote(str(data["file"]))}, "region": region}
    return {
        "ruleId": data["code"],
        "ruleIndex": rule,
        "level": finding.level,
        "message": {"text": _sentence(data)},
        "locations": [{"physicalLocation": location}],
    }
