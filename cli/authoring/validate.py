"""`agentflow validate`: the mistakes of agent.yaml files, before they run."""

from __future__ import annotations

from pathlib import Path

import click

from ..engine import project_of, project_option
from ..exits import Exit
from ..terminal.output import Output, note


@click.command("validate", short_help="Check agent.yaml files.")
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@project_option
@click.pass_obj
def command(output: Output, paths: tuple[str, ...], project: Path) -> int:
    """Check each PATH: an agent.yaml, its folder, a project's folder, or an agent's name.

    Without PATH the agents of the project are checked. Errors give exit code 2, warnings do not.
    """
    from agentflow import validate_agent

    agents = [agent for path in paths or (str(project),) for agent in _agents(path)]
    if not agents:
        raise click.UsageError(f"{project} has no agents/NAME/agent.yaml: name a PATH")
    failed = 0
    for agent in agents:
        report = validate_agent(agent, project_of(agent, project))
        for line in (*report.errors, *report.warnings):
            output.line(str(line))
        failed += bool(report.errors)
    note(f"{len(agents)} checked, {failed} with errors")
    return Exit.USAGE if failed else Exit.DONE


def _agents(path: str) -> list[str]:
    """A project's folder stands for all its agents, anything else for itself."""
    folder = Path(path)
    if (folder / "agent.yaml").exists() or not folder.is_dir():
        return [path]
    return [str(found.parent) for found in sorted(folder.glob("agents/*/agent.yaml"))]
