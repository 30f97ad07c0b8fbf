"""Spans of turns for OpenTelemetry: one tree each, ended once, without contents unless asked for (R12, F61)."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any

import pytest
from opentelemetry import baggage, context, trace
from opentelemetry.trace import StatusCode

from agentflow import FlowContext, ModelRequest
from agentflow.agents.worker import HttpWorker
from agentflow.models.protocol import TextDelta
from agentflow.telemetry.spans import CONTENTS
from agentflow.testing import Kit
from agentflow.worker import verify
from tests.scenarios.support import Deltas, Gate, call
from tests.spans_seen import Seen, seen
from tests.unit.agents.test_worker import Service

__all__ = ["seen"]

ASKS = {"tool_calls": [call("ask_user", questions=[{"header": "Size", "question": "Which size?"}])]}
HELLO = {"type": "client.message", "message": {"role": "user", "content": "hello"}}
USAGE = {"input": 12, "output": 3, "cache_read": 4}
PLAIN = ["chat test < invoke_agent test", "invoke_agent test < invoke_workflow test", "invoke_workflow test < None"]
OFF: dict[str, Any] = {"settings": {"name_chats": False}}


def current() -> int:
    return trace.get_current_span().get_span_context().span_id


def look(place: str) -> str:
    """Look at a place."""
    if place == "nowhere":
        raise ValueError("there is no nowhere")
    return f"{place} is quiet"


def test_a_plain_turn_is_one_tree_with_the_names_of_the_genai_conventions(agentflow: Kit, seen: Seen) -> None:
    agentflow.agent(replies=[{"text": "hi", "usage": USAGE}], **OFF)
    turn = agentflow.send("hello")
    assert seen.tree() == PLAIN
    said = dict(seen.of("chat test").attributes or {})
    assert said.pop("agentflow.call.id")
    assert said.pop("gen_ai.response.time_to_first_chunk") >= 0
    assert said == {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": "s-1",
        "gen_ai.provider.name": "agentflow",
        "gen_ai.request.model": "test",
        "gen_ai.request.stream": True,
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.usage.cache_read.input_tokens": 4,
        "gen_ai.response.finish_reasons": ("stop",),
        "agentflow.call.purpose": "main",
        "agentflow.call.attempts": 1,
    }
    whole = seen.of("invoke_workflow test").attributes or {}
    assert (whole["agentflow.turn.id"], whole["agentflow.turn.state"]) == (turn.turn_id, "done")
    assert whole["agentflow.environment"] == "production"
    assert (seen.of("invoke_agent test").attributes or {})["gen_ai.agent.name"] == "test"
    assert seen.failures() == {}


def test_tools_side_by_side_run_inside_their_own_spans_on_threads_and_on_the_loop(agentflow: Kit, seen: Seen) -> None:
    inside: dict[str, int] = {}

    def sync(place: str) -> str:
        """Look on a thread."""
        inside[place] = current()
        return "quiet"

    async def on_loop(place: str) -> str:
        """Look on the loop."""
        inside[place] = current()
        return "quiet"

    calls = [call("sync", place="a"), call("sync", place="b"), call("on_loop", place="c"), call("on_loop", place="d")]
    agentflow.agent(tools=[sync, on_loop], replies=[{"tool_calls": calls}, {"text": "quiet"}], **OFF)
    agentflow.send("look")
    tools = [span for span in seen.ended if span.name.startswith("execute_tool ")]
    assert sorted(inside.values()) == sorted(span.context.span_id for span in tools)
    assert {span.parent.span_id for span in tools if span.parent} == {seen.of("invoke_agent test").context.span_id}
    assert len({(span.attributes or {})["gen_ai.tool.call.id"] for span in tools}) == 4


def test_a_sub_agent_and_hooks_stand_below_what_called_them(agentflow: Kit, seen: Seen) -> None:
    inside: list[int] = []

    def before(ctx: FlowContext) -> None:
        inside.append(current())

    agentflow.agent("helper", replies=[{"text": "three"}], description="Helps.", **OFF)
    replies = [{"tool_calls": [call("task", agent="helper", prompt="count")]}, {"text": "three"}]
    agentflow.agent("test", replies=replies, sub_agents=["helper"], hooks={"pre_tool": [before]}, **OFF)
    agentflow.send("count")
    assert seen.tree() == sorted(
        [
            "chat helper < invoke_agent helper",
            "hook pre_tool < execute_tool task",
            "invoke_agent helper < execute_tool task",
            "execute_tool task < invoke_agent test",
            "chat test < invoke_agent test",
            *PLAIN,
        ]
    )
    assert inside == [seen.of("hook pre_tool").context.span_id]
    assert (seen.of("hook pre_tool").attributes or {})["agentflow.hook.flow"] == "before"


def test_a_worker_is_asked_inside_the_span_of_the_run_it_decides(agentflow: Kit, seen: Seen) -> None:
    inside: set[int] = set()

    def worker(request: dict[str, Any]) -> Any:
        inside.add(current())
        return request["proposed"]

    agentflow.agent(worker=worker, replies=[{"text": "hi"}], **OFF)
    agentflow.send("hello")
    assert inside == {seen.of("invoke_agent test").context.span_id}


def test_a_worker_on_http_is_told_the_current_span_and_its_signature_stays_good(seen: Seen) -> None:
    """R12: a service goes on with the trace; what a host keeps as baggage is not for it."""
    service = Service()
    service.answers = [(200, b"{}")]

    async def asked() -> None:
        with seen.tracer.start_as_current_span("asking"):
            context.attach(baggage.set_baggage("customer", "private"))
            await HttpWorker(service.url, "hush").decide({"session_id": "s-1"}, lambda _: None)

    try:
        asyncio.run(asked())
    finally:
        service.close()
    headers, body = service.seen[0]
    span = seen.of("asking").context
    assert headers["traceparent"].split("-")[1:3] == [f"{span.trace_id:032x}", f"{span.span_id:016x}"]
    assert "baggage" not in {name.lower() for name in headers}
    assert verify("hush", headers, body)


def test_a_summary_is_a_call_of_the_step(agentflow: Kit, seen: Seen) -> None:
    def replies(request: ModelRequest) -> dict[str, Any]:
        return {"text": "S" if request.purpose == "summary" else "word " * 40, "usage": {"input": 900, "output": 5}}

    agentflow.agent(replies=replies, context={"strategy": [{"use": "summarize", "over_tokens": 100}]}, **OFF)
    agentflow.send("word " * 200)
    agentflow.send("word " * 200)
    calls = [span for span in seen.ended if span.name == "chat test"]
    purposes = [(span.attributes or {}).get("agentflow.call.purpose") for span in calls]
    assert purposes == ["main", "summary", "main"]
    agents = {span.context.span_id for span in seen.ended if span.name == "invoke_agent test"}
    assert {span.parent.span_id for span in calls if span.parent} == agents


def test_attempts_of_a_call_are_one_span(agentflow: Kit, seen: Seen) -> None:
    agentflow.agent(replies=[{"error": {"kind": "unavailable"}}, {"text": "hi"}], **OFF)
    agentflow.send("hello")
    assert seen.tree() == PLAIN
    assert (seen.of("chat test").attributes or {})["agentflow.call.attempts"] == 2
    assert seen.failures() == {}


SECRET = "sk-canary-9d41c77e02"
FAILING = [
    {"text": f"let me {SECRET}", "tool_calls": [call("look", place="nowhere")]},
    {"error": {"kind": "auth"}},
]


def test_failures_have_a_status_and_no_text(agentflow: Kit, seen: Seen) -> None:
    """R12: contents are off, exception texts included."""
    agentflow.agent(tools=[look], replies=FAILING, **OFF)
    assert agentflow.send("a very private hello").state == "failed"
    assert seen.failures() == {
        "execute_tool look": "tool_failed",
        "chat test": "model_error.auth",
        "invoke_agent test": "model_error.auth",
        "invoke_workflow test": "model_error.auth",
    }
    assert {span.status.description for span in seen.ended} == {None}
    told = seen.text()
    assert [word for word in ("nowhere", "private", "let me", SECRET) if word in told] == []


@pytest.mark.parametrize("asked", ["true", "SPAN_ONLY", "span_and_event"])
def test_contents_are_told_where_the_variable_asks_and_never_a_secret(
    agentflow: Kit, seen: Seen, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    from agentflow.secrets.known import learn

    learn(SECRET, "${CANARY}")
    monkeypatch.setenv(CONTENTS, asked)
    agentflow.agent(tools=[look], replies=FAILING, **OFF)
    agentflow.send(f"hello {SECRET}")
    tool = seen.of("execute_tool look").attributes or {}
    assert json.loads(str(tool["gen_ai.tool.call.arguments"])) == {"place": "nowhere"}
    assert "there is no nowhere" in str(tool["gen_ai.tool.call.result"])
    first = next(span for span in seen.ended if span.name == "chat test").attributes or {}
    asked_of = json.loads(str(first["gen_ai.input.messages"]))
    assert [message["role"] for message in asked_of] == ["system", "user"]
    assert asked_of[1]["parts"] == [{"type": "text", "content": "hello ${CANARY}"}]
    (reply,) = json.loads(str(first["gen_ai.output.messages"]))
    assert [part["type"] for part in reply["parts"]] == ["text", "tool_call"]
    assert seen.of("invoke_workflow test").status.description
    assert SECRET not in seen.text()


@pytest.mark.parametrize("asked", ["", "false", "no_content", "event_only"])
def test_other_words_ask_for_no_contents(
    agentflow: Kit, seen: Seen, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.setenv(CONTENTS, asked)
    agentflow.agent(replies=[{"text": "a private answer"}], **OFF)
    agentflow.send("a private hello")
    assert "private" not in seen.text()


def test_a_stop_in_mid_stream_ends_every_span_with_a_status(agentflow: Kit, seen: Seen) -> None:
    talking = asyncio.Event()
    agentflow.agent(model=Deltas([TextDelta("I was sa"), talking]), **OFF)

    async def stopped() -> None:
        receipt = await agentflow.runtime.submit("s-1", {"agent_id": "test", **HELLO})
        async for event in agentflow.runtime.events("s-1", receipt.after_seq, receipt.turn_id):
            if event.type == "llm.delta":
                break
        await agentflow.runtime.stop("s-1", receipt.turn_id)
        await agentflow.runtime.result("s-1", receipt.turn_id)

    agentflow.run(stopped())
    assert {name.split()[0]: kind for name, kind in seen.failures().items()} == {
        "chat": "cancelled", "invoke_agent": "stop", "invoke_workflow": "stop",
    }  # fmt: skip
    assert {span.status.status_code for span in seen.ended} == {StatusCode.ERROR}
    assert (seen.of("invoke_workflow test").attributes or {})["agentflow.turn.state"] == "aborted"


def test_a_runtime_that_closes_ends_the_spans_of_its_turns(agentflow: Kit, seen: Seen) -> None:
    agentflow.agent(replies=[Gate()], **OFF)

    async def begun() -> None:
        receipt = await agentflow.runtime.submit("s-1", {"agent_id": "test", **HELLO})
        async for event in agentflow.runtime.events("s-1", receipt.after_seq, receipt.turn_id):
            if event.type == "llm.call.requested":
                break

    agentflow.run(begun())
    agentflow.restart()
    assert seen.failures()["invoke_workflow test"] == "closing"


def test_no_span_is_open_over_a_pause_and_what_goes_on_links_to_the_first_part(agentflow: Kit, seen: Seen) -> None:
    """R12: answered twice, each time in another process, by a request with a span of its own."""
    agentflow.agent(replies=[ASKS, ASKS, {"text": "L it is"}], **OFF)
    agentflow.send("a shirt")
    assert seen.open == {}
    for _ in range(2):
        agentflow.restart()
        with seen.tracer.start_as_current_span("answering"):
            agentflow.answer("L")
    first, *later = [span for span in seen.ended if span.name == "invoke_workflow test"]
    assert [(span.attributes or {})["agentflow.turn.state"] for span in (first, *later)] == [
        "paused_ask_user", "paused_ask_user", "done",
    ]  # fmt: skip
    assert [[link.context.span_id for link in span.links] for span in later] == [[first.context.span_id]] * 2
    assert {link.context.trace_id for span in later for link in span.links} == {first.context.trace_id}
    assert len({span.context.trace_id for span in (first, *later)}) == 3
    assert first.links == ()
    assert seen.failures() == {}


def test_a_sub_agent_that_asks_leaves_no_span_open(agentflow: Kit, seen: Seen) -> None:
    agentflow.agent("helper", replies=[ASKS, {"text": "L"}], description="Helps.", **OFF)
    delegating = {"tool_calls": [call("delegate", agent="helper", message="ask them")]}
    agentflow.agent("test", replies=[delegating], sub_agents=["helper"], **OFF)
    agentflow.send("a shirt")
    assert seen.open == {}
    agentflow.restart()
    agentflow.answer("L")
    helpers = [span for span in seen.ended if span.name == "invoke_agent helper"]
    agents = [span for span in seen.ended if span.name == "invoke_agent test"]
    assert [span.context.trace_id for span in helpers] == [span.context.trace_id for span in agents]
    assert seen.failures() == {}


def test_a_reader_that_breaks_off_and_is_collected_touches_no_span(agentflow: Kit, seen: Seen) -> None:
    gate = Gate({"text": "hi"})
    agentflow.agent(replies=[gate], **OFF)

    async def read() -> None:
        with seen.tracer.start_as_current_span("request"):
            receipt = await agentflow.runtime.submit("s-1", {"agent_id": "test", **HELLO})
            reading = agentflow.runtime.events("s-1", receipt.after_seq, receipt.turn_id)
            async for _ in reading:
                break
            del reading
            gc.collect()
            gate.open()
            assert trace.get_current_span().get_span_context().span_id == current()
        await agentflow.runtime.result("s-1", receipt.turn_id)

    agentflow.run(read())
    assert seen.tree() == sorted([*PLAIN[:2], "invoke_workflow test < request", "request < None"])


def test_turns_of_two_sessions_at_once_are_two_traces(agentflow: Kit, seen: Seen) -> None:
    agentflow.agent(tools=[look], replies=looked, **OFF)

    async def both() -> None:
        receipts = [
            await agentflow.runtime.submit(session, {"agent_id": "test", **HELLO}) for session in ("s-1", "s-2")
        ]
        await asyncio.gather(*(agentflow.runtime.result(each.session_id, each.turn_id) for each in receipts))

    agentflow.run(both())
    traces: dict[int, set[Any]] = {}
    for span in seen.ended:
        traces.setdefault(span.context.trace_id, set()).add((span.attributes or {})["gen_ai.conversation.id"])
    assert sorted(map(sorted, traces.values())) == [["s-1"], ["s-2"]]


def looked(request: ModelRequest) -> dict[str, Any]:
    return {"text": "ok"} if request.messages[-1]["role"] == "tool" else {"tool_calls": [call("look", place="a")]}


def test_a_queued_turn_is_no_part_of_another_s_request_and_a_title_of_no_turn(agentflow: Kit, seen: Seen) -> None:
    gate = Gate({"text": "one"})

    async def replies(request: ModelRequest) -> Any:
        if request.purpose == "main" and request.turn == 1:
            return await gate(request)
        return {"text": "A title" if request.purpose == "title" else "two"}

    agentflow.agent(replies=replies, settings={"name_chats": True})

    async def two() -> None:
        with seen.tracer.start_as_current_span("request"):
            first = await agentflow.runtime.submit("s-1", {"agent_id": "test", **HELLO})
        second = await agentflow.runtime.submit("s-1", {**HELLO, "queue": True})
        gate.open()
        for receipt in (first, second):
            await agentflow.runtime.result("s-1", receipt.turn_id)

    agentflow.run(two())
    agentflow.restart()
    parents = [span.parent for span in seen.ended if span.name == "invoke_workflow test"]
    assert [parent is None for parent in parents] == [False, True]
    titles = [span for span in seen.ended if (span.attributes or {}).get("agentflow.call.purpose") == "title"]
    assert titles
    assert {span.parent for span in titles} == {None}


def test_a_tracer_that_fails_fails_no_turn(agentflow: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def get_tracer(self, name: str) -> Any:
            return self

        def start_span(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("no more spans")

    broken = Broken()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: broken)
    agentflow.agent(tools=[look], replies=looked, **OFF)
    assert agentflow.send("hello").answer == "ok"
