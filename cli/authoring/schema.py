"""`agentflow schema`: the JSON Schema of agent.yaml."""

from __future__ import annotations

import click

from ..terminal.output import Output


@click.command("schema", short_help="Print the JSON Schema of agent.yaml.")
@click.pass_obj
def command(output: Output) -> None:
    """Print the JSON Schema of agent.yaml, for editors."""
    from agentflow import agent_schema

    output.json(agent_schema(), indent=2)
