"""A process that is there to be killed: `python -m tests.scenarios.crash.program`.

Reads one order a line from its input, `{kind, commit, project, db, session}`, and performs each in a process of its
own, forked so that nothing is imported twice. That one kills itself right after the given commit of the kind's last
part. Writes a line for each: `killed`, `whole` when it had no such commit, or the traceback.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from agentflow import Runtime, ScriptedModel
from agentflow.turn.calls import model_stream
from tests.scenarios.crash.project import flows, replies, write

_HANGS_SECS = 30

Part = Callable[[Runtime, str], Awaitable[Any]]


class Kind(NamedTuple):
    """A kind of turn: what comes before, and the part that is killed. `ends` is the session's status after all of it.

    `marks` is what the tools did then.
    """

    part: Part
    before: Part | None = None
    ends: str = "idle"
    marks: str = ""


def message(text: str, agent: str = "worker", **fields: Any) -> dict[str, Any]:
    return {"type": "client.message", "agent_id": agent, "message": {"role": "user", "content": text}, **fields}


def says(text: str, agent: str = "worker") -> Part:
    return lambda runtime, session: runtime.run(session, agent, text)


async def _answers(runtime: Runtime, session: str) -> None:
    receipt = await runtime.answer(session, text="here")
    await runtime.result(session, receipt.turn_id)


async def _stops(runtime: Runtime, session: str) -> None:
    await runtime.stop(session)


async def _until(runtime: Runtime, session: str, turn_id: str, *types: str) -> None:
    waited = list(types)
    async for event in runtime.events(session, turn_id=turn_id):
        if waited and event.type == waited[0]:
            waited.pop(0)
        if not waited:
            return


def _stopped(text: str, *types: str) -> Part:
    """A turn that is stopped once these events have been told."""

    async def part(runtime: Runtime, session: str) -> None:
        receipt = await runtime.submit(session, message(text))
        await _until(runtime, session, receipt.turn_id, *types)
        await runtime.stop(session)

    return part


def _queued(queue: bool | str) -> Part:
    """Two more requests while the first one runs its tools."""

    async def part(runtime: Runtime, session: str) -> None:
        await runtime.submit(session, message("tools"))
        receipts = [await runtime.submit(session, message("hello", queue=queue)) for _ in range(2)]
        await runtime.result(session, receipts[-1].turn_id)

    return part


async def _interrupts(runtime: Runtime, session: str) -> None:
    first = await runtime.submit(session, message("wait"))
    await _until(runtime, session, first.turn_id, "tool.call.completed")
    second = await runtime.submit(session, message("hello", interrupt=True))
    await runtime.result(session, second.turn_id)


async def _regenerates(runtime: Runtime, session: str) -> None:
    view = (await runtime.session(session))["messages"]
    asked = max(number for number, each in enumerate(view) if each["role"] == "user")
    receipt = await runtime.submit(session, {"type": "client.messages", "messages": view[: asked + 1]})
    await runtime.result(session, receipt.turn_id)


async def _much(runtime: Runtime, session: str) -> None:
    for number in range(3):
        await runtime.run(session, "full", f"{number} " + "word " * 40)


KINDS: dict[str, Kind] = {
    "plain": Kind(says("hello")),
    "second": Kind(says("hello"), says("tools"), marks="abc"),
    "parallel tools": Kind(says("tools"), marks="abc"),
    "one tool after the other": Kind(says("tools", "one-by-one"), marks="abc"),
    "streaming": Kind(says("stream")),
    "paused": Kind(says("ask"), ends="paused_ask_user", marks="a"),
    "resumed": Kind(_answers, says("ask"), marks="ab"),
    "stopped in its tools": Kind(_stopped("wait", "tool.call.completed"), marks="a"),
    "stopped in its stream": Kind(_stopped("hang", "llm.delta", "llm.delta")),
    "stopped while paused": Kind(_stops, says("ask"), marks="a"),
    "queued": Kind(_queued(True), marks="abc"),
    "merged": Kind(_queued("merge"), marks="abc"),
    "interrupted": Kind(_interrupts, marks="a"),
    "regenerated": Kind(_regenerates, says("hello")),
    "planned": Kind(says("tools", "planned"), marks="abc"),
    "hooked": Kind(says("tools", "hooked"), marks="abc"),
    "compacted": Kind(says("tools", "full"), _much, marks="abc"),
    "task": Kind(says("task", "chief"), marks="abcd"),
    "handed over and paused": Kind(says("delegate", "chief"), ends="paused_ask_user", marks="a"),
    "handed over and resumed": Kind(_answers, says("delegate", "chief"), marks="ab"),
}


def opened(project: Path, db: str, on_commit: Callable[[int], None] | None = None) -> Runtime:
    return Runtime.open(
        project, db=db, on_commit=on_commit, flows=flows(project), open_model=lambda *_: ScriptedModel(replies)
    )


async def _perform(kind: Kind, commit: int, project: Path, db: str, session: str) -> None:
    def killing(number: int) -> None:
        if number == commit:
            os.kill(os.getpid(), signal.SIGKILL)

    if kind.before is not None:
        async with opened(project, db) as runtime:
            await kind.before(runtime, session)
    async with opened(project, db, killing) as runtime:
        await kind.part(runtime, session)


def _child(order: dict[str, Any], told: int) -> None:
    """Never returns."""
    os.dup2(told, 2)
    signal.alarm(_HANGS_SECS)
    logging.disable()
    code = 1
    try:
        model_stream.CHECKPOINT_SECS = 0.0
        asyncio.run(
            _perform(
                KINDS[order["kind"]], order["commit"], Path(order["project"]), order["db"], order["session"]
            )
        )  # fmt: skip
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _outcome(order: dict[str, Any]) -> str:
    with tempfile.TemporaryFile() as told:
        pid = os.fork()
        if pid == 0:
            _child(order, told.fileno())
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            return "killed"
        told.seek(0)
        return told.read().decode() or ("whole" if status == 0 else f"status {status}")


def _import_everything() -> None:
    """Run a turn, so that each forked process finds its modules loaded."""
    import jsonschema  # noqa: F401

    with contextlib.suppress(ImportError):
        import psycopg  # noqa: F401
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))

        async def turn() -> None:
            async with opened(Path(folder), "sqlite://") as runtime:
                await runtime.run("s-1", "worker", "hello")

        asyncio.run(turn())


def main() -> None:
    _import_everything()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_outcome(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
