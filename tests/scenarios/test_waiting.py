"""What a session waits for, as status and session list it (interfaces: `queue`, `open_calls`; C21, C22, C38)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentflow import InvalidInput, ResultTimeout, Runtime
from agentflow.testing import Kit
from tests.pictures import png, url
from tests.scenarios.support import Gate, call
from tests.scenarios.test_client_tools import waiting as waiting_for_client
from tests.scenarios.test_settling import waiting


def queued(text: str, queue: Any = True, **fields: Any) -> dict[str, Any]:
    message = {"role": "user", "content": text}
    return {"type": "client.message", "message": message, "queue": queue, **fields}


def test_the_turns_that_wait_are_listed_with_what_they_say(agentflow: Kit) -> None:
    gate = Gate(*({"text": f"a{number}"} for number in range(3)))
    agentflow.agent(replies=gate)
    agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "one"}, "turn_id": "t-1"})
    agentflow.submit(queued("two", turn_id="t-2"))
    agentflow.submit(queued("three", "merge", turn_id="t-3"))
    parts = [
        {"type": "text", "text": "four"},
        url(png()),
    ]
    agentflow.submit(queued(parts, "merge", turn_id="t-4"))  # type: ignore[arg-type]  # parts are content too
    expected = [
        {"turn_id": "t-2", "kind": "client.message", "texts": ["two"]},
        {"turn_id": "t-3", "kind": "client.append", "texts": ["three", "four"]},
    ]
    assert agentflow.status()["queue"] == agentflow.session()["queue"] == expected
    gate.open()
    agentflow.result("t-3")
    assert agentflow.status()["queue"] == []


def test_waiting_for_a_result_ends_in_time_and_the_turn_goes_on(agentflow: Kit) -> None:
    gate = Gate({"text": "at last"})
    agentflow.agent(replies=gate)
    receipt = agentflow.submit(queued("one", False))

    async def wait(runtime: Runtime) -> None:
        with pytest.raises(ResultTimeout, match="it goes on, ask again"):
            await runtime.result("s-1", receipt.turn_id, timeout=0.01)
        gate.open()
        assert (await runtime.result("s-1", receipt.turn_id, timeout=60)).answer == "at last"
        await asyncio.sleep(0)

    agentflow.run(wait(agentflow.runtime))


WRONG: list[tuple[str, Any]] = [
    ("session_id", lambda runtime: runtime.submit(5, queued("x", False, agent_id="test"))),
    ("input", lambda runtime: runtime.submit("s-1", "hello")),
    ("limits", lambda runtime: runtime.submit("s-1", queued("x", False), limits="many")),
    ("message.content", lambda runtime: runtime.run("s-1", "test", 5)),
    ("agent", lambda runtime: runtime.run("s-1", None, "x")),
    ("inputs", lambda runtime: runtime.run("s-1", "test", "x", inputs=[1])),
    ("turn_id", lambda runtime: runtime.run("s-1", "test", "x", turn_id=7)),
    ("session_id", lambda runtime: runtime.status(None)),
    ("session_id", lambda runtime: runtime.session(["s-1"])),
    ("all", lambda runtime: runtime.session("s-1", all="yes")),
    ("limit", lambda runtime: runtime.sessions(limit="10")),
    ("limit", lambda runtime: runtime.sessions(limit=0)),
    ("limit", lambda runtime: runtime.sessions(limit=True)),
    ("cursor", lambda runtime: runtime.sessions(cursor=5)),
    ("agent", lambda runtime: runtime.sessions(agent=5)),
    ("turn", lambda runtime: runtime.trace("s-1", 1.5)),
    ("turn_id", lambda runtime: runtime.stop("s-1", 5)),
    ("session_id", lambda runtime: runtime.stop({})),
    ("message_id", lambda runtime: runtime.checkout("s-1", None)),
    ("call_id", lambda runtime: runtime.settle("s-1", 5, result=1)),
    ("error", lambda runtime: runtime.settle("s-1", "c-1", error=5)),
    ("turn_id", lambda runtime: runtime.result("s-1", 5)),
    ("timeout", lambda runtime: runtime.result("s-1", "t-1", timeout="1")),
    ("timeout", lambda runtime: runtime.result("s-1", "t-1", timeout=-1)),
    ("session_id", lambda runtime: runtime.delete(b"s-1")),
    ("agent", lambda runtime: runtime.explain(5)),
    ("inputs", lambda runtime: runtime.explain("test", inputs="x")),
    ("after_seq", lambda runtime: anext(runtime.events("s-1", "0"))),
    ("turn_id", lambda runtime: anext(runtime.events("s-1", 0, 5))),
]


@pytest.mark.parametrize(("field", "asked"), WRONG)
def test_an_argument_of_a_wrong_type_is_refused_by_its_name(agentflow: Kit, field: str, asked: Any) -> None:
    agentflow.agent(replies=[{"text": "hi"}])
    agentflow.send("hi", turn_id="t-1")
    before = agentflow.events()

    async def ask() -> None:
        with pytest.raises(InvalidInput) as refused:
            await asked(agentflow.runtime)
        assert refused.value.detail["field"] == field
        assert str(refused.value).startswith(f"{field}: ")

    agentflow.run(ask())
    assert agentflow.events() == before


def test_calls_left_to_a_worker_are_listed_until_they_have_their_result(agentflow: Kit) -> None:
    call_id = waiting(agentflow)
    left = [{"id": call_id, "name": "refund", "arguments": {"amount": 5}, "handler": "worker"}]
    assert agentflow.status()["open_calls"] == agentflow.session()["open_calls"] == left
    agentflow.run(agentflow.runtime.settle("s-1", call_id, result=1))
    assert agentflow.status()["open_calls"] == []
    agentflow.result("t-1")
    assert agentflow.status()["open_calls"] == []


def test_calls_that_wait_for_the_client_are_listed(agentflow: Kit) -> None:
    (call_id,) = waiting_for_client(agentflow, call("show", n=1))
    left = [{"id": call_id, "name": "show", "arguments": {"n": 1}, "handler": "client"}]
    assert agentflow.status()["open_calls"] == agentflow.session()["open_calls"] == left
    agentflow.stop()
    assert agentflow.status()["open_calls"] == []
