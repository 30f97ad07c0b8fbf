"""What a program that embeds agentflow writes, with the types it relies on."""

from __future__ import annotations

from typing import Any, assert_type

import agentflow
from agentflow import (
    AskUserAnswer,
    Client,
    ClientAppend,
    ClientMessage,
    ClientMessages,
    Event,
    FlowContext,
    HeadMove,
    Message,
    ModelError,
    Receipt,
    Runtime,
    TurnNotFound,
    TurnResult,
    TurnState,
    Usage,
    WorkerFailed,
    flow,
    run_turn,
    with_runtime,
)


async def submits_every_input(runtime: Runtime) -> None:
    said = Message("", "user", "hi")
    inputs = (
        ClientMessage(agent_id="support", message=said, queue="merge", client=Client(state={"a": 1}), inputs={"n": 1}),
        ClientAppend(messages=(said, Message("", "assistant", "hello")), record_only=True, turn_id="t-1"),
        ClientMessages(messages=(said,), interrupt=True),
        HeadMove(message_id="m-1"),
        AskUserAnswer(tool_call_id="c-1", answers={"Plan": ["Pro"]}),
    )
    for given in inputs:
        assert_type(await runtime.submit("s-1", given, limits={"max_cost": 1}), Receipt)
    wire = {"type": "client.message", "agent_id": "support", "message": {"role": "user", "content": "hi"}}
    assert_type(await runtime.submit("s-1", wire), Receipt)


async def reads_what_came_of_it(runtime: Runtime, receipt: Receipt) -> str | None:
    async for event in runtime.events("s-1", after_seq=receipt.after_seq, turn_id=receipt.turn_id):
        assert_type(event, Event)
        assert_type(event.seq, int | None)
    try:
        result = await runtime.result("s-1", receipt.turn_id, timeout=5)
    except TurnNotFound as error:
        return error.code
    assert_type(result, TurnResult)
    assert_type(result.usage, Usage)
    assert_type(result.message_id, str | None)
    assert_type(result.truncated, bool)
    if result.state == TurnState.PAUSED_ASK_USER and result.question is not None:
        assert_type(await runtime.answer("s-1", answers={"Plan": ["Pro"]}), Receipt)
    return result.answer


async def lists_and_moves(runtime: Runtime) -> None:
    page = await runtime.sessions(agent="support", limit=10)
    for session in page:
        assert_type(session, dict[str, Any])
    assert_type(page.more, int)
    if page.cursor is not None:
        page = await runtime.sessions(agent="support", limit=10, cursor=page.cursor)
    assert_type(await runtime.status("s-1"), dict[str, Any])
    assert_type(await runtime.session("s-1", all=True), dict[str, Any])
    await runtime.checkout("s-1", "m-7")
    await runtime.stop("s-1", drain=True)
    await runtime.delete("s-1")
    assert_type((await runtime.sessions(search="invoice")).more, int)
    assert_type(await runtime.records.name("s-1", None), dict[str, Any])
    assert_type(await runtime.records.sweep(older_than="30d", dry_run=True), dict[str, Any])


async def opens_a_project() -> TurnResult:
    async with Runtime.open("path/to/project", db="sqlite:///agentflow.db") as runtime:
        return await runtime.run("s-1", "support", "hi", inputs={"customer": "c-1"})


def runs_from_synchronous_code() -> None:
    assert_type(run_turn("agents/support", "Where is my invoice?", session="s-1"), TurnResult)
    assert_type(with_runtime(lambda runtime: runtime.run("s-1", "support", "hi")), TurnResult)


@flow
def look_up(name: str, ctx: FlowContext) -> str:
    """Look a name up."""
    return f"{name} in {ctx.session_id}"


def tells_errors_apart(error: agentflow.AgentflowError) -> str:
    if isinstance(error, ModelError):
        return error.kind
    if isinstance(error, WorkerFailed | agentflow.NotFound):
        return error.code
    return error.message
