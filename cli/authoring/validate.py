"""`agentflow validate`: the mistakes of agent.yaml files, before they run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ..engine import project_of, project_option
from ..exits import Exit
from ..terminal.output import Output, note
from .reports import FORMATS, Finding, Report, write

_STANDARD_INPUT = "-"
_MOST_BYTES = 1_000_001  # one more than a file may have; what is larger is refused when it is read


@click.command("validate", short_help="Check agent.yaml files.")
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--connect", is_flag=True, help="Also ask each interface for a word; this calls models.")
@click.option("--static", is_flag=True, help="Import no flow file; what only an import tells is not checked.")
@click.option("--fix", is_flag=True, help="First mend what is certain, in the files themselves.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="How to print.  [default: text]")
@click.option("--json", "as_json", is_flag=True, help="Short for --format json: each agent with what was found.")
@project_option
@click.pass_obj
def command(
    output: Output,
    paths: tuple[str, ...],
    connect: bool,
    static: bool,
    fix: bool,
    form: str,
    as_json: bool,
    project: Path,
) -> int:
    """Check each PATH: an agent.yaml, its folder, a project's folder, or an agent's name; - is an agent.yaml of the
    current folder whose text comes from standard input.

    Without PATH the agents of the project are checked. Their flow files are imported, which runs them; --static leaves
    that out. Errors give exit code 2, warnings do not. With --connect an interface that does not answer gives exit code
    1; agents with errors are not asked.
    """
    if static and connect:
        raise click.UsageError("--static runs nothing, --connect calls models: give one of them")
    if fix and _STANDARD_INPUT in paths:
        raise click.UsageError("--fix mends files, and standard input is none")
    agents = [agent for path in paths or (str(project),) for agent in _agents(path)]
    if not agents:
        raise click.UsageError(f"{project} has no agents/NAME/agent.yaml: name a PATH")
    if fix:
        for agent in agents:
            _mend(agent, project_of(agent, project))
    reports = [report_of(agent, project, static=static, connect=connect) for agent in agents]
    write(output, reports, "json" if as_json else form)
    failed, silent = sum(each.has_errors for each in reports), sum(each.silent for each in reports)
    note(f"{len(agents)} checked, {failed} with errors" + (f", {silent} interfaces did not answer" if connect else ""))
    fixable = sum(each.data.get("fixable", False) for report in reports for each in report.findings)
    if fixable and not fix:
        note(f"--fix mends {fixable} of what was found")
    return Exit.USAGE if failed else Exit.FAILED if silent else Exit.DONE


def report_of(agent: str, project: Path, *, static: bool = False, connect: bool = False) -> Report:
    """What is found of one agent, given by name or path, or `-` for the text on standard input."""
    from agentflow import validate_agent

    text = _standard_input() if agent == _STANDARD_INPUT else None
    name = agent if text is None else "agent.yaml"
    home = project_of(name, project)
    found = validate_agent(name, home, static=static, text=text)
    findings = [
        Finding(level, said, data)
        for level, told, datas in (
            ("error", found.errors, found.as_data["errors"]),
            ("warning", found.warnings, found.as_data["warnings"]),
        )
        for said, data in zip(told, datas, strict=True)
    ]
    asked: list[dict[str, Any]] | None = ([] if found.errors else _asked(agent, home)) if connect else None
    return Report(agent, findings, asked)


def _standard_input() -> bytes:
    if sys.stdin is None or sys.stdin.isatty():
        raise click.UsageError("nothing comes on standard input: pipe the text of an agent.yaml into it")
    return sys.stdin.buffer.read(_MOST_BYTES)


def _mend(agent: str, project: Path) -> None:
    from agentflow import mend_agent

    for each in mend_agent(agent, project):
        note(f"mended {_place(each)}: {each['message']}")


def _place(data: Mapping[str, Any]) -> str:
    return f"{data['file']}:{data['line']}:{data['column']}: {data['key']}"


def _asked(agent: str, project: Path) -> list[dict[str, Any]]:
    """What came of asking each interface."""
    import asyncio

    from agentflow import connect_agent, own_process

    own_process()
    note(f"asking the models of {agent}")
    return [asdict(each) for each in asyncio.run(connect_agent(agent, project))]


def _agents(path: str) -> list[str]:
    """A project's folder stands for all its agents, anything else for itself."""
    folder = Path(path)
    if path == _STANDARD_INPUT or (folder / "agent.yaml").exists() or not folder.is_dir():
        return [path]
    return [str(found.parent) for found in sorted(folder.glob("agents/*/agent.yaml"))]
