"""What is told of making room: one count in every figure, and each phase opened once and closed once (X5, X20)."""

from __future__ import annotations

import base64
import json
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from agentflow import ModelRequest, run_turn
from agentflow.testing import Kit
from tests.pictures import png
from tests.scenarios.rooms import (
    FILLER,
    OPENING,
    answering,
    by_settings,
    capitals,
    chatty,
    over,
    phases,
    replaced,
    texts,
)
from tests.scenarios.support import call, rows
from tests.scenarios.test_making_room_fails import TOO_LONG
from tests.scenarios.test_worker import proposal

OWN_REPLACE = {"type": "context.replace", "summary": "OURS", "messages": []}
WAYS: dict[str, dict[str, Any]] = {
    "strategy": {"context": over(700)},
    "reset": {"context": {"strategy": [{"use": "reset", "over_tokens": 700}]}},
    "settings": {"settings": by_settings(1000, keep=1)},
    "overflow": {},
}


def makes_room_by_itself(request: dict[str, Any]) -> Any:
    trigger = request["trigger"]
    if trigger["type"] != "context.limit":
        return request["proposed"]
    return {"actions": [OWN_REPLACE, {"type": "llm.call", "id": trigger["call"]["id"]}]}


DECIDERS = {"engine": None, "worker that agrees": proposal, "worker of its own mind": makes_room_by_itself}


@pytest.mark.parametrize("reports", [True, False], ids=["reported", "not reported"])
@pytest.mark.parametrize("decider", DECIDERS)
@pytest.mark.parametrize("way", WAYS)
def test_limited_replaced_tree_and_the_next_request_show_one_count(
    agentflow: Kit, way: str, decider: str, reports: bool
) -> None:
    """D33, X20: `tokens_before` is what `context.limited` said, `tokens_after` what the next call reads."""

    def answer(request: ModelRequest) -> dict[str, Any]:
        if way == "overflow" and request.turn == 3 and OPENING not in texts(request) and "OURS" not in texts(request):
            return TOO_LONG
        return chatty(request) | {"usage": {"input": 850 if reports or way == "settings" else 0, "output": 1}}

    keys = WAYS[way] | ({} if (decide := DECIDERS[decider]) is None else {"worker": decide})
    agentflow.agent(replies=answering(capitals, answer), **keys)
    for text in ("FIRST", "SECOND"):
        agentflow.send(f"{text} {FILLER}")
    agentflow.send("third")
    closed = replaced(agentflow)[-1]
    limited = [event.data for event in agentflow.events("context.limited") if (event.seq or 0) < (closed.seq or 0)][-1]
    done, told = closed.data, agentflow.tree()["compactions"][-1]
    sent = [request for request in agentflow.requests if request.call_id == limited["call_id"]][-1]
    assert done["tokens_before"] == told["tokens_before"] == limited["tokens"]
    assert done["tokens_after"] == told["tokens_after"] == ceil(sent.chars / 4)


def test_a_replace_that_no_limit_asked_for_counts_what_was_read_before_it(agentflow: Kit) -> None:
    """D33: a worker that replaces on its own."""

    def replaces(request: dict[str, Any]) -> Any:
        if request["trigger"]["type"] != "client.messages" or request["trigger"]["messages"][-1]["content"] != "third":
            return request["proposed"]
        return {"actions": [OWN_REPLACE, {"type": "llm.call"}]}

    agentflow.agent(replies=chatty, worker=replaces)
    for text in ("FIRST", "SECOND"):
        agentflow.send(f"{text} {FILLER}")
    reported = agentflow.events("llm.call.completed")[-1].data["usage"]["input"]
    added = len(chatty(agentflow.requests[-1])["text"]) + len("third")
    agentflow.send("third")
    (done,) = [event.data for event in replaced(agentflow)]
    assert done["tokens_before"] == reported + ceil(added / 4)
    assert done["tokens_after"] == ceil(agentflow.requests[-1].chars / 4)


def slow(request: ModelRequest) -> dict[str, Any]:
    return {"text": "SUMMARY " * 50, "delay_secs": 0.05}


@pytest.mark.parametrize("way", ["strategy", "settings"])
@pytest.mark.parametrize("end", ["stop", "timeout", "close", "kill", "worker", "worker stops"])
def test_whatever_ends_a_turn_closes_the_phase_that_is_open(agentflow: Kit, way: str, end: str) -> None:
    """X20: stopped, out of time, closed, killed, or failed in between; `context.kept` says so, once."""
    keys: dict[str, Any] = dict(WAYS[way])
    if end == "timeout":
        keys["settings"] = keys.get("settings", {}) | {"turn_timeout_secs": 1}
    if end.startswith("worker"):
        actions = [] if end == "worker stops" else [{"type": "no such thing"}]
        keys["worker"] = lambda request: (
            {"actions": actions} if request["trigger"]["type"] == "context.limit" else request["proposed"]
        )
    large = {"usage": {"input": 900, "output": 1}}
    agentflow.agent(replies=answering(slow, lambda request: chatty(request) | large), **keys)
    agentflow.send(f"FIRST {FILLER}")
    agentflow.send(f"SECOND {FILLER}")
    turn = agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "third"}}).turn_id
    if end in ("stop", "close", "kill"):
        agentflow.until("context.limited")
    else:
        agentflow.result(turn)
    if end == "stop":
        agentflow.stop()
    elif end == "close":
        agentflow.restart()
    elif end == "kill":
        agentflow.kill()
        agentflow.reopen()
        agentflow.advance(60)
    agentflow.send("after")
    told = [event.type for event in agentflow.events("context.limited", "context.replaced", "context.kept")]
    assert told[::2] == ["context.limited"] * (len(told) // 2)
    assert "context.limited" not in told[1::2]
    assert len(told) % 2 == 0


def test_a_sub_agent_that_dies_in_its_phase_has_it_closed_in_its_own_run(agentflow: Kit) -> None:
    """X20, T30: repair says it of the run that had begun."""

    def look(number: int) -> str:
        """Look."""
        return f"SEEN{number} {FILLER * 2}"

    def child(request: ModelRequest) -> dict[str, Any]:
        return {"tool_calls": [call("look", number=len(agentflow.requests))]}

    agentflow.agent("child", tools=[look], replies=answering(slow, child), context=over(1200), description="Works.")
    handing = {"tool_calls": [call("task", agent="child", prompt="do the WORK")]}
    agentflow.agent("parent", sub_agents=["child"], replies=[handing, {"text": "well"}])
    agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "go"}})
    opened = agentflow.until("context.limited")
    agentflow.kill()
    agentflow.reopen()
    agentflow.advance(60)
    agentflow.send("after")
    (closed,) = agentflow.events("context.kept")
    assert closed.data == {"reason": "interrupted", "execution": opened.data["execution"]}
    assert phases(agentflow) == ["full", "interrupted"]


@pytest.mark.parametrize("how", ["strategy", "settings"])
def test_a_photo_is_not_counted_by_the_length_of_its_base64(agentflow: Kit, how: str) -> None:
    """D34: 800 KB in a conversation of a thousand tokens, a window of 200,000: no compaction."""
    photo = base64.b64encode(png(2000, 1500, bytes(800_000))).decode()
    keys = {
        "strategy": {"context": {"window": 200_000, "strategy": [{"use": "summarize"}]}},
        "settings": {"settings": by_settings(200_000, keep=1)},
    }[how]
    agentflow.agent(replies=lambda request: chatty(request) | {"usage": {"input": 0, "output": 1}}, **keys)
    agentflow.send(f"FIRST {FILLER}")
    part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{photo}"}}
    content = [{"type": "text", "text": "what is it?"}, part]
    agentflow.deliver({"type": "client.message", "message": {"role": "user", "content": content}})
    agentflow.send("and now?")
    assert phases(agentflow) == []
    explained = agentflow.run(agentflow.runtime.explain("test", "s-1"))
    assert 1_600 < explained["tokens"] < 3_000
    assert all(way["tokens"] < 3_000 for way in explained["room"])


def test_explain_shows_the_count_that_making_room_goes_by(agentflow: Kit) -> None:
    """X5: what was reported last, and what has changed since."""
    agentflow.agent(replies=lambda request: chatty(request) | {"usage": {"input": 500, "output": 1}}, context=over(500))
    agentflow.send(f"FIRST {FILLER}")
    explained = agentflow.run(agentflow.runtime.explain("test", "s-1"))
    answer = chatty(agentflow.requests[-1])["text"]
    assert explained["tokens"] == explained["room"][0]["tokens"] == 500 + ceil(len(answer) / 4)
    agentflow.send("1234")
    assert agentflow.events("context.limited")[0].data["tokens"] == 500 + ceil((len(answer) + 4) / 4)


def test_the_compaction_interface_writes_the_summary(tmp_path: Path) -> None:
    """X8, A2"""
    folder = tmp_path / "agents" / "clerk"
    folder.mkdir(parents=True)
    for name in ("main", "cheap"):
        (folder / f"{name}.yaml").write_text(f"replies: [{{text: {name} {FILLER}, repeat: true}}]\n")
    settings = {
        "name_chats": False, "compaction_threshold_fraction": 0.5, "compaction_context_window_tokens": 100,
        "compaction_keep_recent_messages": 2, "compaction_interface": "cheap",
    }  # fmt: skip
    models = {name: {"model": f"scripted/{name}.yaml"} for name in ("main", "cheap")}
    (folder / "agent.yaml").write_text(json.dumps({"name": "clerk", "interfaces": models, "settings": settings}))
    for _ in range(4):
        assert run_turn("clerk", f"question {FILLER}", session="s-1", project=tmp_path).state == "done"
    asked = set(rows(f"sqlite:///{tmp_path / 'agentflow.db'}", "SELECT purpose, model FROM llm_call"))
    assert asked == {("main", "scripted/main.yaml"), ("summary", "scripted/cheap.yaml")}
