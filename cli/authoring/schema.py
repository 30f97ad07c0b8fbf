"""`agentflow schema`: the JSON Schema of agent.yaml, of a case, or of a test."""

from __future__ import annotations

import click

from ..terminal.output import Output


@click.command("schema", short_help="Print the JSON Schema of agent.yaml.")
@click.option("--case", is_flag=True, help="That of a case for `eval run`.")
@click.option("--test", is_flag=True, help="That of a *.test.yaml for `test`.")
@click.pass_obj
def command(output: Output, case: bool, test: bool) -> None:
    """Print the JSON Schema of agent.yaml, for editors."""
    from agentflow import agent_schema, case_schema, scenario_schema

    output.json(scenario_schema() if test else case_schema() if case else agent_schema(), indent=2)
