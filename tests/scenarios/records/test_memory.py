"""R10: notes that last as long as the session, on every branch, for every sub-agent, and no other session."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from contextlib import suppress
from typing import Any

import pytest

from agentflow import FlowContext, ModelRequest, StaleOwner
from agentflow.testing import Kit
from agentflow.tools.flows.context import CallCancelled
from agentflow.tools.flows.memory import MAX_CONTENT, MAX_NOTES, Note
from tests.both_databases import on_both_databases
from tests.scenarios.support import call, results, rows
from workflows.memory import get_recent_memories, load_agent_memory_report, save_agent_memory

agentflow_db = on_both_databases

ALL = {"snap_session_mode": "all"}
FLOWS = ["SaveAgentMemory", "LoadAgentMemoryReport", "GetRecentMemories"]


def does(request: ModelRequest) -> dict[str, Any]:
    """Do what the user's text says: `save TOPIC CONTENT`, `recent N`, `report`."""
    if request.messages[-1]["role"] == "tool":
        return {"text": "done"}
    word, *rest = request.messages[-1]["content"].split(" ", 2)
    if word == "save":
        return {"tool_calls": [call("SaveAgentMemory", topic=rest[0], content=rest[1])]}
    if word == "recent":
        return {"tool_calls": [call("GetRecentMemories", limit=int(rest[0]))]}
    return {"tool_calls": [call("LoadAgentMemoryReport")]}


def said(kit: Kit, text: str, session: str = "s-1") -> str:
    kit.send(text, session)
    return results(kit.requests[-1])[-1]


def contents(text: str) -> list[str]:
    return [note["content"] for note in json.loads(text)]


def test_notes_last_across_turns_processes_and_branches_and_are_no_other_sessions(agentflow: Kit) -> None:
    """ "They persist across the turns of that session [...]; they are not shared between sessions." """
    agentflow.agent(tools=FLOWS, replies=does)
    agentflow.send("save pets one cat")
    agentflow.restart()
    assert said(agentflow, "save pets two dogs") == "Saved under 'pets'."
    assert contents(said(agentflow, "recent 5")) == ["two dogs", "one cat"]
    agentflow.edit(agentflow.path()[0]["id"], "recent 1")
    assert contents(results(agentflow.requests[-1])[-1]) == ["two dogs"]
    assert contents(said(agentflow, "recent 5", "s-2")) == []


def test_what_a_reply_saves_its_next_call_reads(agentflow: Kit) -> None:
    both = [call("SaveAgentMemory", topic="a", content="b"), call("GetRecentMemories", limit=1)]
    agentflow.agent(tools=FLOWS, settings={"max_parallel_tools": 1}, replies=[{"tool_calls": both}, {"text": "ok"}])
    agentflow.send("hi")
    assert contents(results(agentflow.requests[-1])[-1]) == ["b"]


def test_sub_agents_share_them_and_they_go_with_the_session(agentflow: Kit) -> None:
    """ "and are removed with the session" """
    saves = {"tool_calls": [call("SaveAgentMemory", topic="a", content="below")]}
    agentflow.agent("helper", tools=FLOWS, replies=[saves, {"text": "saved"}])
    task, look = call("task", agent="helper", prompt="go"), call("GetRecentMemories", limit=1)
    replies = [{"tool_calls": [task]}, {"tool_calls": [look]}, {"text": "ok"}]
    agentflow.agent(tools=FLOWS, sub_agents=["helper"], replies=replies)
    agentflow.send("hi")
    assert contents(results(agentflow.requests[-1])[-1]) == ["below"]
    assert rows(agentflow._db, "SELECT step, number, topic FROM agent_memory") == [(1, 1, "a")]
    agentflow.run(agentflow.runtime.delete("s-1"))
    assert rows(agentflow._db, "SELECT * FROM agent_memory") == []


def test_notes_stay_without_observability(agentflow: Kit) -> None:
    """R5"""
    agentflow.agent(tools=FLOWS, replies=does, settings={"observability": False})
    agentflow.send("save pets one cat")
    assert contents(said(agentflow, "recent 1")) == ["one cat"]


def test_saving_costs_no_commit_and_the_notes_of_past_turns_take_no_memory(agentflow: Kit) -> None:
    """R4, B64: a turn that saves commits as often as one that reads."""
    agentflow.agent(tools=FLOWS, replies=does)
    agentflow.send("recent 1")
    commits = []
    for text in ("save pets one cat", "recent 1"):
        before = agentflow.commits
        agentflow.send(text)
        commits.append(agentflow.commits - before)
    assert commits[0] == commits[1]
    for number in range(10):
        agentflow.send(f"save pets {number}")
    gc.collect()
    assert len([each for each in gc.get_objects() if type(each) is Note]) <= 3, "what was read last"


def test_the_reserved_setting_changes_nothing_that_the_model_reads(agentflow: Kit) -> None:
    """ "turning the setting on has no visible effect on the agent's behavior" """
    asked = []
    for memory in (False, True):
        agentflow.agent(replies=[{"text": "hello"}], settings={"memory": memory})
        agentflow.send("hi", f"s-{memory}")
        asked.append((list(agentflow.requests[-1].messages), list(agentflow.requests[-1].tools)))
    assert asked[0] == asked[1]


def sync_keeper(content: str, ctx: FlowContext) -> list[str]:
    """Keep a note, and read all."""
    ctx.memory.save("pets", content)
    return [note.content for note in ctx.memory.recent(5)] + list(ctx.memory.topics())


async def async_keeper(content: str, ctx: FlowContext) -> list[str]:
    """Keep a note, and read all."""
    await ctx.memory.save("pets", content)
    return [note.content for note in await ctx.memory.recent(5)] + list(await ctx.memory.topics())


@pytest.mark.parametrize("keeper", [sync_keeper, async_keeper])
def test_a_flow_of_either_kind_has_the_memory(agentflow: Kit, keeper: Any) -> None:
    asks = [{"tool_calls": [call(keeper.__name__, content=content)]} for content in ("one cat", "two dogs")]
    agentflow.agent(tools=[keeper], replies=[asks[0], {"text": "ok"}, asks[1], {"text": "ok"}])
    agentflow.send("hi")
    agentflow.send("and?")
    assert json.loads(results(agentflow.requests[-1])[-1]) == ["two dogs", "one cat", "pets"]


def test_a_call_that_was_given_up_saves_nothing_however_late(agentflow: Kit) -> None:
    """R10, R8, T23: the note and the data of a flow whose time was over."""
    gate, over = threading.Event(), threading.Event()

    def slow(ctx: FlowContext) -> str:
        """Save late."""
        gate.wait(20)
        with suppress(CallCancelled):
            ctx.memory.save("pets", "too late")
        with suppress(CallCancelled):
            ctx.get_with_snap("customer", 42, lambda key: {"name": "Ada"})
        over.set()
        return "saved"

    def waits() -> str:
        """Wait for the other."""
        gate.set()
        assert over.wait(20)
        return "waited"

    replies = [{"tool_calls": [call("slow")]}, {"tool_calls": [call("waits")]}, {"text": "ok"}]
    agentflow.agent(tools=[{"flow": slow, "timeout_secs": 0.05}, waits], replies=replies, settings=ALL)
    agentflow.send("hi")
    for table in ("agent_memory", "snapshot"):
        assert rows(agentflow._db, f"SELECT count(*) FROM {table}") == [(0,)], table


def test_a_process_that_lost_the_session_writes_neither_note_nor_snapshot(agentflow: Kit) -> None:
    """R10, R8, T28: another process took the session over while the flow ran."""

    async def keeps(ctx: FlowContext) -> str:
        """Save and load."""
        await ctx.memory.save("pets", "one cat")
        await ctx.get_with_snap("customer", 42, lambda key: {"name": "Ada"})
        writer = agentflow.runtime._store.ledger._writer  # type: ignore[attr-defined]
        await writer.run(lambda tx: tx.execute("UPDATE session SET epoch = epoch + 1"))
        return "kept"

    agentflow.agent(
        tools=[keeps], replies=[{"tool_calls": [call("keeps")]}],
        settings={"snap_session_mode": "all"},
    )  # fmt: skip
    with pytest.raises(StaleOwner):
        agentflow.send("hi")
    for table in ("agent_memory", "snapshot", "snapshot_data"):
        assert rows(agentflow._db, f"SELECT count(*) FROM {table}") == [(0,)], table
    assert rows(agentflow._db, "SELECT snapshotted FROM session") == [(None,)]
    agentflow.kill()


@pytest.mark.parametrize("topic", ["", " ", "x" * 201])
def test_a_note_has_a_topic_and_its_size_is_told(topic: str) -> None:
    ctx = FlowContext()
    with pytest.raises(ValueError, match="the topic"):
        asyncio.run(save_agent_memory(topic, "x", ctx))
    with pytest.raises(ValueError, match=f"has {MAX_CONTENT + 1} characters, at most {MAX_CONTENT}"):
        asyncio.run(save_agent_memory("x", "x" * (MAX_CONTENT + 1), ctx))


def test_a_report_has_pages_and_counts_topics_and_a_full_memory_says_so() -> None:
    ctx = FlowContext()

    async def fill() -> dict[str, Any]:
        for number in range(MAX_NOTES):
            await ctx.memory.save("odd" if number % 2 else "even", str(number))
        return await load_agent_memory_report(ctx, page=2)

    report = asyncio.run(fill())
    assert (report["topics"], report["pages"]) == ({"even": 500, "odd": 500}, 100)
    assert [note["content"] for note in report["notes"]] == [str(number) for number in range(989, 979, -1)]
    odd = asyncio.run(load_agent_memory_report(ctx, "odd"))
    assert (odd["topics"], odd["pages"], odd["notes"][0]["content"]) == ({"odd": 500}, 50, "999")
    with pytest.raises(ValueError, match="the memory is full"):
        asyncio.run(save_agent_memory("x", "x", ctx))
    with pytest.raises(ValueError, match="from 1 to 50"):
        asyncio.run(get_recent_memories(ctx, 51))
