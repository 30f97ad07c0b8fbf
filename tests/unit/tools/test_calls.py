"""Tool calls: T13 (arguments), T14 (isolation), T23 (threads, late results), T43 and B18 (bounds), B07, B38, B42."""

from __future__ import annotations

import asyncio
import contextvars
import datetime
import gc
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from agentflow.message import ToolCall
from agentflow.tools.calls import Prepared, _Run, execute, finalize, prepare, prepare_with
from agentflow.tools.flows.context import FlowContext
from agentflow.tools.flows.library import make_flow
from agentflow.tools.results import ToolResult, success
from agentflow.tools.tool import ASK_USER_TOOL, Tool, tool_of


def add(a: int, b: int = 2) -> int:
    return a + b


def as_tool(function: Callable[..., Any], **limits: Any) -> Tool:
    return tool_of(make_flow(function, "flow"), **limits)


def ready(function: Callable[..., Any], arguments: str = "", **limits: Any) -> Prepared:
    prepared = prepare(ToolCall("c1", "flow", arguments), {"flow": as_tool(function, **limits)})
    assert isinstance(prepared, Prepared)
    return prepared


def run(
    function: Callable[..., Any], arguments: str = "", *, context: FlowContext | None = None, **limits: Any
) -> ToolResult:
    return asyncio.run(execute(ready(function, arguments, **limits), context or FlowContext()))


def refused(arguments: str, name: str = "add") -> ToolResult:
    result = prepare(ToolCall("c1", name, arguments), {"add": tool_of(make_flow(add)), "ask_user": ASK_USER_TOOL})
    assert isinstance(result, ToolResult)
    assert not result.ok
    return result


@pytest.mark.parametrize(
    ("name", "said"), [("ad", "no tool 'ad', did you mean 'add'?"), ("", "the call names no tool.")]
)
def test_an_unknown_tool_is_an_error_result_naming_the_known(name: str, said: str) -> None:
    result = refused("{}", name)
    assert result.error_code == "unknown_tool"
    assert said in result.text
    assert "Tools: add, ask_user." in result.text


@pytest.mark.parametrize(
    "arguments",
    [
        '{"a": 1',
        '{"a":1}{"a":2}',
        "null",
        "[]",
        '"x"',
        "42",
        "",
        "{}",
        '{"a":NaN}',
        '{"a":1,"a":2}',
        "x" * 2_000_000,
        "{'a': 1}",
        '{"a": "1"}',
        '{"a": 1, "c": 2}',
        '{"a": true}',
    ],
)
def test_arguments_that_do_not_fit_give_a_bounded_error_result(arguments: str) -> None:
    """B42; here `''`, `null` and `{}` are refused only because `a` is required."""
    result = refused(arguments)
    assert result.error_code == "invalid_arguments"
    assert "Parameters: a (integer, required), b (integer, optional)" in result.text
    assert len(result.text) < 1_500


@pytest.mark.parametrize("arguments", ["", "null", "{}"])
def test_no_arguments_are_fine_where_none_are_needed(arguments: str) -> None:
    assert run(lambda: "ran", arguments).text == "ran"


def test_a_value_that_fits_the_schema_but_not_the_type_does_not_run() -> None:
    def plan(day: datetime.date) -> None: ...

    result = asyncio.run(execute(ready(plan, '{"day": "someday"}'), FlowContext()))
    assert result.error_code == "invalid_arguments"
    assert "day: Input should be a valid date" in result.text


def test_a_flow_gets_its_own_types_and_the_trace_the_json() -> None:
    def plan(day: datetime.date) -> str:
        return f"{day:%d.%m.%Y}"

    prepared = ready(plan, '{"day": "2026-05-06"}')
    assert prepared.arguments == {"day": "2026-05-06"}
    assert asyncio.run(execute(prepared, FlowContext())).text == "06.05.2026"


def test_changed_arguments_are_checked_like_the_first() -> None:
    """T36: `pre_tool` may change the arguments."""
    prepared = ready(add, '{"a": 1}')
    changed = prepare_with(prepared.call, prepared.tool, {"a": 5})
    assert isinstance(changed, Prepared)
    assert changed.arguments == {"a": 5}
    assert isinstance(prepare_with(prepared.call, prepared.tool, {"a": "x"}), ToolResult)


def test_sanitised_arguments_are_marked() -> None:
    """B38."""

    def echo(text: str) -> str:
        return text

    assert ready(echo, '{"text": "a\\u0000b"}').altered
    assert run(echo, '{"text": "a\\u0000b"}') == ToolResult(True, "ab")


def test_a_built_in_is_prepared_but_never_executed_here() -> None:
    question = '{"questions": [{"header": "Plan", "question": "Which?"}]}'
    prepared = prepare(ToolCall("c", "ask_user", question), {"ask_user": ASK_USER_TOOL})
    assert isinstance(prepared, Prepared)
    with pytest.raises(ValueError, match="built-in"):
        asyncio.run(execute(prepared, FlowContext()))


def sync_flow(outcome: Any) -> Callable[[], Any]:
    def function() -> Any:
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    return function


def async_flow(outcome: Any) -> Callable[[], Any]:
    async def function() -> Any:
        await asyncio.sleep(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    return function


COLOURS = pytest.mark.parametrize("colour", [sync_flow, async_flow])


@COLOURS
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no"), "Error: ValueError: no"),
        (SystemExit(1), "Error: SystemExit: 1"),
        (KeyboardInterrupt(), "Error: KeyboardInterrupt"),
        (GeneratorExit(), "Error: GeneratorExit"),
        (asyncio.CancelledError(), "Error: CancelledError"),
        (TimeoutError("upstream"), "Error: TimeoutError: upstream"),
        (MemoryError(), "Error: MemoryError"),
    ],
)
def test_every_exception_of_a_flow_becomes_its_own_error_result(
    colour: Callable[[Any], Callable[[], Any]], error: BaseException, text: str
) -> None:
    """B07: one exception, one error result; the process and the loop live on."""
    assert run(colour(error)) == ToolResult(False, text, error_code="tool_failed")


@COLOURS
def test_siblings_of_a_failing_call_keep_their_results(colour: Callable[[Any], Callable[[], Any]]) -> None:
    """B07, as it was reported: four parallel calls, three of which fail in different ways."""

    async def four() -> list[ToolResult]:
        outcomes = ["ok", ValueError("bad"), asyncio.CancelledError(), SystemExit(1)]
        calls = [execute(ready(colour(outcome)), FlowContext()) for outcome in outcomes]
        return await asyncio.gather(*calls)

    results = asyncio.run(four())
    assert [result.ok for result in results] == [True, False, False, False]
    assert [result.text for result in results][1:] == [
        "Error: ValueError: bad",
        "Error: CancelledError",
        "Error: SystemExit: 1",
    ]


@COLOURS
def test_endless_recursion_is_an_error_result(colour: Callable[[Any], Callable[[], Any]]) -> None:
    def dive() -> int:
        return dive() + 1

    async def async_dive() -> int:
        return dive()

    assert run(dive if colour is sync_flow else async_dive).text.startswith("Error: RecursionError")


@COLOURS
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ToolResult(True, "")),
        ({"b": 1}, ToolResult(True, '{"b":1}')),
        ("a\x00b", ToolResult(True, "ab", altered=True)),
        (
            b"x",
            ToolResult(
                False,
                "Error: the flow returned 1 bytes; a flow returns text or JSON values",
                error_code="unreadable_result",
            ),
        ),
    ],
)
def test_a_returned_value_becomes_text(
    colour: Callable[[Any], Callable[[], Any]], value: object, expected: ToolResult
) -> None:
    assert run(colour(value)) == expected


@COLOURS
def test_the_traceback_goes_to_the_log_and_not_to_the_model(
    colour: Callable[[Any], Callable[[], Any]], caplog: pytest.LogCaptureFixture
) -> None:
    result = run(colour(ValueError("no")), context=FlowContext(logger=logging.getLogger("mine")))
    assert "Traceback" not in result.text
    (record,) = caplog.records
    assert record.name == "mine"
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ValueError)


def test_a_sync_flow_runs_on_a_daemon_thread_and_an_async_one_on_the_loop() -> None:
    def sync() -> bool:
        return threading.current_thread() is not threading.main_thread() and threading.current_thread().daemon

    async def asynchronous() -> bool:
        return threading.current_thread() is threading.main_thread()

    assert run(sync).text == "true"
    assert run(asynchronous).text == "true"


REQUEST: contextvars.ContextVar[str] = contextvars.ContextVar("REQUEST", default="none")


@COLOURS
def test_context_variables_are_copied_in_and_do_not_leak_out(colour: Callable[[Any], Callable[[], Any]]) -> None:
    def sync() -> str:
        seen = REQUEST.get()
        REQUEST.set("changed")
        return seen

    async def asynchronous() -> str:
        return sync()

    async def turn() -> tuple[str, str]:
        REQUEST.set("r-1")
        result = await execute(ready(sync if colour is sync_flow else asynchronous), FlowContext())
        return result.text, REQUEST.get()

    assert asyncio.run(turn()) == ("r-1", "r-1")


def test_the_context_is_injected_where_it_is_asked_for() -> None:
    def whoami(greeting: str, ctx: FlowContext) -> str:
        return f"{greeting} {ctx.session_id} {ctx.idempotency_key}"

    context = FlowContext(session_id="s", turn_id="t", call_id="c")
    assert run(whoami, '{"greeting": "hi"}', context=context).text == "hi s s/t/c"


@dataclass
class Hanging:
    """A flow that waits until it is released, in either colour, and tells what became of it."""

    is_async: bool

    def __post_init__(self) -> None:
        self.started, self.release, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.saw_cancelled = False

    def flow(self) -> Callable[..., Any]:
        def sync(ctx: FlowContext) -> str:
            self.started.set()
            self.release.wait()
            self.saw_cancelled = ctx.cancelled()
            self.ended.set()
            return "late"

        async def asynchronous(ctx: FlowContext) -> str:
            self.started.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.saw_cancelled = ctx.cancelled()
                self.ended.set()
            return "late"

        return asynchronous if self.is_async else sync


@pytest.mark.parametrize("is_async", [False, True])
def test_a_flow_over_its_time_is_an_error_result_and_its_late_result_is_dropped(is_async: bool) -> None:
    hanging = Hanging(is_async)

    async def turn() -> ToolResult:
        result = await execute(ready(hanging.flow(), timeout_secs=0.01), FlowContext())
        hanging.release.set()
        await asyncio.to_thread(hanging.ended.wait)
        await asyncio.sleep(0)
        return result

    assert asyncio.run(turn()) == ToolResult(
        False,
        "Error: 'flow' did not finish within 0.01 seconds; it may still have had its effect",
        error_code="timeout",
    )
    assert hanging.saw_cancelled


@pytest.mark.parametrize("is_async", [False, True])
def test_a_stopped_call_is_left_at_once_and_its_flow_can_notice(is_async: bool) -> None:
    """T23: async tools are cancelled; a sync one is abandoned."""
    hanging = Hanging(is_async)

    async def turn() -> None:
        call = asyncio.create_task(execute(ready(hanging.flow()), FlowContext()))
        await asyncio.to_thread(hanging.started.wait)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        hanging.release.set()
        await asyncio.to_thread(hanging.ended.wait)

    asyncio.run(turn())
    assert hanging.saw_cancelled


def test_a_cancelled_turn_counts_as_cancelled_inside_the_flow() -> None:
    def ask(ctx: FlowContext) -> bool:
        return ctx.cancelled()

    assert run(ask).text == "false"
    assert run(ask, context=FlowContext(cancelled=lambda: True)).text == "true"


def test_an_async_flow_that_ignores_its_cancellation_does_not_hold_the_turn() -> None:
    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
        return "late"

    assert run(stubborn, timeout_secs=0.01).error_code == "timeout"


def test_an_abandoned_async_flow_is_left_to_end_by_itself() -> None:
    """The loop holds tasks weakly: without a reference of ours a collection would destroy it half-way."""

    async def slow_to_clean_up() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.get_running_loop().create_future()

    async def turn() -> list[dict[str, Any]]:
        complaints: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, complaint: complaints.append(complaint))
        await execute(ready(slow_to_clean_up, timeout_secs=0.01), FlowContext())
        await asyncio.sleep(0)
        gc.collect()
        return complaints

    assert asyncio.run(turn()) == []


def test_the_first_result_counts() -> None:
    """T23: a late one is dropped, also when both reach the loop."""

    async def turn() -> ToolResult:
        race = _Run()
        race.settle(success("first"))
        race.settle(success("late"))
        return await race.future

    assert asyncio.run(turn()).text == "first"


def test_a_result_that_comes_after_the_loop_is_closed_is_harmless() -> None:
    hanging = Hanging(is_async=False)
    assert run(hanging.flow(), timeout_secs=0.01).error_code == "timeout"
    hanging.release.set()
    assert hanging.ended.wait(5)
    assert run(lambda: "fine").text == "fine"


def test_zero_is_no_time_limit() -> None:
    assert run(lambda: "fine", timeout_secs=0).text == "fine"


def test_a_sync_flow_that_returns_an_awaitable_is_told_to_be_async() -> None:
    def forgetful() -> Any:
        return asyncio.sleep(0)

    assert "async def" in run(forgetful).text


def test_a_flow_can_run_a_loop_of_its_own_on_its_thread() -> None:
    async def nested() -> str:
        return "nested"

    def outer() -> str:
        return asyncio.run(nested())

    assert run(outer).text == "nested"


def test_an_over_long_result_is_cut_for_the_model_and_kept_whole_for_the_trace() -> None:
    """B18: head and tail, and a notice with the original size."""
    tool = as_tool(add, max_result_chars=1_000)
    whole = "h" * 2_500_000 + "t" * 2_500_000
    cut = finalize(success(whole), tool)
    assert len(cut.text) == 1_000
    assert "5000000 characters" in cut.text
    assert (cut.text[0], cut.text[-1], cut.full) == ("h", "t", whole)
    assert finalize(success("short"), tool) == ToolResult(True, "short")
    assert finalize(success(whole), as_tool(add, max_result_chars=0)).text == whole


def test_what_starts_runs_exactly_once(tmp_path: Any) -> None:
    """B01: a call that had its effect is never run again by itself, however its turn ends."""
    log, hanging = tmp_path / "marks", Hanging(is_async=False)

    def mark(x: str, ctx: FlowContext) -> str:
        with log.open("a") as file:
            file.write(x)
        return str(hanging.flow()(ctx))

    assert run(mark, '{"x": "A"}', timeout_secs=0.05).error_code == "timeout"
    hanging.release.set()
    assert hanging.ended.wait(5)
    assert log.read_text() == "A"
