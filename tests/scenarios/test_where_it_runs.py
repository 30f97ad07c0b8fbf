"""Loops, threads, forks and notebooks: it works, or it says at once what to do (D72)."""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from freezegun import freeze_time

from agentflow import InvalidInput, Runtime, ScriptedModel, run_turn, with_runtime
from tests.guards.source import ROOT

AGENT = "version: 1\nname: test\nmodel: scripted/model.yaml\nprompt: You are under test.\n"
SCRIPT = "replies:\n  - {text: ok, repeat: true}\n"
HELLO = {"type": "client.message", "agent_id": "test", "message": {"role": "user", "content": "hi"}}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "agents" / "test" / "scripted"
    folder.mkdir(parents=True)
    (folder.parent / "agent.yaml").write_text(AGENT)
    (folder / "model.yaml").write_text(SCRIPT)
    return tmp_path


@pytest.fixture
def runtime(project: Path) -> Iterator[Runtime]:
    """Opened outside of any loop; whoever uses it first has it."""
    opened = Runtime.open(project, db=f"sqlite:///{project / 'agentflow.db'}")
    yield opened
    asyncio.run(opened.close())


@pytest.fixture
def owner(runtime: Runtime) -> Iterator[asyncio.AbstractEventLoop]:
    """The runtime's own loop, which runs on another thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(runtime.run("s-1", "test", "hi"), loop).result()
    yield loop
    asyncio.run_coroutine_threadsafe(runtime.close(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


async def _events(runtime: Runtime) -> list[str]:
    return [event.type async for event in runtime.events("s-1", follow=True)]


USES: dict[str, Callable[[Runtime], Awaitable[Any]]] = {
    "run": lambda runtime: runtime.run("s-1", "test", "hi"),
    "submit": lambda runtime: runtime.submit("s-1", HELLO),
    "stop": lambda runtime: runtime.stop("s-1"),
    "status": lambda runtime: runtime.status("s-1"),
    "session": lambda runtime: runtime.session("s-1"),
    "sessions": lambda runtime: runtime.sessions(),
    "tree": lambda runtime: runtime.tree("s-1"),
    "trace": lambda runtime: runtime.trace("s-1"),
    "events": _events,
    "run_queue": lambda runtime: runtime.run_queue("s-1"),
    "checkout": lambda runtime: runtime.checkout("s-1", "m"),
    "settle": lambda runtime: runtime.settle("s-1", "c"),
    "answer": lambda runtime: runtime.answer("s-1", text="yes"),
    "delete": lambda runtime: runtime.delete("s-1"),
}


async def awaited(work: Awaitable[Any]) -> Any:
    return await work


@pytest.mark.usefixtures("owner")
@pytest.mark.parametrize("use", USES)
def test_a_runtime_that_another_threads_loop_has_says_so_whatever_is_asked(runtime: Runtime, use: str) -> None:
    """D72: nothing hangs."""
    with pytest.raises(InvalidInput, match=r"another event loop.*run_coroutine_threadsafe"):
        asyncio.run(awaited(USES[use](runtime)))


def test_what_the_error_advises_works(runtime: Runtime, owner: asyncio.AbstractEventLoop) -> None:
    """D72"""
    with ThreadPoolExecutor(4) as threads:
        asked = [
            threads.submit(
                lambda n=n: asyncio.run_coroutine_threadsafe(runtime.run(f"t-{n}", "test", "hi"), owner).result()
            )
            for n in range(4)
        ]
    assert [each.result().answer for each in asked] == ["ok"] * 4


def test_the_result_of_a_turn_that_runs_is_not_waited_for_in_another_loop(project: Path) -> None:
    """D72: its task lives where the turn was submitted."""
    asked = threading.Event()
    go_on = asyncio.Event()

    async def wait(request: Any) -> dict[str, str]:
        asked.set()
        await go_on.wait()
        return {"text": "ok"}

    async def both(runtime: Runtime) -> None:
        receipt = await runtime.submit("s-1", HELLO)
        await asyncio.to_thread(asked.wait)
        with pytest.raises(InvalidInput, match="another event loop"):
            await asyncio.to_thread(asyncio.run, runtime.result("s-1", receipt.turn_id))
        go_on.set()
        assert (await runtime.result("s-1", receipt.turn_id)).answer == "ok"

    async def opened() -> None:
        model = ScriptedModel(wait)
        async with Runtime.open(project, db=str(project / "a.db"), open_model=lambda *_: model) as runtime:
            await both(runtime)

    asyncio.run(opened())


def test_a_runtime_goes_on_in_the_next_loop_when_its_own_is_closed(runtime: Runtime) -> None:
    for _ in range(3):
        assert asyncio.run(runtime.run("s-1", "test", "hi")).answer == "ok"
    assert asyncio.run(runtime.session("s-1"))["totals"]["turns"] == 3


def test_several_runtimes_work_in_one_loop(project: Path) -> None:
    async def work() -> list[str | None]:
        async with (
            Runtime.open(project, db=str(project / "a.db")) as first,
            Runtime.open(project, db=str(project / "a.db")) as second,
            Runtime.open(project, db=str(project / "b.db")) as third,
        ):
            results = await asyncio.gather(
                *(runtime.run(f"s-{number}", "test", "hi") for number in range(5) for runtime in (first, third)),
                *(second.run(f"t-{number}", "test", "hi") for number in range(5)),
            )
            return [result.answer for result in results]

    assert asyncio.run(work()) == ["ok"] * 15


def test_turns_run_from_several_threads_at_once_each_in_a_loop_of_its_own(project: Path) -> None:
    db = str(project / "a.db")
    with ThreadPoolExecutor(6) as threads:
        results = list(
            threads.map(lambda n: run_turn("test", "hi", session=f"s-{n}", project=project, db=db), range(12))
        )
    assert [result.answer for result in results] == ["ok"] * 12
    assert with_runtime(lambda runtime: _count(runtime), project, db=db) == 12


async def _count(runtime: Runtime) -> int:
    return len(await runtime.sessions())


# -- notebooks ---------------------------------------------------------------------------------------------------------

CELLS = (
    "from agentflow import Runtime, run_turn",
    "runtime = Runtime.open(project, db=db)",
    "try:\n    run_turn('test', 'hi', project=project, db=db)\nexcept Exception as error:\n    told = str(error)",
    "result = await runtime.run('s-1', 'test', 'hi')",
    "receipt = await runtime.submit('s-1', hello)",
    "again = await runtime.result('s-1', receipt.turn_id)",
    "types = [event.type async for event in runtime.events('s-1', turn_id=receipt.turn_id)]",
    "await runtime.close()",
)


def test_a_notebook_keeps_a_runtime_over_its_cells(project: Path) -> None:
    """D72: each cell is code with `await` at its top, and the loop runs on between them."""
    seen: dict[str, Any] = {"project": project, "db": str(project / "a.db"), "hello": HELLO}

    async def notebook() -> None:
        for cell in CELLS:
            done = eval(compile(cell, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), seen)
            if inspect.iscoroutine(done):
                await asyncio.get_running_loop().create_task(done)

    asyncio.run(notebook())
    assert "await runtime.run" in seen["told"]
    assert (seen["result"].answer, seen["again"].answer, seen["types"][-1]) == ("ok", "ok", "done")


# -- forks -------------------------------------------------------------------------------------------------------------

FORK = """
import asyncio, os, sys
from agentflow import InvalidInput, Runtime

runtime = Runtime.open(sys.argv[1], db=sys.argv[1] + "/agentflow.db")
{before}
child = os.fork()
if child == 0:
    try:
        answer = asyncio.run(runtime.run("s-1", "test", "hi")).answer
        asyncio.run(runtime.close())
    except InvalidInput as error:
        answer = f"{{error.code}}: {{error}} {{sorted(error.detail.items())}}"
    print(answer, flush=True)
    os._exit(0)
os.waitpid(child, 0)
{after}
asyncio.run(runtime.close())
print(os.getpid(), child)
"""
USED = 'print(asyncio.run(runtime.run("s-1", "test", "hi")).answer, flush=True)'


def forked(project: Path, *, before: str = "", after: str = "") -> list[str]:
    """What a process that forks prints, and its child; the last line has the numbers of both."""
    script = FORK.format(before=before, after=after)
    done = subprocess.run(
        [sys.executable, "-c", script, str(project)],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@needs_fork
def test_a_runtime_used_before_a_fork_names_both_processes_in_the_child_and_goes_on_in_the_parent(
    project: Path,
) -> None:
    """D72"""
    first, told, again, numbers = forked(project, before=USED, after=USED)
    parent, child = numbers.split()
    assert (first, again) == ("ok", "ok")
    assert told.startswith("invalid_input: This runtime works in process ")
    assert f"process {parent}, and this is process {child}" in told
    assert f"('own_process', {parent})" in told


@needs_fork
def test_a_runtime_opened_before_a_fork_and_first_used_in_the_child_works(project: Path) -> None:
    answer, _ = forked(project)
    assert answer == "ok"


@needs_fork
def test_parent_and_child_may_each_use_what_was_opened_before_the_fork(project: Path) -> None:
    child, parent, _ = forked(project, after=USED)
    assert (child, parent) == ("ok", "ok")


@needs_fork
def test_turns_of_a_child_are_the_childs_own(project: Path) -> None:
    """T27: the owner of a turn is who runs it, not who opened the runtime before the fork."""
    told = 'print(runtime._turns._owner.text.split("|")[3])'
    script = FORK.format(before="", after="").replace("print(answer, flush=True)", f"{told}; sys.stdout.flush()")
    done = subprocess.run(
        [sys.executable, "-c", script, str(project)],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    owner, numbers = done.stdout.splitlines()
    assert owner == numbers.split()[1]


# -- time that stands still --------------------------------------------------------------------------------------------


def test_a_plain_freeze_time_is_told_how_to_do_it_right(project: Path) -> None:
    """T38: the loop's clock would stand still too, and nothing that waits would go on."""
    with freeze_time("2030-01-01"), pytest.raises(InvalidInput, match=r"real_asyncio=True.*agentflow\.advance"):
        run_turn("test", "hi", project=project, db=str(project / "a.db"))


def test_a_freeze_that_begins_inside_the_loop_is_told_too(runtime: Runtime) -> None:
    async def work() -> None:
        await runtime.run("s-1", "test", "hi")
        with freeze_time("2030-01-01"), pytest.raises(InvalidInput, match="real_asyncio=True"):
            await runtime.run("s-1", "test", "hi")

    asyncio.run(work())


@pytest.mark.parametrize("options", [{"real_asyncio": True}, {"tick": True}, {"auto_tick_seconds": 1}])
def test_a_freeze_that_lets_the_loop_go_on_is_left_alone(project: Path, options: dict[str, Any]) -> None:
    with freeze_time("2030-01-01", **options):
        assert run_turn("test", "hi", project=project, db=str(project / "a.db")).answer == "ok"
