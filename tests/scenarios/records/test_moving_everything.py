"""R12: sessions of every kind come in again as they were, and no export tells a secret."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentflow import FlowContext
from agentflow.testing import Kit
from tests.both_databases import on_both_databases
from tests.scenarios.records.test_moving import ASK, bring, exported, look, renamed
from tests.scenarios.support import call

agentflow_db = on_both_databases


@pytest.fixture
def kit(agentflow: Kit) -> Kit:
    return agentflow


CANARY = "canary-9876543210"


@pytest.mark.parametrize("format_", ["json", "jsonl", "md", "html"])
def test_a_secret_that_is_known_now_is_in_no_text_of_an_export(
    kit: Kit, monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    """R12, Z4: a value that was told before anybody knew that it is one; the file comes in again."""

    async def keep(ctx: FlowContext, place: str) -> str:
        """Keep a note."""
        await ctx.memory.save("keys", place)
        await ctx.get_with_snap("customer", 42, lambda key: {"key": CANARY, "name": "Ada"})
        return f"seen {place}"

    keeps = {"text": CANARY, "tool_calls": [call("keep", place=CANARY)]}
    kit.agent(tools=[keep], replies=[keeps, {"text": CANARY}], prompt=CANARY, settings={"snap_session_mode": "all"})
    kit.send(CANARY)
    kit.run(kit.runtime.records.feedback("s-1", 1, "up", CANARY))
    kit.run(kit.runtime.records.name("s-1", CANARY))
    assert CANARY in exported(kit, format_)
    monkeypatch.setenv("MY_API_KEY", CANARY)
    text = exported(kit, format_)
    assert CANARY not in text
    assert "${MY_API_KEY}" in text
    if format_.startswith("json"):
        bring(kit, text, session_id="s-2")
        assert kit.session("s-2")["messages"][0]["content"] == "${MY_API_KEY}"
        told = kit.run(kit.runtime.records.snapshot("s-2", 1))["data"]
        assert told == {"key": "${MY_API_KEY}", "name": "Ada"}
        first = kit.run(kit.runtime.records.request("s-2", 1))["messages"][0]
        assert first["content"].startswith("${MY_API_KEY}")
        kit.run(kit.runtime.delete("s-2"))


def test_a_secret_of_the_agents_file_as_it_is_now_is_left_out_too(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Z4: the process that exports has run nothing of the agent."""
    kit.agent(replies=[{"text": "hello"}])
    kit.send(f"my word is {CANARY}")
    monkeypatch.setenv("WORD", CANARY)
    kit.agent(replies=[], interfaces={"other": {"model": "openai/x", "api_key": "${WORD}"}})
    kit.restart()
    assert "my word is ${WORD}" in exported(kit)


def compacted(kit: Kit) -> None:
    long = "x" * 400
    kit.agent(replies=[{"text": f"answer {long}"}] * 3)
    for _ in range(3):
        kit.send(f"question {long}")
    kit.agent(
        replies=[{"text": "a summary"}, {"text": "the fourth"}],
        settings={"compaction_threshold_fraction": 0.5, "compaction_context_window_tokens": 100,
                  "compaction_keep_recent_messages": 2},
    )  # fmt: skip
    kit.send("question 4")
    assert kit.events("context.replaced")


def with_worker(kit: Kit) -> None:
    def decide(request: dict[str, Any]) -> dict[str, Any]:
        return {**request["proposed"], "state": {"seen": request["trigger"]["type"]}}

    kit.agent(replies=[{"text": "one"}], worker=decide)
    kit.send("one")


def with_sub_agents(kit: Kit) -> None:
    kit.agent("helper", tools=[look], replies=[{"tool_calls": [call("look", place="a")]}, {"text": "helped"}])
    helps = {"tool_calls": [call("task", agent="helper", prompt="look around")]}
    kit.agent("main", sub_agents=["helper"], replies=[helps, {"text": "done"}])
    kit.send("go")


def with_client_tools(kit: Kit) -> None:
    pick = {"name": "pick", "description": "Pick one.", "handler": "client", "parameters": {"type": "object"}}
    kit.agent(tools=[pick], replies=[{"tool_calls": [call("pick")]}])
    kit.send("pick one")
    assert kit.status()["pending_kind"] == "tools"


def with_a_question_and_a_queue(kit: Kit) -> None:
    kit.agent(replies=[{"tool_calls": [ASK]}])
    kit.send("ask me")
    message = {"role": "user", "content": "later"}
    kit.submit({"type": "client.message", "message": message, "queue": True, "turn_id": "t-later"})


@pytest.mark.parametrize("format_", ["json", "jsonl"])
@pytest.mark.parametrize(
    "life", [compacted, with_worker, with_sub_agents, with_client_tools, with_a_question_and_a_queue],
    ids=lambda life: life.__name__,
)  # fmt: skip
def test_every_kind_of_session_comes_in_again_as_it_was(kit: Kit, life: Callable[[Kit], None], format_: str) -> None:
    """R12, F50: rows, tree, state, what is asked and what waits."""
    life(kit)
    text = exported(kit, format_)
    bring(kit, text, session_id="s-2")
    assert renamed(exported(kit, format_, "s-2"), "s-2") == text
    assert exported(kit, format_) == text
    assert kit.tree("s-2") == kit.tree()
    one, two = ({**kit.session(each), "session_id": "", "updated_at": "", "log_id": ""} for each in ("s-1", "s-2"))
    assert one == two
