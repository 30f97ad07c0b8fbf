"""`agentflow validate`: the mistakes of agent.yaml files, before they run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ..engine import project_of, project_option
from ..exits import Exit
from ..terminal.output import Output, note


@click.command("validate", short_help="Check agent.yaml files.")
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--connect", is_flag=True, help="Also ask each interface for a word; this calls models.")
@click.option("--static", is_flag=True, help="Import no flow file; what only an import tells is not checked.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: each agent with what was found.")
@project_option
@click.pass_obj
def command(output: Output, paths: tuple[str, ...], connect: bool, static: bool, as_json: bool, project: Path) -> int:
    """Check each PATH: an agent.yaml, its folder, a project's folder, or an agent's name.

    Without PATH the agents of the project are checked. Their flow files are imported, which runs them; --static leaves
    that out. Errors give exit code 2, warnings do not. With --connect an
    interface that does not answer gives exit code 1; agents with errors are not asked.
    """
    from agentflow import validate_agent

    if static and connect:
        raise click.UsageError("--static runs nothing, --connect calls models: give one of them")
    agents = [agent for path in paths or (str(project),) for agent in _agents(path)]
    if not agents:
        raise click.UsageError(f"{project} has no agents/NAME/agent.yaml: name a PATH")
    failed, silent, found = 0, 0, []
    for agent in agents:
        home = project_of(agent, project)
        report = validate_agent(agent, home, static=static)
        asked = _asked(agent, home) if connect and not report.errors else []
        found.append({"agent": agent, **report.as_data, **({"connections": asked} if connect else {})})
        if not as_json:
            for line in (*report.errors, *report.warnings, *map(_line, asked)):
                output.line(line)
        failed += bool(report.errors)
        silent += sum(each["code"] is not None for each in asked)
    if as_json:
        output.json({"agents": found}, indent=2)
    note(f"{len(agents)} checked, {failed} with errors" + (f", {silent} interfaces did not answer" if connect else ""))
    return Exit.USAGE if failed else Exit.FAILED if silent else Exit.DONE


def _asked(agent: str, project: Path) -> list[dict[str, Any]]:
    """What came of asking each interface."""
    import asyncio

    from agentflow import connect_agent, own_process

    own_process()
    note(f"asking the models of {agent}")
    return [asdict(each) for each in asyncio.run(connect_agent(agent, project))]


def _line(asked: dict[str, Any]) -> str:
    place = f"{asked['where']}: {asked['interface']}"
    if asked["scripted"]:
        return f"{place}: not asked, {asked['model']} is scripted"
    if asked["code"] is None:
        return f"{place}: {asked['model']} answers"
    return f"{place}: {asked['code']}: {asked['message']}"


def _agents(path: str) -> list[str]:
    """A project's folder stands for all its agents, anything else for itself."""
    folder = Path(path)
    if (folder / "agent.yaml").exists() or not folder.is_dir():
        return [path]
    return [str(found.parent) for found in sorted(folder.glob("agents/*/agent.yaml"))]
