"""A tool call in three steps: prepare (find, parse, check), execute (time-limited, isolated), finalize (cut).

What runs an author's code belongs to `execute`: the validators of a parameter's type and the iterator a flow returns
run on the flow's thread and inside its time, like the flow.

Nothing a model sends and nothing a flow does leaves here as an exception: it becomes an error result (T13, T14).
"""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, TypeVar

from agentflow.media.files import kept
from agentflow.message import ToolCall
from agentflow.text import LONG_TEXT, cut_middle, preview
from agentflow.tools.arguments import parse_arguments, refusal
from agentflow.tools.flows.context import Attachments, FlowContext
from agentflow.tools.flows.library import Flow
from agentflow.tools.flows.threads import FLOW_THREADS
from agentflow.tools.results import ToolResult, failure, refused, success
from agentflow.tools.tool import Tool

T = TypeVar("T")

_TIMEOUT = "timeout"
_LONG = 20_000
"""Characters of arguments: checking as many takes some milliseconds."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that may run, its arguments as JSON; `values` are given where they are the function's own types already.

    `altered` says that sanitising changed the arguments (T43).
    """

    call: ToolCall
    tool: Tool
    arguments: dict[str, Any]
    values: dict[str, Any] | None = None
    altered: bool = False


def prepare(call: ToolCall, tools: Mapping[str, Tool]) -> Prepared | ToolResult:
    """The call ready to run, or the error result that stands for it (T13)."""
    tool = tools.get(call.name)
    if tool is None:
        return _no_such_tool(call.name, tools)
    try:
        arguments, altered = parse_arguments(call.arguments)
    except ValueError as error:
        return _refused_arguments(tool, str(error), call.arguments)
    return prepare_with(call, tool, arguments, altered=altered)


def prepare_with(
    call: ToolCall, tool: Tool, arguments: dict[str, Any], *, altered: bool = False
) -> Prepared | ToolResult:
    """The same for arguments that are an object already, such as those a hook changed (T36)."""
    try:
        complaint = tool.complaint(arguments)
    except Exception as error:  # the schema is made of the author's types: a pattern, a reference, its depth
        complaint = f"they could not be checked: {_named(error)}"
    if complaint is not None:
        return _refused_arguments(tool, complaint, json.dumps(arguments, ensure_ascii=False))
    return Prepared(call, tool, arguments, altered=altered)


async def prepare_apart(call: ToolCall, tools: Mapping[str, Tool]) -> Prepared | ToolResult:
    """The same for arguments that are `long`: checked on a thread, inside the tool's time (T14)."""
    tool = tools.get(call.name)
    if tool is None:
        return _no_such_tool(call.name, tools)
    return await _apart(tool, call.arguments, lambda: prepare(call, tools))


async def change(prepared: Prepared, arguments: dict[str, Any]) -> Prepared | ToolResult:
    """The call with the arguments that a hook gives it instead; long ones are checked apart too (T14, T36)."""
    call, tool = prepared.call, prepared.tool
    given = json.dumps(arguments, ensure_ascii=False)
    if len(given) <= _LONG:
        return prepare_with(call, tool, arguments)
    return await _apart(tool, given, lambda: prepare_with(call, tool, arguments))


async def _apart(tool: Tool, given: str, check: Callable[[], Prepared | ToolResult]) -> Prepared | ToolResult:
    try:
        async with asyncio.timeout(tool.timeout_secs or None):
            return await on_a_thread(asyncio.get_running_loop(), check)
    except TimeoutError:
        return _refused_arguments(tool, f"they could not be checked within {tool.timeout_secs:g} seconds", given)


def is_long(call: ToolCall) -> bool:
    """Whether checking the arguments takes so long that others would wait for it."""
    return len(call.arguments) > _LONG


def _no_such_tool(name: str, tools: Mapping[str, Tool]) -> ToolResult:
    close = get_close_matches(name, tools, 1)
    said = f"there is no tool '{preview(name, 100)}'" if name else "the call names no tool"
    meant = f", did you mean '{close[0]}'?" if close else "."
    return refused(f"{said}{meant} Tools: {', '.join(tools) or 'none'}.", "unknown_tool")


def _refused_arguments(tool: Tool, complaint: str, given: str) -> ToolResult:
    text = refusal(tool.name, complaint, given, tool.parameters)
    return ToolResult(False, text, error_code="invalid_arguments")


class _Run:
    """What one execution and its flow share: where the result goes, and whether anybody still waits for it."""

    __slots__ = ("abandoned", "future", "loop")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[ToolResult] = self.loop.create_future()
        self.abandoned = False

    def settle(self, result: ToolResult) -> None:
        """The first result counts; a late one is dropped (T23)."""
        if not self.future.done():
            self.future.set_result(result)

    def settle_from_thread(self, result: ToolResult) -> None:
        try:
            self.loop.call_soon_threadsafe(self.settle, result)
        except RuntimeError:  # the loop was closed meanwhile: nobody waits
            self.abandoned = True


async def execute(prepared: Prepared, context: FlowContext) -> ToolResult:
    """Run the flow of a prepared call; its result, or what it failed with, uncut (`finalize`).

    Contract: raises nothing but its own cancellation, which cancels an async flow and leaves a sync one alone;
    what either still returns is dropped. A sync flow runs on a daemon thread, an async one on the loop as its own
    task, both with the caller's context variables; `context.cancelled()` turns true when nobody waits any more.
    """
    flow, seconds = prepared.tool.flow, prepared.tool.timeout_secs
    if flow is None:
        raise ValueError(f"'{prepared.tool.name}' is a built-in, it has no flow to execute")
    run = _Run()
    cancel = (_start_task if flow.is_async else _start_thread)(flow, prepared, context, run)
    timer = run.loop.call_later(seconds, _time_out, run, prepared.tool) if seconds else None
    finished = False
    try:
        result = await run.future
        finished = result.error_code != _TIMEOUT
        return result
    finally:
        if timer is not None:
            timer.cancel()
        if not finished:
            run.abandoned = True
            cancel()


async def with_attached(result: ToolResult, attached: Attachments) -> ToolResult:
    """The result with the files that its flow attached up to now, read on a thread; what a late one still attaches is
    dropped (W4).
    """
    if not (given := tuple(attached.given)):
        return result
    read = await on_a_thread(asyncio.get_running_loop(), lambda: [kept(*each) for each in given])
    return replace(
        result, parts=tuple(part for part, _ in read), files=tuple(file for _, file in read if file is not None)
    )


def _time_out(run: _Run, tool: Tool) -> None:
    sentence = f"'{tool.name}' did not finish within {tool.timeout_secs:g} seconds; it may still have had its effect"
    run.settle(refused(sentence, _TIMEOUT))


class _Unfit(Exception):
    """Arguments that match the schema and do not become the function's own types; the message says why."""


def _values(flow: Flow, prepared: Prepared, context: FlowContext, run: _Run) -> dict[str, Any]:
    """What the function is called with: its own types, and the context where it asks for it."""
    values = prepared.values
    if values is None:
        try:
            values = flow.signature.convert(prepared.arguments)
        except ValueError as error:
            raise _Unfit(str(error)) from None
        except BaseException as error:  # a validator is the author's code: it may raise anything, or exit
            raise _Unfit(f"preparing them failed: {_named(error)}") from error
    if flow.context is None:
        return values
    stopped = context.cancelled
    return {**values, flow.context: replace(context, cancelled=lambda: run.abandoned or stopped())}


_abandoned_tasks: set[asyncio.Task[None]] = set()  # the loop itself holds its tasks only weakly


def _start_task(flow: Flow, prepared: Prepared, context: FlowContext, run: _Run) -> Callable[[], object]:
    task = run.loop.create_task(_perform_async(flow, prepared, context, run))

    def cancel() -> None:
        _abandoned_tasks.add(task)
        task.add_done_callback(_abandoned_tasks.discard)
        task.cancel()

    return cancel


async def _perform_async(flow: Flow, prepared: Prepared, context: FlowContext, run: _Run) -> None:
    """Every exception ends here: one that left a task as SystemExit or KeyboardInterrupt would stop the loop."""
    try:
        if prepared.arguments and prepared.values is None:
            values = await on_a_thread(run.loop, lambda: _values(flow, prepared, context, run))
        else:
            values = _values(flow, prepared, context, run)
        returned = flow.function(**values)
        value = await returned if isinstance(returned, Awaitable) else returned
        is_short = value is None or isinstance(value, int | float)
        is_short |= isinstance(value, str) and len(value) <= LONG_TEXT
        result = success(value) if is_short else await on_a_thread(run.loop, lambda: success(value))
    except BaseException as error:
        result = _failed(flow, prepared, error, context, run)
    run.settle(result)


async def on_a_thread(loop: asyncio.AbstractEventLoop, work: Callable[[], T]) -> T:
    """What the work returns or raises, done on one of the flows' threads."""
    future: asyncio.Future[T] = loop.create_future()
    variables = contextvars.copy_context()

    def tell(settle: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits
            loop.call_soon_threadsafe(lambda: None if future.done() else settle())

    def job() -> None:
        try:
            done = variables.run(work)
        except BaseException as error:
            can_be_raised = isinstance(error, Exception) and not isinstance(error, StopIteration)
            failed = error if can_be_raised else RuntimeError(_named(error))
            tell(lambda: future.set_exception(failed))
        else:
            tell(lambda: future.set_result(done))

    FLOW_THREADS.run(job)
    return await future


def _start_thread(flow: Flow, prepared: Prepared, context: FlowContext, run: _Run) -> Callable[[], object]:
    variables = contextvars.copy_context()

    def perform() -> ToolResult:
        return success(flow.function(**_values(flow, prepared, context, run)))

    def job() -> None:
        try:
            result = variables.run(perform)
        except BaseException as error:
            result = _failed(flow, prepared, error, context, run)
        run.settle_from_thread(result)

    FLOW_THREADS.run(job)
    return lambda: None


def _failed(flow: Flow, prepared: Prepared, error: BaseException, context: FlowContext, run: _Run) -> ToolResult:
    if isinstance(error, _Unfit):
        return _refused_arguments(prepared.tool, str(error), json.dumps(prepared.arguments, ensure_ascii=False))
    if not run.abandoned:
        context.logger.warning("flow %s (%s) failed", flow.name, flow.where, exc_info=error)
    return failure(error)


def _named(error: BaseException) -> str:
    """An exception by its type and message; the class may be the author's, and fail to say what it is."""
    return failure(error).text.removeprefix("Error: ")


def finalize(result: ToolResult, tool: Tool) -> ToolResult:
    """The result with its text cut to the tool's `max_result_chars`, the whole text kept for the trace in `full`."""
    text = cut_middle(result.text, tool.max_result_chars)
    return result if text == result.text else replace(result, text=text, full=result.text)
