"""`agentflow run`: one turn of one agent."""

from __future__ import annotations

from pathlib import Path

import click

from ..engine import engine_options, following_options, models_of, place, project_of, recording_options, with_runtime
from ..terminal.output import Output
from ..terminal.stdin import one_text, turn_text
from ..terminal.views import view_of
from .attached import content, part_of


@click.command("run", short_help="Run one turn of an agent.")
@click.argument("agent")
@click.argument("text", metavar="[TEXT]", nargs=-1, callback=one_text)
@click.option("-s", "--session", metavar="ID", help="Session to continue, or to start under this id.")
@click.option("-c", "--continue", "resume", is_flag=True, help="Continue the agent's newest session.")
@click.option("--fork", metavar="MSG_ID", help="Branch: TEXT follows this message of the session.")
@click.option("--queue", type=click.Choice(["true", "merge"]), help="Wait for a running turn, as a turn or in one.")
@click.option("--interrupt", is_flag=True, help="Stop a running turn first.")
@click.option("--input", "inputs", metavar="KEY=VALUE", multiple=True, help="An input the agent declares; repeatable.")
@click.option(
    "--attach", "files", metavar="FILE", multiple=True, type=click.Path(path_type=Path),
    help="A picture, sound, PDF or text that goes with TEXT; repeatable.",
)  # fmt: skip
@click.option("--json", "form", flag_value="json", help="Print the result as one JSON object.")
@click.option("--jsonl", "form", flag_value="jsonl", help="Print the events as JSON lines, the result last.")
@click.option(
    "--max-iterations", metavar="N", type=click.IntRange(min=0), help="Model calls in this turn; 0 for no limit."
)
@click.option("--max-cost", metavar="USD", type=click.FloatRange(min=0), help="Cost of this turn; 0 for no limit.")
@click.option("--timeout", metavar="SECONDS", type=click.FloatRange(min=0), help="Time for this turn; 0 for no limit.")
@recording_options
@following_options
@engine_options
@click.pass_obj
def command(
    output: Output,
    agent: str,
    text: str | None,
    session: str | None,
    resume: bool,
    fork: str | None,
    queue: str | None,
    interrupt: bool,
    inputs: tuple[str, ...],
    files: tuple[Path, ...],
    form: str | None,
    max_iterations: int | None,
    max_cost: float | None,
    timeout: float | None,
    record: Path | None,
    replay: Path | None,
    project: Path,
    db: str | None,
) -> int:
    """Run one turn of AGENT (a path or a name) on TEXT, standard input, or both (standard input first)."""
    from .follow import Request, run_turn

    if session is not None and resume:
        raise click.UsageError("--session names a session and --continue finds one: give one of them")
    if fork is not None and (queue is not None or not (session or resume)):
        raise click.UsageError("--fork needs the session, by --session or --continue, and cannot be queued")
    project = project_of(agent, project)
    limits = {"max_iterations": max_iterations, "max_cost": max_cost, "turn_timeout_secs": timeout}
    request = Request(
        agent,
        content(_required(turn_text(text), files), [part_of(each) for each in files]),
        session,
        resume,
        inputs,
        {name: value for name, value in limits.items() if value is not None},
        place(project, db),
        fork,
        queue,
        interrupt,
    )
    view = view_of(form, output)
    return with_runtime(project, db, lambda runtime: run_turn(runtime, request, view), models_of(record, replay))


def _required(text: str | None, files: tuple[Path, ...]) -> str:
    """A blank text is one too: it answers a question. Files may come without any."""
    if text is None and files:
        return ""
    if text is None:
        raise click.UsageError("there is nothing to say: give TEXT or pipe it into standard input")
    return text
