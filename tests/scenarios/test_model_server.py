"""A project on a real model server: three turns in three processes, in the formats of OpenAI and Anthropic.

What the server received, what it reported and what we kept are compared; the server refuses what breaks pairing.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agentflow import Runtime, TurnResult
from tests.scenarios.model_servers import (
    KEY,
    SIGNED,
    Done,
    Project,
    answered,
    asking,
    bases,
    called,
    marking,
    texts,
    thinking,
)
from tests.stub_server import Answer, StubServer, serve_in_thread

SAID = ("Mark A and B.", "And C.", "Thanks.")
ANSWERS = {
    "openai": [
        marking("A", "B", text="Let me look.", usage={"input": 100, "output": 20, "cache_read": 60}),
        Answer(text="A and B are marked.", usage={"input": 160, "output": 9, "cache_read": 100}),
        marking("C", usage={"input": 140, "output": 12}),
        Answer(text="So is C.", usage={"input": 170, "output": 5, "cache_read": 140}),
        Answer(text="Bye.", usage={"input": 150, "output": 2, "cache_read": 0}),
    ],
    "anthropic": [
        marking("A", "B", thinking=SIGNED, usage={"input": 2110, "output": 30, "cache_read": 100, "cache_write": 2000}),
        Answer(text="A and B are marked.", usage={"input": 2200, "output": 9, "cache_read": 2100, "cache_write": 50}),
        marking("C", thinking=SIGNED, usage={"input": 2150, "output": 12, "cache_read": 2100}),
        Answer(text="So is C.", usage={"input": 2190, "output": 5, "cache_read": 2150}),
        asking(thinking=SIGNED, usage={"input": 2170, "output": 15, "cache_read": 2150}),
        Answer(text="Bye.", usage={"input": 2180, "output": 2, "cache_read": 2150, "cache_write": 20}),
    ],
}


@dataclass(frozen=True)
class Talk:
    """A conversation: its project, how each process ended, and what the server received."""

    wire: str
    project: Project
    stub: StubServer
    done: list[Done]

    @property
    def answers(self) -> list[Answer]:
        return ANSWERS[self.wire]

    @property
    def conversation(self) -> list[list[dict[str, Any]]]:
        """The messages of every request, without the system prompt."""
        return [[each for each in one.messages if each["role"] != "system"] for one in self.stub.requests]


def _three_turns(folder: Path, stub: StubServer, wire: str) -> Talk:
    project = Project(folder, bases(stub))
    project.write(wire)
    done = [project.run("run", "clerk", "-s", "s-1", "--json", text) for text in SAID]
    return Talk(wire, project, stub, done)


def _interrupted(folder: Path, stub: StubServer) -> Talk:
    project = Project(folder, bases(stub))
    project.write("openai")
    process = project.start("run", "clerk", "-s", "s-1", "--jsonl", "Count.")
    assert process.running.stdout is not None
    for line in process.running.stdout:
        if json.loads(line)["type"] == "llm.delta":
            process.running.send_signal(signal.SIGINT)
            break
    return Talk("openai", project, stub, [process.end()])


async def _resumed(project: Project) -> TurnResult:
    """The answer to the question of the third turn, given by this process."""
    async with Runtime.open(project.folder) as runtime:
        receipt = await runtime.answer("s-1", text="D")
        return await runtime.result("s-1", receipt.turn_id)


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Talk]]]:
    """The conversations, held side by side: each of their processes takes seconds to load litellm."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("openai", "anthropic", "interrupted")}
    with ExitStack() as stack:
        server = {
            "openai": stack.enter_context(serve_in_thread(ANSWERS["openai"])),
            "anthropic": stack.enter_context(serve_in_thread(ANSWERS["anthropic"])),
            "interrupted": stack.enter_context(serve_in_thread([Answer(text=["One, ", "two"], hang="finish")])),
        }
        pool = stack.enter_context(ThreadPoolExecutor(3))
        yield {
            "openai": pool.submit(_three_turns, folders["openai"], server["openai"], "openai"),
            "anthropic": pool.submit(_three_turns, folders["anthropic"], server["anthropic"], "anthropic"),
            "interrupted": pool.submit(_interrupted, folders["interrupted"], server["interrupted"]),
        }


@pytest.fixture(params=["openai", "anthropic"])
def talk(request: pytest.FixtureRequest, talks: dict[str, Future[Talk]]) -> Talk:
    return talks[request.param].result()


# -- what was said -------------------------------------------------------------------------------------------------


def test_every_turn_goes_on_where_the_last_process_stopped(talk: Talk) -> None:
    """The main job: a tool-using agent on a real server, and the conversation is there the next time."""
    assert [done.code for done in talk.done] == [0, 0, 0 if talk.wire == "openai" else 4]
    results = [done.result for done in talk.done]
    assert [each["answer"] for each in results[:2]] == ["A and B are marked.", "So is C."]
    assert [each["step_order"] for each in results] == [1, 2, 3]
    assert talk.project.marks == ["A", "B", "C"]


def test_the_server_received_pairs_and_refused_nothing(talk: Talk) -> None:
    """T7: every call has its result, once and in call order; the strict server took each request."""
    for messages in talk.conversation[:5]:
        assert called(messages) == answered(messages)
    assert [called(messages) for messages in talk.conversation[:5]] == [[], ["call_A", "call_B"], [], ["call_C"], []]


def test_calls_of_earlier_turns_are_left_out_and_their_texts_stay(talk: Talk) -> None:
    """X1: earlier turns are user messages and assistant text only, a text beside calls included."""
    looked = ["Let me look."] if talk.wire == "openai" else []
    said = [text for message in talk.conversation[4] for text in texts(message)]
    assert said == ["Mark A and B.", *looked, "A and B are marked.", "And C.", "So is C.", "Thanks."]


def unmarked(body: Any) -> Any:
    if isinstance(body, dict):
        return {key: unmarked(value) for key, value in body.items() if key != "cache_control"}
    return [unmarked(each) for each in body] if isinstance(body, list) else body


def test_a_turn_begins_with_the_first_request_of_the_turn_before(talk: Talk) -> None:
    """X4, W6: byte for byte, system prompt and tools included, so that the provider's cache holds."""
    firsts = [unmarked(talk.stub.requests[number].body) for number in (0, 2, 4)]
    for before, after in pairwise(firsts):
        kept = {**after, "messages": after["messages"][: len(before["messages"])]}
        assert json.dumps(kept) == json.dumps(before)


# -- what it cost --------------------------------------------------------------------------------------------------


def test_stored_usage_is_what_the_server_reported(talk: Talk) -> None:
    """X6, B33: one row for each call; cached tokens are part of the input."""
    rows = talk.project.rows("SELECT input, output, cache_read, cache_write FROM llm_call ORDER BY requested_at")
    for row, answer in zip(rows[:5], talk.answers, strict=False):
        assert answer.usage is not None
        given = {name: answer.usage.get(name, 0) for name in ("input", "output", "cache_read", "cache_write")}
        assert [number or 0 for number in row] == list(given.values())


def test_what_the_server_did_not_report_is_null(talk: Talk) -> None:
    """X6: unknown is never 0; OpenAI's format has no word for what was written to the cache."""
    rows = talk.project.rows("SELECT cache_read, cache_write FROM llm_call ORDER BY requested_at")
    expected = [(60, None), (100, None), (None, None), (140, None), (0, None)]
    assert talk.wire == "anthropic" or rows == expected


def test_the_result_has_the_sums_of_its_turn(talk: Talk) -> None:
    """X6, B33: exact sums, and a total that does not add the cached tokens again."""
    for done, answers in zip(talk.done, (talk.answers[:2], talk.answers[2:4], talk.answers[4:5]), strict=True):
        sums: Counter[str] = Counter()
        for answer in answers:
            sums.update(answer.usage or {})
        usage = {name: number or 0 for name, number in done.result["usage"].items()}
        assert usage == {
            "input": sums["input"],
            "output": sums["output"],
            "cache_read": sums["cache_read"],
            "cache_write": sums["cache_write"],
            "total": sums["input"] + sums["output"],
        }


def test_a_model_without_a_price_costs_null(talk: Talk) -> None:
    """B36: not 0, and not an error."""
    assert [done.result["cost"] for done in talk.done] == [None] * 3
    assert set(talk.project.rows("SELECT cost FROM llm_call")) == {(None,)}


# -- signed reasoning ----------------------------------------------------------------------------------------------


def test_signed_thinking_goes_back_as_it_came_and_only_in_its_turn(talks: dict[str, Future[Talk]]) -> None:
    """B31, T15: signed, empty and redacted, byte for byte and in order in the tool loop; gone in the next turn."""
    sent = [thinking(messages) for messages in talks["anthropic"].result().conversation[:5]]
    assert sent == [[], SIGNED, [], SIGNED, []]


def test_signed_thinking_goes_back_after_a_pause_in_another_process(talks: dict[str, Future[Talk]]) -> None:
    """B31: the process that asked is gone; what it heard is read from the database. X2: this step reads all calls."""
    talk = talks["anthropic"].result()
    question = talk.done[2].result["question"]["tool_call_id"]
    assert asyncio.run(_resumed(talk.project)).answer == "Bye."
    resumed = talk.conversation[5]
    assert called(resumed) == answered(resumed) == ["call_A", "call_B", "call_C", question]
    assert thinking(resumed) == SIGNED
    assert thinking(resumed[-2:]) == SIGNED


# -- the processes -------------------------------------------------------------------------------------------------


def test_nobody_but_the_server_was_called(talk: Talk) -> None:
    """B76: no price table, no telemetry, no name server."""
    server = f"127.0.0.1:{talk.stub.port}"
    for done in talk.done:
        assert done.litellm
        assert set(done.called) <= {server, "127.0.0.1"}
        assert server in done.called


def test_the_library_is_quiet_and_the_key_is_kept(talk: Talk) -> None:
    """Standard output is the result only; the key stands in no output and no row."""
    for done in talk.done:
        # on a slow machine what takes long is told of
        said = [line for line in done.err.splitlines() if not line.startswith("still going on after")]
        assert said == [] or done.code == 4
        assert KEY not in done.out + done.err
    (db,) = talk.project.folder.rglob("agentflow.db")
    assert not any(KEY.encode() in file.read_bytes() for file in db.parent.glob("agentflow.db*"))


def test_an_interrupt_closes_the_stream_and_keeps_what_came(talks: dict[str, Future[Talk]]) -> None:
    """T24: Ctrl-C ends the turn, the server sees the connection close, the partial text is kept."""
    talk = talks["interrupted"].result()
    assert (talk.done[0].code, "Traceback" in talk.done[0].err) == (130, False)
    (received,) = talk.stub.requests
    assert received.left.wait(10)
    (answer,) = talk.project.rows("SELECT content FROM message WHERE role = 'assistant'")
    assert "<ABORTED BY USER>" in answer[0]


@pytest.mark.parametrize(
    "command",
    [("--help",), ("validate",), ("sessions", "ls"), ("run", "assistant", "What is 2 + 2?")],
    ids=lambda command: str(command[0]),
)
def test_what_needs_no_model_server_never_loads_litellm(tmp_path: Path, command: tuple[str, ...]) -> None:
    """B76: and calls nobody, although the project's agent would."""
    project = Project(tmp_path, {"openai": "http://127.0.0.1:9/v1"})
    project.write("openai")
    done = project.run(*command)
    assert (done.code, done.called, done.litellm) == (0, [], False), done.err
