"""`agentflow completion`: what a shell needs to complete commands, options, agents and sessions."""

from __future__ import annotations

import os
from collections.abc import Mapping

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from ..terminal.output import Output

VARIABLE = "_AGENTFLOW_COMPLETE"
"""Set by the script that is printed here: what is to be completed stands in the environment then."""

SHELLS: Mapping[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command("completion", short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_obj
def command(output: Output, shell: str) -> None:
    """Print the script that completes commands, options, names of agents, and ids of sessions by id or name.

    For bash: eval "$(agentflow completion bash)" in ~/.bashrc; for zsh the same in ~/.zshrc; for fish write it to
    ~/.config/fish/completions/agentflow.fish.
    """
    # The class's own asks bash for its version first, which a person who asks for the script knows.
    output.line(ShellComplete.source(_completer(click.get_current_context().find_root().command, shell)))


def complete(group: click.Command, output: Output) -> int | None:
    """Answers the script, if it is the one who asks; the exit code then."""
    shell, _, asked = os.environ.get(VARIABLE, "").partition("_")
    if asked != "complete" or shell not in SHELLS:
        return None
    if found := _completer(group, shell).complete():
        output.line(found)
    return 0


def _completer(group: click.Command, shell: str) -> ShellComplete:
    return SHELLS[shell](group, {}, "agentflow", VARIABLE)
