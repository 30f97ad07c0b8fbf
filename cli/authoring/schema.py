"""`agentflow schema`: the JSON Schema of agent.yaml, or of a case."""

from __future__ import annotations

import click

from ..terminal.output import Output


@click.command("schema", short_help="Print the JSON Schema of agent.yaml.")
@click.option("--case", is_flag=True, help="That of a case for `eval run`.")
@click.pass_obj
def command(output: Output, case: bool) -> None:
    """Print the JSON Schema of agent.yaml, for editors."""
    from agentflow import agent_schema, case_schema

    output.json(case_schema() if case else agent_schema(), indent=2)
