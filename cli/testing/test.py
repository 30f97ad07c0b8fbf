"""`agentflow test`: runs tests without Python, and writes one from a session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from ..engine import engine_options
from ..exits import Exit
from ..terminal.output import Output, note
from ..terminal.plain import one_line
from .from_session import write_test
from .report import Tested

_NEEDED = ("freezegun", "pytest", "_pytest")


@click.command("test", short_help="Run *.test.yaml files: agents under test, without a key.")
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("-k", "text", metavar="TEXT", help="Only tests with TEXT in their path or description.")
@click.option("--crash", type=click.Choice(["every"]), help="Then each again, with a process that dies at each commit.")
@click.option("--from-session", "session", metavar="ID", help="Write a test of this session instead, one that passes.")
@click.option("--turn", metavar="N", help="Of this turn alone; what was said before is its history.")
@click.option("-o", "--output", "target", metavar="FILE", type=click.Path(path_type=Path),
              help="File to write.  [default: standard output]")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: each test with what came of it.")
@engine_options
@click.pass_obj
def command(
    output: Output,
    paths: tuple[str, ...],
    text: str | None,
    crash: str | None,
    session: str | None,
    turn: str | None,
    target: Path | None,
    as_json: bool,
    project: Path,
    db: str | None,
) -> int:
    """Run the tests of each PATH, a *.test.yaml or a folder of them; without PATH those below the current folder.

    Models answer from the replies in the file, tools from its stubs, and time moves only as it says: no key and no
    network is needed. A test that fails gives exit code 1, a file with mistakes 2.

    With --from-session a test is written: models say what they said, tools give what they gave, at the same times.
    """
    if session is None and (turn is not None or target is not None):
        raise click.UsageError("--turn and --output belong to --from-session")
    if session is not None and (paths or text or crash or as_json):
        raise click.UsageError("--from-session writes a test; it takes no PATH, -k, --crash or --json")
    with _extra():
        if session is not None:
            return write_test(output, session, turn, target, project, db)
        from agentflow.testing import scenario_files

        files = scenario_files(paths or (".",))
        tests = [tested for file in files if (tested := _tested(file, text, crash)) is not None]
    if not tests:
        raise click.UsageError("there are no tests" + (f" with {text!r}" if text else "") + ": name a PATH")
    if as_json:
        output.json({"tests": [each.as_dict() for each in tests]}, indent=2)
    else:
        for each in tests:
            output.write("".join(f"{one_line(line)}\n" for line in each.lines()))
    return _exit(tests)


def _tested(file: Path, text: str | None, crash: str | None) -> Tested | None:
    """What came of a file; null for one that was not asked for."""
    from agentflow import InvalidConfig, read_scenario
    from agentflow.testing import crashed_everywhere, run_scenario

    try:
        read = read_scenario(file)
    except InvalidConfig as error:
        wanted = text is None or text.lower() in str(file).lower()
        return Tested(str(file), state="invalid", failures=[str(error)]) if wanted else None
    description = read.scenario.description
    if text is not None and text.lower() not in f"{file} {description}".lower():
        return None
    outcome = run_scenario(read)
    if outcome.failures:
        return Tested(str(file), description, "failed", outcome.failures, outcome.trace)
    crashes = list(crashed_everywhere(read, outcome)) if crash else None
    return Tested(str(file), description, crashes=crashes)


def _exit(tests: Sequence[Tested]) -> int:
    counts = {state: sum(each.state == state for each in tests) for state in ("passed", "failed", "invalid")}
    note(", ".join(f"{count} {state}" for state, count in counts.items() if count))
    if counts["invalid"]:
        return Exit.USAGE
    return Exit.DONE if all(each.is_good for each in tests) else Exit.FAILED


@contextmanager
def _extra() -> Iterator[None]:
    """The kit comes with an extra of its own."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in _NEEDED:
            raise
        raise click.ClickException(
            f"{error.name} is not installed; tests need the extra testing: pip install 'agentflow-sessions[testing]'"
        ) from None
