"""Stopping a turn: it ends at once, keeps what it has, and no other turn is touched (T23-T26)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from agentflow import Event, ModelRequest, Receipt
from agentflow.message import Usage
from agentflow.models.protocol import FinishReason, ReasoningDelta, TextDelta, ToolFragment, UsageReport
from agentflow.testing import Kit
from tests.scenarios.invariants import check_session, check_wire
from tests.scenarios.support import Deltas, Gate, call, rows

ASKS = {"tool_calls": [call("ask_user", questions=[{"header": "Place", "question": "Which one?"}])]}
HELLO = {"type": "client.message", "message": {"role": "user", "content": "hello"}}


class Hung:
    """Tools that were started and do not end before the test lets them."""

    def __init__(self) -> None:
        self.may_end, self.ended = threading.Event(), threading.Event()
        self.flows = {flow.__name__: flow for flow in (self._sync(), self._deaf(), self._polite())}

    def _sync(self) -> Callable[..., Any]:
        def sync() -> str:
            """Ignore everything."""
            self.may_end.wait()
            self.ended.set()
            return "too late"

        return sync

    def _deaf(self) -> Callable[..., Any]:
        async def deaf() -> str:
            """Swallow the cancellation."""
            while not self.may_end.is_set():
                try:
                    await asyncio.sleep(0.01)
                except asyncio.CancelledError:
                    continue
            return "too late"

        return deaf

    def _polite(self) -> Callable[..., Any]:
        async def polite() -> str:
            """Wait, and end when cancelled."""
            await asyncio.Event().wait()
            return "never"

        return polite


@pytest.fixture
def hung() -> Iterator[Hung]:
    tool = Hung()
    yield tool
    tool.may_end.set()


async def reached(kit: Kit, receipt: Receipt, event_type: str, times: int = 1) -> None:
    """Until the turn has told so many events of a type, or so many characters."""
    async for event in kit.runtime.events(receipt.session_id, receipt.after_seq, receipt.turn_id):
        if event.type == event_type == "llm.delta":
            times = max(times - len(event.data.get("text") or event.data["reasoning"]), 0)
        else:
            times -= event.type == event_type
        if not times:
            return


def started(kit: Kit, given: dict[str, Any], event_type: str, times: int = 1) -> Receipt:
    receipt = kit.submit(given)
    kit.run(reached(kit, receipt, event_type, times))
    return receipt


def ended(kit: Kit, receipt: Receipt) -> list[Event]:
    return [event for event in kit.events(after_seq=receipt.after_seq) if event.turn_id == receipt.turn_id]


@pytest.mark.parametrize("flow", ["sync", "deaf", "polite"])
def test_a_tool_that_ignores_the_stop_holds_nothing_up(
    agentflow: Kit, agentflow_db: str, hung: Hung, flow: str
) -> None:
    """B05, T23, T24: open calls are closed, the finished one keeps its result, no error, the session is free."""

    def quick() -> str:
        """Be done."""
        return "quick"

    calls = {"text": "Both.", "tool_calls": [call("quick"), call(flow)]}
    agentflow.agent(tools=[quick, hung.flows[flow]], replies=[calls, {"text": "next"}])
    receipt = started(agentflow, HELLO, "tool.call.completed")

    async def stop() -> dict[str, Any]:
        async with asyncio.timeout(3):
            return await agentflow.runtime.stop("s-1")

    assert agentflow.run(stop())["outcome"] == "stopped"
    assert agentflow.status()["status"] == "idle"
    results = [each["content"] for each in agentflow.path() if each["role"] == "tool"]
    assert results[0] == "quick"
    assert "outcome is unknown" in results[1]
    assert agentflow.path()[-1]["content"] == "<ABORTED BY USER>"
    log = ended(agentflow, receipt)
    assert [event.type for event in log[-3:]] == ["step.completed", "turn.completed", "done"]
    assert (log[-1].data["aborted"], log[-1].data["answer"]) == (True, None)
    assert "error" not in [event.type for event in log]
    before = agentflow.events()
    hung.may_end.set()
    assert agentflow.send("and now").answer == "next"
    check_wire(agentflow.requests[-1].messages)
    assert agentflow.events()[: len(before)] == before
    assert "too late" not in str(agentflow.tree())
    agentflow.run(check_session(agentflow.runtime, agentflow_db, "s-1"))


def test_a_result_that_comes_after_the_stop_is_dropped(agentflow: Kit, hung: Hung) -> None:
    """T23: late results are dropped."""
    agentflow.agent(tools=[hung.flows["sync"]], replies=[{"tool_calls": [call("sync")]}, {"text": "next"}])
    started(agentflow, HELLO, "tool.call.requested")
    agentflow.stop()
    before = agentflow.events()
    hung.may_end.set()
    agentflow.run(asyncio.to_thread(hung.ended.wait))
    agentflow.run(asyncio.sleep(0))
    assert agentflow.events() == before
    assert agentflow.send("and now").answer == "next"


def test_the_text_shown_so_far_is_kept_with_the_marker(agentflow: Kit) -> None:
    """B60 (a), T24: `done` has the text, the transcript the text, a newline and the marker."""
    pieces = [TextDelta(f"piece {number} ") for number in range(5)]
    agentflow.agent(model=Deltas([*pieces, asyncio.Event()]))
    shown = "".join(piece.text for piece in pieces)
    receipt = started(agentflow, HELLO, "llm.delta", times=len(shown))
    agentflow.stop()
    assert agentflow.path()[-1]["content"] == f"{shown}\n<ABORTED BY USER>"
    assert ended(agentflow, receipt)[-1].data["answer"] == shown
    assert agentflow.result(receipt.turn_id).answer == shown


def test_reasoning_is_no_partial_answer(agentflow: Kit) -> None:
    """B60 (c): the marker alone when only reasoning has streamed."""
    agentflow.agent(model=Deltas([ReasoningDelta("hm"), asyncio.Event()]))
    receipt = started(agentflow, HELLO, "llm.delta")
    agentflow.stop()
    assert agentflow.path()[-1]["content"] == "<ABORTED BY USER>"
    assert agentflow.result(receipt.turn_id).answer is None


def test_texts_of_earlier_iterations_stay_in_order(agentflow: Kit) -> None:
    """B60 (e): stopped in the second iteration after text in the first."""

    def look() -> str:
        """Look."""
        return "seen"

    gate = Gate({"text": "never"})
    agentflow.agent(tools=[look], replies=[{"text": "First.", "tool_calls": [call("look")]}, gate])
    started(agentflow, HELLO, "llm.call.requested", times=2)
    agentflow.stop()
    assert [each["content"] for each in agentflow.path()] == ["hello", "First.", "seen", "<ABORTED BY USER>"]


@pytest.mark.parametrize("reported", [False, True], ids=["nothing reported", "input reported"])
def test_usage_of_what_was_paid_for_is_kept(agentflow: Kit, agentflow_db: str, reported: bool) -> None:
    """B34, X6: two iterations of 100/10, then a stop in the third; what was not reported is unknown, never 0."""

    def look() -> str:
        """Look."""
        return "seen"

    asks = [ToolFragment(0, None, "look", "{}"), UsageReport(Usage(100, 10)), FinishReason("tool_calls")]
    third = [*([UsageReport(Usage(input=70))] if reported else []), TextDelta("So"), asyncio.Event()]
    agentflow.agent(tools=[look], model=Deltas(asks, asks, third))
    started(agentflow, HELLO, "llm.delta")
    agentflow.stop()
    totals = agentflow.usage()
    assert (totals["input"], totals["output"]) == ((270, 20) if reported else (200, 20))
    found = rows(agentflow_db, "SELECT input, output FROM llm_call WHERE status = 'aborted'")
    assert found == [(70, None) if reported else (None, None)]


def test_stopping_an_idle_session_is_a_no_op_that_says_so(agentflow: Kit) -> None:
    """B15 (a), (c), (e), T25: nothing to stop, late, twice, or by the id of an old turn; the next turn runs."""
    agentflow.agent(replies=lambda request: {"text": "fine"})
    first = agentflow.send("one")
    for turn_id in (None, first.turn_id, "unknown"):
        assert agentflow.stop(turn_id=turn_id)["outcome"] == "nothing_to_stop"
        assert agentflow.send("again").state == "done"


def test_a_stop_by_the_id_of_an_old_turn_leaves_the_running_one_alone(agentflow: Kit) -> None:
    """B15 (e): never another turn."""
    gate = Gate({"text": "done"})
    agentflow.agent(replies=[{"text": "one"}, gate])
    first = agentflow.send("one")
    receipt = started(agentflow, HELLO, "llm.call.requested")
    assert agentflow.stop(turn_id=first.turn_id)["outcome"] == "nothing_to_stop"
    gate.open()
    assert agentflow.result(receipt.turn_id).state == "done"


def test_two_stops_at_once_end_one_turn_and_the_next_one_runs(agentflow: Kit) -> None:
    """B15 (b): stopped twice, a request at once."""
    agentflow.agent(replies=[Gate({"text": "never"}), {"text": "next"}])
    receipt = started(agentflow, HELLO, "llm.call.requested")

    async def both() -> list[str]:
        stops = [agentflow.runtime.stop("s-1") for _ in range(2)]
        return [each["outcome"] for each in await asyncio.gather(*stops)]

    assert "stopped" in agentflow.run(both())
    assert agentflow.send("and now").answer == "next"
    assert [event.type for event in ended(agentflow, receipt)].count("done") == 1


def test_another_process_stops_a_turn(agentflow: Kit) -> None:
    """T23: from any process; the owner hears of it and ends the turn itself."""
    agentflow.agent(replies=[{"text": "never", "delay_secs": 60}, {"text": "next"}])
    receipt = started(agentflow, HELLO, "llm.call.requested")
    other = agentflow.another_runtime()
    stopped = agentflow.run(other.stop("s-1", receipt.turn_id))
    assert stopped == {"session_id": "s-1", "turn_id": receipt.turn_id, "outcome": "stopped"}
    assert agentflow.result(receipt.turn_id).state == "aborted"
    assert agentflow.send("and now").answer == "next"


async def pauses_unheard(kit: Kit, db: str, gate: Gate, request: Coroutine[Any, Any, Any]) -> Any:
    """Let the turn go on to its question once another process has asked for its end and before it can have heard."""
    asking = asyncio.ensure_future(request)
    while rows(db, "SELECT stop_turn FROM session") == [(None,)]:  # noqa: ASYNC110  # a row of the database
        await asyncio.sleep(0.001)
    gate.open()
    async with asyncio.timeout(5):
        return await asking


def test_a_stop_that_meets_the_pause_still_stops_the_turn(agentflow: Kit, agentflow_db: str) -> None:
    """T25: whoever was told "stopped" finds no open question."""
    gate = Gate(ASKS)
    agentflow.agent(replies=[gate, {"text": "next"}])
    receipt = started(agentflow, HELLO, "llm.call.requested")
    stopping = agentflow.another_runtime().stop("s-1", receipt.turn_id)
    assert agentflow.run(pauses_unheard(agentflow, agentflow_db, gate, stopping))["outcome"] == "stopped"
    assert not agentflow.status()["pending"]
    assert agentflow.result(receipt.turn_id).state == "aborted"
    assert agentflow.send("and now").answer == "next"


def test_an_interruption_that_meets_the_pause_starts_all_the_same(agentflow: Kit, agentflow_db: str) -> None:
    """C25: the turn that pauses is stopped in the transaction that would have let the question wait."""
    gate = Gate(ASKS)
    agentflow.agent(replies=[gate, {"text": "at once"}])
    receipt = started(agentflow, HELLO, "llm.call.requested")
    other = agentflow.another_runtime()

    async def interrupt() -> str | None:
        second = await other.submit("s-1", {**HELLO, "interrupt": True})
        return (await other.result("s-1", second.turn_id)).answer

    assert agentflow.run(pauses_unheard(agentflow, agentflow_db, gate, interrupt())) == "at once"
    assert not agentflow.status()["pending"]
    assert agentflow.result(receipt.turn_id).state == "aborted"
    agentflow.run(check_session(agentflow.runtime, agentflow_db, "s-1"))


def test_stopping_a_paused_turn_closes_its_question(agentflow: Kit, agentflow_db: str) -> None:
    """B15 (d), T25: a placeholder result, then the next message is a new turn."""
    agentflow.agent(replies=[ASKS, {"text": "next"}])
    paused = agentflow.send("ask me")
    assert agentflow.stop()["outcome"] == "stopped"
    result = agentflow.path()[2]
    assert (result["role"], result["content"]) == ("tool", "Not answered: the user stopped the turn.")
    assert agentflow.result(paused.turn_id).state == "aborted"
    following = agentflow.send("and now")
    assert (following.answer, following.turn_id != paused.turn_id) == ("next", True)
    check_wire(agentflow.requests[-1].messages)
    agentflow.run(check_session(agentflow.runtime, agentflow_db, "s-1"))


def test_a_stopped_pause_is_shown_as_aborted(agentflow: Kit) -> None:
    """T25, T29: lists tell how the last turn ended, whoever ended it."""
    agentflow.agent(replies=[{"tool_calls": [call("ask_user", questions=[{"header": "Plan", "question": "Which?"}])]}])
    agentflow.send("one")
    agentflow.stop()
    assert agentflow.session()["outcome"] == "aborted"


def test_a_stopped_pause_lets_the_queue_go_on(agentflow: Kit) -> None:
    """C24, C28: what waited for the paused turn starts when that turn is stopped."""
    agentflow.agent(replies=[ASKS, {"text": "queued answer"}])
    agentflow.send("ask me")
    queued = agentflow.submit({**HELLO, "queue": True})
    assert agentflow.stop()["outcome"] == "stopped"

    async def its_result() -> str | None:
        async with asyncio.timeout(3):
            return (await agentflow.runtime.result("s-1", queued.turn_id)).answer

    assert agentflow.run(its_result()) == "queued answer"


def test_a_cancelled_turn_task_leaves_a_session_that_goes_on(agentflow: Kit) -> None:
    """B57: whatever cancels the task, in the model call or in a tool; the other session is not touched."""

    async def wait() -> str:
        """Wait."""
        await asyncio.Event().wait()
        return "never"

    gates = {"s-1": Gate({"text": "never"}), "s-2": Gate({"text": "not touched"})}
    following = iter([{"tool_calls": [call("wait")]}, {"text": "next"}])
    seen: set[str] = set()

    async def reply(request: ModelRequest) -> dict[str, Any]:
        if request.session_id in seen:
            return next(following)
        seen.add(request.session_id)
        return await gates[request.session_id](request)

    agentflow.agent(tools=[wait], replies=reply)
    untouched = agentflow.submit(HELLO, "s-2")
    for event_type in ("llm.call.requested", "tool.call.requested"):
        receipt = started(agentflow, HELLO, event_type)

        async def cancel(turn_id: str = receipt.turn_id) -> None:
            (task,) = [each for each in asyncio.all_tasks() if each.get_name() == f"agentflow turn {turn_id}"]
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        agentflow.run(cancel())
        assert agentflow.status()["status"] == "aborted"
    assert agentflow.send("and now").answer == "next"
    assert [event.data["aborted"] for event in agentflow.events("done")] == [True, True, False]
    gates["s-2"].open()
    assert agentflow.result(untouched.turn_id, "s-2").answer == "not touched"
