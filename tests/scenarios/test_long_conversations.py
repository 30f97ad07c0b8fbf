"""Hundreds of turns in a small window: nothing is forgotten, nothing overflows, the prefix stays (X4, X8, X13)."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest

from agentflow import ModelRequest
from agentflow.testing import Kit
from tests.scenarios.rooms import (
    FILLER,
    OPENING,
    answering,
    assert_paired,
    by_settings,
    capitals,
    chatty,
    of_purpose,
    over,
    phases,
    texts,
)
from tests.scenarios.support import call, said

WINDOW = 4000
FACTS = {3: "KIWI", 10: "MANGO7", 40: "PAPAYA", 41: "LEMON42"}


def look(number: int) -> str:
    """Look something up."""
    return f"found {number}: {FILLER}"


def working(request: ModelRequest) -> dict[str, Any]:
    """Two calls of a tool in every third turn, then an answer that repeats nothing."""
    is_result = request.messages[-1]["role"] == "tool"
    if request.turn % 3 == 0 and not is_result:
        return {"tool_calls": [call("look", number=request.turn), call("look", number=-request.turn)]}
    return {"text": f"noted in turn {request.turn}. " + FILLER[: 40 + request.turn % 7 * 30]}


@pytest.mark.parametrize("how", ["strategy", "settings"])
def test_300_turns_keep_every_planted_fact_and_never_exceed_the_window(agentflow: Kit, how: str) -> None:
    """Issue: every planted fact is in the summary chain's input, and the window holds."""
    keys: dict[str, Any] = (
        {"context": over(3000)} if how == "strategy" else {"settings": by_settings(WINDOW, keep=6, fraction=0.75)}
    )
    agentflow.agent(tools=[look], replies=answering(capitals, working), **keys)
    for turn in range(1, 301):
        if turn % 60 == 0:
            agentflow.restart()
        fact = f"The word of turn {turn} is {FACTS[turn]}." if turn in FACTS else f"request {turn} {FILLER[:60]}"
        assert agentflow.send(fact).state == "done"
    summaries = of_purpose(agentflow.requests, "summary")
    assert len(summaries) >= 5
    last = texts(summaries[-1])
    assert all(fact in last for fact in FACTS.values())
    assert all(fact in texts(agentflow.requests[-1]) for fact in FACTS.values())
    for before, after in pairwise(summaries):
        assert "<earlier_summary>" in texts(after)
        assert summary_of(before) in texts(after)
    for request in agentflow.requests:
        assert_paired(request)
        assert request.chars / 4 <= WINDOW
    assert set(phases(agentflow)) <= {"full", "replaced"}


def summary_of(request: ModelRequest) -> str:
    return str(capitals(request)["text"])


def test_three_compactions_over_60_turns_carry_the_code_word_along(agentflow: Kit) -> None:
    """B23: the input of each summary call contains the previous summary."""
    agentflow.agent(replies=answering(capitals, chatty), context=over(2500))
    agentflow.send("The code word is KIWI.")
    while len(of_purpose(agentflow.requests, "summary")) < 3:
        agentflow.send(f"more {FILLER}")
    assert "KIWI" in texts(agentflow.requests[-1])
    assert all("KIWI" in texts(request) for request in of_purpose(agentflow.requests, "summary"))


@pytest.mark.parametrize("lean", [True, False])
def test_the_first_request_of_a_turn_begins_with_that_of_the_turn_before(agentflow: Kit, lean: bool) -> None:
    """X4: byte for byte, over 50 turns, except right after a compaction; the same warm and cold."""
    agentflow.agent(
        tools=[look],
        replies=answering(capitals, working),
        context=over(3500),
        settings={"lean_history": lean},
    )
    firsts: list[tuple[int, ModelRequest]] = []
    for turn in range(1, 51):
        if turn % 9 == 0:
            agentflow.restart()
        before = len(agentflow.requests)
        agentflow.send(f"request {turn} {FILLER}")
        mains = of_purpose(agentflow.requests[before:], "main")
        firsts.append((len(of_purpose(agentflow.requests, "summary")), mains[0]))
    breaks = 0
    for (summaries, earlier), (now, later) in pairwise(firsts):
        length = len(earlier.messages)
        if summaries == now:
            assert later.messages[:length] == earlier.messages
        else:
            breaks += 1
    assert breaks == of_purpose_count(agentflow)


def of_purpose_count(kit: Kit) -> int:
    return len(of_purpose(kit.requests, "summary"))


@pytest.mark.parametrize("seed", range(6))
def test_whatever_clients_and_models_do_no_request_is_lost_or_split(agentflow: Kit, seed: int) -> None:
    """Deliberate attempts: edits, regenerations, old ids, checkouts, restarts and bad summaries, in any order."""
    dice = random.Random(seed)

    def summary(request: ModelRequest) -> dict[str, Any]:
        return dice.choice([capitals(request), capitals(request), {"text": " "}, {"error": {"kind": "unavailable"}},
                            {"error": {"kind": "context_overflow"}}])  # fmt: skip

    def answer(request: ModelRequest) -> dict[str, Any]:
        kind = dice.random()
        if kind < 0.3 and list(request.tools):
            return {"tool_calls": [call("look", number=dice.randrange(99)) for _ in range(dice.randint(1, 3))]}
        if kind < 0.36:
            return {"error": {"kind": "context_overflow"}}
        usage = dice.choice([{}, {"input": 0, "output": 1}, {"input": dice.randrange(3000), "output": 1}, None])
        return {"text": f"reply {FILLER[: dice.randrange(400)]}"} | ({} if usage is None else {"usage": usage})

    agentflow.agent(
        tools=[look], replies=answering(summary, answer), context=over(900),
        settings=by_settings(1500, keep=dice.randrange(5), lean_history=bool(seed % 2), llm_retries=0),
    )  # fmt: skip
    for number in range(25):
        text = f"live request {seed}-{number} {FILLER[: dice.randrange(300)]}".strip()
        before = len(agentflow.requests)
        path = agentflow.path() if number else []
        users = [message for message in path if message["role"] == "user" and OPENING not in str(message["content"])]
        match dice.randrange(6) if users else 0:
            case 1:
                agentflow.edit(dice.choice(users)["id"], text)
            case 2:
                nodes = agentflow.tree()["nodes"]
                whole = [node for node in nodes if node["message"]["role"] == "user"]
                agentflow.run(agentflow.runtime.checkout("s-1", dice.choice(whole)["message"]["id"]))
                agentflow.send(text)
            case 3:
                agentflow.restart()
                agentflow.send(text)
            case 4:
                agentflow.view([*path, {"role": "user", "content": text}])
            case _:
                agentflow.send(text)
        requests = agentflow.requests[before:]
        for request in requests:
            assert_paired(request)
        mains = of_purpose(requests, "main")
        assert mains
        assert all(("user", text) in said(request) for request in mains)
        assert all(text not in texts(request) for request in of_purpose(requests, "summary"))
        assert len(of_purpose(requests, "summary")) <= 2 * (len(mains) + 1)
    opened = agentflow.events("context.limited")
    closed = agentflow.events("context.replaced", "context.kept")
    assert len(opened) == len(closed)
