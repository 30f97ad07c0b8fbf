"""Copies that a `context.replace` makes, on both databases: their marks, and views of old ids (C14, C15)."""

from __future__ import annotations

from typing import Any

from agentflow import ModelRequest
from agentflow.testing import Kit
from tests.both_databases import on_both_databases
from tests.scenarios.rooms import FILLER, OPENING, answering, capitals, chatty, of_purpose, over, phases
from tests.scenarios.support import said

agentflow_db = on_both_databases


def keep_all(request: dict[str, Any]) -> Any:
    """A worker that replaces the whole path by copies of itself, at each message that says so."""
    trigger, messages = request["trigger"], request["messages"]
    if trigger["type"] != "client.messages" or messages[-1]["content"] != "copy":
        return request["proposed"]
    return {"actions": [{"type": "context.replace", "messages": messages}, {"type": "llm.call"}]}


def test_a_hidden_message_copied_twice_is_told_live_as_it_is_logged_and_stays_hidden(agentflow: Kit) -> None:
    """D82, D32: the marks of a copy are its original's, and a view still steps over it."""

    def once(answer: str) -> Any:
        return {"continue": "Shorter."} if answer == "long" else None

    def answer(request: ModelRequest) -> dict[str, Any]:
        return {"text": "long" if request.messages[-1]["content"] == "m1" else f"a{len(agentflow.requests)}"}

    agentflow.agent(hooks={"step_end": [once]}, replies=answer, worker=keep_all)
    agentflow.send("m1")
    agentflow.send("copy")
    live = []
    for _ in range(2):
        turn = agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "copy"}}).turn_id

        async def streamed(turn: str = turn) -> list[dict[str, Any]]:
            found = agentflow.runtime.events("s-1", turn_id=turn)
            return [each.data async for each in found if each.type == "message.new" and each.turn_id == turn]

        live += agentflow.run(streamed())
    copies = [each for each in live if each.get("copied_from") and each["message"]["content"] == "Shorter."]
    assert len(copies) == 2
    assert all(each["message"]["hidden"] for each in copies)
    logged = [event.data for event in agentflow.events("message.new")]
    assert all(each in logged for each in live)
    asked = len(agentflow.requests)
    before = agentflow.path()
    cut = next(index for index, each in enumerate(before) if each["content"] == "long")
    agentflow.view(before[: cut + 1])
    assert len(agentflow.requests) == asked + 1
    assert said(agentflow.requests[-1])[1:] == [("user", "m1"), ("assistant", "long"), ("user", "Shorter.")]


def test_a_copy_of_a_summary_is_a_summary(agentflow: Kit) -> None:
    """Z6, X20: whoever copies it."""
    agentflow.agent(
        replies=answering(capitals, chatty), context=over(700), worker=keep_all,
    )  # fmt: skip
    for text in (f"FIRST {FILLER}", f"SECOND {FILLER}", "third"):
        agentflow.send(text)
    assert "replaced" in phases(agentflow)
    (summary,) = [message for message in agentflow.path() if message.get("summary")]
    agentflow.send("copy")
    (copied,) = [message for message in agentflow.path() if message.get("summary")]
    assert copied["id"] != summary["id"]
    assert copied["content"] == summary["content"]
    told = [event.data for event in agentflow.events("message.new") if event.data["message"]["id"] == copied["id"]]
    assert [each["message"]["summary"] for each in told] == [True]


def test_views_of_old_ids_stay_on_the_compacted_branch(agentflow: Kit) -> None:
    """C15: go on, regenerate, edit the last and the first kept message, in one summary."""
    agentflow.agent(replies=answering(capitals, chatty), context=over(700))
    agentflow.send(f"FIRST {FILLER}")
    agentflow.send(f"SECOND {FILLER}")
    old = agentflow.path()
    asked = {"id": "c-3", "role": "user", "content": "third"}
    for view in (
        [*old, asked],
        [*old, asked],
        [*old, {"role": "user", "content": "edited third"}],
        [*old, {"role": "user", "content": "edited again"}],
    ):
        agentflow.view(view)
        texts = [text for _, text in said(agentflow.requests[-1])[1:]]
        assert texts[0].startswith(OPENING)
        assert texts[1:] == [view[-1]["content"]]
    assert agentflow.view(old).answer == old[-1]["content"]
    assert [message.get("summary") for message in agentflow.path()] == [True]
    assert len(of_purpose(agentflow.requests, "summary")) == 1
