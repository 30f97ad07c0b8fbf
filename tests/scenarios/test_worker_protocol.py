"""docs/worker-protocol.md is true: its tables are the code's, its examples work, and a worker in Node lives by it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentflow import clock
from agentflow.message import Message
from agentflow.testing import Kit
from agentflow.turn.decide import reference
from agentflow.turn.decide.judge import Situation, judge
from agentflow.turn.decide.protocol import read_response
from agentflow.turn.decide.table import Point
from agentflow.worker import SIGNATURE, TIMESTAMP, sign
from tests.guards.source import ROOT
from tests.scenarios.support import call, results, said
from tests.scenarios.test_worker import Recorder, refund

PAGE = (ROOT / "docs" / "worker-protocol.md").read_text("utf-8")
ANSWERS = re.findall(r"^```json answer (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
REQUESTS = re.findall(r"^```json request\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
PYTHON = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SECRET = "hush"


def test_the_tables_are_those_of_the_code() -> None:
    """`python -m agentflow.turn.decide.reference docs/worker-protocol.md` writes them."""
    assert reference.page(PAGE) == PAGE
    assert set(re.findall(r"<!-- made: (\w+) -->", PAGE)) == set(reference.MADE)


@pytest.mark.parametrize(("trigger", "answer"), ANSWERS)
def test_an_answer_that_the_page_shows_can_be_given(trigger: str, answer: str) -> None:
    reply = Message("m1", "assistant", "secret")
    situation = Situation(
        Point(trigger), [Message("u1", "user", "hi")], reply if trigger == "llm.finished" else None,
        ("c1",) if trigger == "tool.execute" else (), ("c1",) if trigger == "tool.execute" else (),
        "m9" if trigger == "context.limit" else None,
    )  # fmt: skip
    decision = judge(read_response(json.loads(answer), {}), situation)
    assert len(decision.actions) == len(json.loads(answer)["actions"])


def test_a_request_has_the_fields_that_the_page_shows(agentflow: Kit) -> None:
    recorder = Recorder()
    agentflow.agent(replies=[{"text": "ok"}], worker=recorder)
    agentflow.send({"id": "u1", "role": "user", "content": "hi"})
    (shown,) = map(json.loads, REQUESTS)
    asked = recorder.of("client.messages")
    assert list(shown) == [*asked]
    for name in ("trigger", "proposed", "messages", "calls", "state", "execution", "attempts"):
        assert shown[name] == asked[name]


def test_the_pages_python_works(agentflow: Kit) -> None:
    counting, verifying = PYTHON
    names: dict[str, Any] = {}
    exec(counting + verifying, names)
    agentflow.agent(replies=[{"text": "one"}, {"text": "two"}], worker=names["decide"])
    agentflow.send("hi")
    agentflow.send("hi")
    assert agentflow.session()["state"] == {"messages": 2}
    timestamp = str(int(clock.now().timestamp()))
    headers = {TIMESTAMP: timestamp, SIGNATURE: sign(SECRET, timestamp, b"{}")}
    assert names["is_ours"](SECRET, headers, b"{}")
    assert not names["is_ours"](SECRET, headers, b"{ }")


@pytest.fixture
def node(agentflow: Kit) -> Iterator[str]:
    """The address of the worker in Node, which lives at the time of the test."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed")
    worker = Path(__file__).with_name("worker.mjs")
    now = str(clock.now().timestamp())
    environment = {**os.environ, "WORKER_SECRET": SECRET, "WORKER_NOW": now}
    process = subprocess.Popen([program, str(worker)], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/"
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def test_a_worker_in_node_settles_a_call_replaces_a_proposal_and_keeps_state(agentflow: Kit, node: str) -> None:
    """C31-C34: written from the page alone."""
    agentflow.agent(
        tools=[{"flow": refund, "handler": "worker"}], worker=node, worker_secret=SECRET,
        replies=[{"tool_calls": [call("refund", amount=5)]}, {"text": "done"}, {"text": "again"}],
    )  # fmt: skip
    first = agentflow.send("refund me")
    assert (first.answer, first.data) == ("done", {"turns": 1})
    assert results(agentflow.requests[1]) == ['{"refunded":5}']
    assert said(agentflow.requests[0])[0] == ("system", "You are told by Node.")
    assert agentflow.send("and again").data == {"turns": 2}
    assert agentflow.session()["state"] == {"turns": 2}


def test_a_worker_in_node_refuses_what_is_not_signed(agentflow: Kit, node: str) -> None:
    agentflow.agent(worker=node, worker_secret="another", replies=[])
    result = agentflow.send("hi")
    assert result.error is not None
    assert (result.state, "status 401" in result.error["message"]) == ("failed", True)
