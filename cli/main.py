"""The entry point: the table of commands, and how errors become one line and an exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn, TextIO, cast

import click

from .completion.completion import VARIABLE, complete
from .exits import Exit, of_error
from .lazy import LazyGroup
from .terminal.colors import COLOR
from .terminal.output import Output, note, occupy_closed_descriptors, take_standard_output
from .terminal.plain import PlainStream

COMMANDS = {
    "run": ".turns.run",
    "chat": ".chat.command",
    "submit": ".turns.submit",
    "answer": ".turns.answer",
    "stop": ".turns.stop",
    "sessions": ".sessions",
    "cleanup": ".sessions.cleanup",
    "events": ".reading.events",
    "trace": ".reading.trace",
    "insights": ".reading.insights",
    "eval": ".evaluation",
    "diff": ".reading.diff",
    "explain": ".authoring.explain",
    "validate": ".authoring.validate",
    "schema": ".authoring.schema",
    "test": ".testing.test",
    "init": ".authoring.init",
    "doctor": ".health.doctor",
    "dev": ".dev.dev",
    "db": ".db",
    "serve": ".server.serve",
    "completion": ".completion.completion",
}

# error code -> what helps most who meet it
HINTS = {
    "agent_not_found": "agents are looked for in agents/ of the current folder; --project names another one",
    "turn_already_active": "`run --queue true` waits for it, `run --interrupt` and `agentflow stop` end it",
    "session_not_found": "`agentflow sessions ls` lists the sessions here; --project and --db name other places",
}


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from agentflow import __version__

        ctx.find_object(Output).line(f"agentflow {__version__}")  # type: ignore[union-attr]  # main() sets it
        ctx.exit()


group = LazyGroup("agentflow", table=COMMANDS, help="Run conversations with LLM agents described by an agent.yaml.")
group.params.append(
    click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_version,
        help="Show the version and exit.",
    )
)


def main() -> None:
    """Runs the command line of this process and exits with its code."""
    occupy_closed_descriptors()
    if sys.stderr is not None:
        sys.stderr = cast(TextIO, PlainStream(sys.stderr))  # logs and warnings reach it without asking us
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    sys.exit(run(sys.argv[1:], take_standard_output()))


def _leave(number: int, _: FrameType | None) -> NoReturn:
    """A signal while no turn runs: nothing is to be kept, so nothing is unwound, which a burst could meet half-way."""
    with contextlib.suppress(OSError):  # past Python's buffers, for the same reason
        os.write(2, b"interrupted\n")
    os._exit(128 + number)


def run(args: Sequence[str], results: TextIO | None = None) -> int:
    """Runs one command line and returns its exit code; not even a bug leaves as an exception.

    `results` is the stream of the results, otherwise `sys.stdout`; what anything else prints goes to standard error
    (B77).
    """
    output = Output(results or sys.stdout)
    COLOR.choice = "auto"
    with contextlib.redirect_stdout(sys.stderr):
        code = _invoke(args, output)
    if output.failure is not None:
        note(f"error: standard output cannot be written: {output.failure.strerror}", "error")
        return code or Exit.FAILED
    return code


def _invoke(args: Sequence[str], output: Output) -> int:
    try:
        if VARIABLE in os.environ and (done := complete(group, output)) is not None:
            return done
        result = group.main(list(args), prog_name="agentflow", standalone_mode=False, obj=output)
    except click.ClickException as error:
        error.show(file=cast(TextIO, PlainStream(sys.stderr)) if sys.stderr is not None else None)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        note("interrupted")
        return Exit.SIGINT
    except OSError as error:
        note(f"error: {error}", "error")
        return Exit.FAILED
    except Exception as error:
        from agentflow import AgentflowError

        if not isinstance(error, AgentflowError):
            error = _cause_of(error, output)
        if not isinstance(error, AgentflowError):
            return _fault(error)
        note(f"error ({error.code}): {error}", "error")
        if error.code in HINTS:
            note(HINTS[error.code])
        return of_error(error.code)
    return result if isinstance(result, int) else Exit.DONE


def _cause_of(error: Exception, output: Output) -> Exception:
    """The error, or the damaged row of the database that it comes of (Z1)."""
    from agentflow import AgentflowError, with_runtime

    if output.database is None:
        return error
    project, db = output.database
    try:
        return with_runtime(lambda runtime: runtime.cause_of(error), project, db=db, read_only=True)
    except AgentflowError:
        return error


def _fault(error: Exception) -> int:
    """A bug of ours, told whole for whoever mends it, but for the secrets in it (Z4)."""
    import traceback

    from agentflow import redact

    note(redact("".join(traceback.format_exception(error)).rstrip()))
    return Exit.FAILED
