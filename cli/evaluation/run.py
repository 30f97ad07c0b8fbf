"""`agentflow eval run`: agents go through cases again, and a report says what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..engine import project_option
from ..exits import Exit
from ..terminal.output import Output, note
from ..terminal.plain import one_line

if TYPE_CHECKING:
    from agentflow import Evaluation


@click.command("run", short_help="Run agents against cases.")
@click.argument("cases", metavar="CASE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--times", type=click.IntRange(1, 1000), default=1, metavar="N", help="Run each case N times.  [default: 1]"
)
@click.option("--judge", metavar="llm://NAME", help="The interface of the agent that judges by a case's rubric.")
@click.option("--replay", metavar="FILE", type=click.Path(path_type=Path), help="Reply what FILE has; no network.")
@click.option(
    "--live-tools", "live", metavar="NAME", multiple=True,
    help="A tool that runs in earnest, or `worker`; repeatable.  [default: all are answered by the case]",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
@click.option("--junit", metavar="FILE", type=click.Path(path_type=Path), help="Write the report as JUnit XML too.")
@project_option
@click.pass_obj
def command(
    output: Output,
    cases: tuple[Path, ...],
    times: int,
    judge: str | None,
    replay: Path | None,
    live: tuple[str, ...],
    as_json: bool,
    junit: Path | None,
    project: Path,
) -> int:
    """Run each CASE with its agent as it is now, and look whether what comes is as expected.

    Tools, workers and loaders are answered by the case, and the sessions are gone afterwards. The exit code is 1 when
    an attempt fails, or could not be judged.
    """
    import asyncio

    from agentflow import own_process, run_cases

    from ..log import shown_log

    def begun(case: str, number: int) -> None:
        note(f"{case}: {number} of {times}" if times > 1 else str(case))

    own_process()
    with shown_log():
        report = asyncio.run(
            run_cases(
                cases, project, times=times, judge=judge, replay=replay, live_tools=live, begun=begun
            )
        )  # fmt: skip
    if as_json:
        output.json(report.as_dict(), indent=2)
    else:
        output.write(table(report))
    if junit is not None:
        junit.write_text(report.junit(), encoding="utf-8")
    return Exit.DONE if report.ok else Exit.FAILED


def table(report: Evaluation) -> str:
    """A line for each case, and under it what went wrong in which attempt."""
    found = report.as_dict()
    lines = [("CASE", "PASSED", "ERRORS", "TOKENS", "COST", "TIME"), *map(_cells, found["cases"])]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = ["  ".join(_aligned(cells, widths)).rstrip() for cells in lines]
    told = [rows[0]]
    for row, case in zip(rows[1:], found["cases"], strict=True):
        told += [row, *_problems(case)]
    return "\n".join([*told, _sum(found)]) + "\n"


def _cells(case: dict[str, Any]) -> tuple[str, ...]:
    total = case["usage"]["total"]
    return (
        one_line(case["case"]),
        f"{case['passed']}/{case['judged']}",
        str(case["errors"]),
        "-" if total is None else f"{total:,}",
        case["cost"] or "-",
        f"{case['duration_ms'] / 1000:.1f}s",
    )


def _aligned(cells: tuple[str, ...], widths: list[int]) -> list[str]:
    first, *others = zip(cells, widths, strict=True)
    return [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]


def _problems(case: dict[str, Any]) -> list[str]:
    many = len(case["attempts"]) > 1
    return [
        f"  {made['outcome']}{f' ({number})' if many else ''}: {one_line(problem)}"
        for number, made in enumerate(case["attempts"], 1)
        if made["outcome"] != "pass"
        for problem in made["problems"]
    ]


def _sum(found: dict[str, Any]) -> str:
    errors = f", {found['errors']} could not be judged" if found["errors"] else ""
    rate = "" if found["rate"] is None else f" ({found['rate']:.0%})"
    return f"passed {found['passed']} of {found['judged']}{rate}{errors}"
