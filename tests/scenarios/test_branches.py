"""Edit, regenerate, branch and switch: a client sends its view again (C9-C17, C20, B45)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import InvalidInput, MessageNotFound, TurnAlreadyActive
from agentflow.testing import Kit, ProcessKilled
from tests.scenarios.support import Gate, call, said


def user(text: str, identifier: str | None = None) -> dict[str, Any]:
    return {"role": "user", "content": text} | ({"id": identifier} if identifier else {})


def view(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": "client.messages", "messages": list(messages), **fields}


def talked(kit: Kit) -> list[dict[str, Any]]:
    """A session with the path u1, a1, u2, a2; its messages."""
    kit.agent(replies=lambda request: {"text": f"reply {len(kit.requests)}"})
    kit.send(user("one", "u1"))
    kit.send(user("two", "u2"))
    return kit.path()


def children(kit: Kit, parent: str | None) -> list[str]:
    return [node["message"]["id"] for node in kit.tree()["nodes"] if node["parent_id"] == parent]


def path(kit: Kit) -> list[Any]:
    return [message["content"] for message in kit.path()]


def test_an_edit_branches_at_the_last_matching_node_and_the_original_stays(agentflow: Kit) -> None:
    """B45 (a). seed: The engine starts a branch at the last matching node, records the changed message and
    everything after it, and moves the head to the end. The original branch stays in the tree."""
    u1, a1, u2, a2 = talked(agentflow)
    agentflow.deliver(view(u1, user("edited")))
    assert path(agentflow) == ["one", "edited", "reply 3"]
    assert len(children(agentflow, "u1")) == 2
    nodes = {node["message"]["id"] for node in agentflow.tree()["nodes"]}
    assert {each["id"] for each in (u1, a1, u2, a2)} <= nodes


def test_the_very_first_message_can_be_edited(agentflow: Kit) -> None:
    """B45 (d): a new root."""
    talked(agentflow)
    agentflow.deliver(view(user("another start")))
    assert path(agentflow) == ["another start", "reply 3"]
    assert len(children(agentflow, None)) == 2
    assert said(agentflow.requests[-1])[1:] == [("user", "another start")]


def test_regenerating_records_a_new_reply_beside_the_old_one(agentflow: Kit) -> None:
    """B45 (b). seed: To regenerate, send the view without the last assistant reply. The engine records a new reply
    beside the old one."""
    u1 = talked(agentflow)[0]
    for _ in range(2):
        agentflow.deliver(view(u1))
    assert len(children(agentflow, "u1")) == 3
    assert path(agentflow) == ["one", "reply 4"]


def test_a_view_that_stops_earlier_moves_the_head_and_writes_nothing(agentflow: Kit) -> None:
    """B45 (c). seed: A view that stops at an earlier node writes nothing. It moves the head to that node and emits
    head.moved."""
    u1, a1, _, a2 = talked(agentflow)
    before = len(agentflow.tree()["nodes"])
    result = agentflow.deliver(view(u1, a1))
    assert (result.state, result.answer) == ("done", a1["content"])
    assert len(agentflow.tree()["nodes"]) == before
    assert agentflow.tree()["head_id"] == a1["id"]
    assert [event.data for event in agentflow.events("head.moved")] == [{"head_id": a1["id"]}]
    assert len(agentflow.requests) == 2
    agentflow.deliver(view(u1, a1, user("x"), a2))
    assert agentflow.path()[-1]["role"] == "assistant"


def test_resending_the_whole_view_changes_nothing(agentflow: Kit) -> None:
    """C13; B45 (f). seed: Sending a message again under its existing ID changes nothing. The engine matches on ID,
    not on content."""
    messages = talked(agentflow)
    changed = [{**message, "content": "changed"} for message in messages]
    result = agentflow.deliver(view(*changed))
    assert result.answer == "reply 2"
    assert agentflow.path() == messages
    assert len(agentflow.requests) == 2
    assert agentflow.events("head.moved") == []


def test_an_id_of_another_branch_names_that_node(agentflow: Kit) -> None:
    """B45 (e), C14. seed: When a view names a message on another branch, the engine loads that branch again."""
    u1, _, _, a2 = talked(agentflow)
    agentflow.deliver(view(u1, user("edited")))
    agentflow.restart()
    agentflow.deliver(view(u1, a2, user("three")))
    assert path(agentflow) == ["one", "reply 1", "two", "reply 2", "three", "reply 4"]
    assert [text for role, text in said(agentflow.requests[-1]) if role == "user"] == ["one", "two", "three"]


def test_a_known_id_inside_the_news_is_a_copy(agentflow: Kit) -> None:
    """C10."""
    u1, a1, u2, _ = talked(agentflow)
    agentflow.deliver(view(u1, user("new"), a1, u2))
    copies = {node["copied_from"] for node in agentflow.tree()["nodes"] if node["copied_from"]}
    assert copies == {a1["id"], "u2"}
    assert path(agentflow) == ["one", "new", "reply 1", "two", "reply 3"]


def test_an_answer_that_is_a_copy_reads_as_its_original_everywhere(agentflow: Kit) -> None:
    """D08, X18: a copy stores no content; live, in the log, in the steps and in a later result it is the same text."""
    _, a1, _, _ = talked(agentflow)
    live = agentflow.deliver(view(user("edited"), a1))
    copy = agentflow.path()[-1]
    assert (live.answer, live.message_id, copy["content"]) == ("reply 1", copy["id"], "reply 1")
    agentflow.restart()
    assert agentflow.result(live.turn_id).as_dict() == live.as_dict()
    assert agentflow.events()[-1].data["answer"] == "reply 1"
    step = agentflow.run(agentflow.runtime.session("s-1"))["steps"][-1]
    assert (step["answer"], step["message_id"]) == ("reply 1", copy["id"])


def test_a_view_that_ends_inside_an_exchange_is_completed(agentflow: Kit) -> None:
    """C16: the missing results are written first, and the model reads whole exchanges."""

    def double(n: int) -> int:
        """Double a number."""
        return 2 * n

    agentflow.agent(
        tools=[double],
        replies=[{"tool_calls": [call("double", n=2), call("double", n=3)]}, {"text": "ok"}, {"text": "again"}],
    )
    agentflow.send(user("one", "u1"))
    u1, asking, first, _, _ = agentflow.path()
    agentflow.deliver(view(u1, asking, first, user("and?")))
    roles = [message["role"] for message in agentflow.path()]
    assert roles == ["user", "assistant", "tool", "tool", "user", "assistant"]
    assert sorted(message["content"] for message in agentflow.path() if message["role"] == "tool") == ["4", "6"]


def test_news_that_split_an_exchange_are_refused_and_nothing_is_written(agentflow: Kit) -> None:
    u1 = talked(agentflow)[0]
    before = agentflow.events()
    calls = [{"id": "c1", "name": "double", "arguments": "{}"}]
    with pytest.raises(InvalidInput, match="c1"):
        agentflow.submit(view(u1, {"role": "assistant", "content": None, "tool_calls": calls}))
    with pytest.raises(InvalidInput):
        agentflow.submit(view(u1, user("x"), queue=True))
    assert agentflow.events() == before


# -- moves -------------------------------------------------------------------------------------------------------------


def test_checkout_moves_the_head_exactly_there_and_runs_no_turn(agentflow: Kit) -> None:
    """C2. seed: The next reply branches there."""
    a1 = talked(agentflow)[1]
    moved = agentflow.run(agentflow.runtime.checkout("s-1", a1["id"]))
    assert moved == {"session_id": "s-1", "head_id": a1["id"], "moved": True}
    assert path(agentflow) == ["one", "reply 1"]
    assert [event.data for event in agentflow.events("head.moved")] == [{"head_id": a1["id"]}]
    assert len(agentflow.requests) == 2
    agentflow.send("elsewhere")
    assert path(agentflow) == ["one", "reply 1", "elsewhere", "reply 3"]
    assert len(children(agentflow, a1["id"])) == 2


def test_a_move_to_where_the_head_stands_tells_nothing(agentflow: Kit) -> None:
    head = talked(agentflow)[-1]["id"]
    assert not agentflow.run(agentflow.runtime.checkout("s-1", head))["moved"]
    assert agentflow.events("head.moved") == []


def test_head_move_is_an_input_too(agentflow: Kit) -> None:
    talked(agentflow)
    receipt = agentflow.submit({"type": "head.move", "message_id": "u1"})
    assert (receipt.turn_id, receipt.queued) == ("", False)
    assert agentflow.tree()["head_id"] == "u1"
    assert [event.type for event in agentflow.events(after_seq=receipt.after_seq)] == ["head.moved"]


def test_a_move_to_an_unknown_message_or_during_a_turn_is_refused(agentflow: Kit) -> None:
    gate = Gate({"text": "done"})
    agentflow.agent(replies=gate)
    receipt = agentflow.submit({"type": "client.message", "message": user("one", "u1")})
    with pytest.raises(TurnAlreadyActive, match=receipt.turn_id):
        agentflow.run(agentflow.runtime.checkout("s-1", "u1"))
    gate.open()
    agentflow.result(receipt.turn_id)
    with pytest.raises(MessageNotFound):
        agentflow.run(agentflow.runtime.checkout("s-1", "nothing"))


def test_a_move_after_a_crash_repairs_first(agentflow: Kit) -> None:
    """T30: what the dead turn left open is closed, and its path can be gone back to."""

    def double(n: int) -> int:
        """Double a number."""
        return 2 * n

    agentflow.agent(tools=[double], replies=lambda request: {"tool_calls": [call("double", n=2)]})
    receipt = agentflow.submit({"type": "client.message", "message": user("one", "u1")})
    agentflow.kill_after(1)
    with pytest.raises(ProcessKilled):
        agentflow.result(receipt.turn_id)
    agentflow.reopen()
    agentflow.run(agentflow.runtime.checkout("s-1", "u1"))
    assert agentflow.status()["status"] == "idle"
    assert [event.data["aborted"] for event in agentflow.events("done")] == [True]
    agentflow.agent(replies=lambda request: {"text": "fresh"})
    agentflow.deliver(view(user("one", "u1")))
    assert path(agentflow) == ["one", "fresh"]


# -- questions on branches ---------------------------------------------------------------------------------------------


def asking(kit: Kit) -> str:
    """A session that waits for an answer; the id of the question's call."""
    question = {"questions": [{"header": "Plan", "question": "Which?"}]}

    def reply(request: Any) -> dict[str, Any]:
        last = request.messages[-1]
        return {"tool_calls": [call("ask_user", **question)]} if last["content"] == "ask" else {"text": "ok"}

    kit.agent(replies=reply)
    kit.send(user("ask", "u1"))
    return str(kit.status()["tool_call_id"])


def test_a_view_that_branches_earlier_leaves_the_question_open_on_its_branch(agentflow: Kit) -> None:
    """C27: coming back finds the question pending again. C6."""
    asking(agentflow)
    waiting = agentflow.path()
    agentflow.deliver(view(user("something else")))
    assert agentflow.status()["pending"] is False
    result = agentflow.deliver(view(*waiting, turn_id="t-back"))
    assert result.state == "paused_ask_user"
    assert agentflow.status()["pending"] is True
    assert agentflow.result("t-back").state == "paused_ask_user"
    assert agentflow.send("Pro").answer == "ok"


def test_checkout_of_the_asking_message_finds_the_question_again(agentflow: Kit) -> None:
    call_id = asking(agentflow)
    head = agentflow.tree()["head_id"]
    agentflow.run(agentflow.runtime.checkout("s-1", "u1"))
    assert agentflow.status()["pending"] is False
    with pytest.raises(InvalidInput, match="another branch"):
        agentflow.run(agentflow.runtime.answer("s-1", tool_call_id=call_id, text="Pro"))
    agentflow.run(agentflow.runtime.checkout("s-1", head))
    assert agentflow.status()["tool_call_id"] == call_id
    assert agentflow.send("Pro").answer == "ok"


def test_a_message_of_a_sub_agent_is_no_node_of_the_conversation(agentflow: Kit) -> None:
    """C1: each execution has a root of its own; nothing moves the head into it."""
    agentflow.agent("helper", replies=[{"text": "from below"}], prompt="You help.")
    agentflow.agent(
        "boss", sub_agents=["helper"],
        replies=[{"tool_calls": [call("task", agent="helper", prompt="do it")]}, {"text": "done"}],
    )  # fmt: skip
    agentflow.send("go")
    told = [event.data["message"] for event in agentflow.events("message.new")]
    below = [each for each in told if each["content"] == "from below"]
    identifier = next(each["id"] for each in below if each["role"] == "assistant")
    with pytest.raises(MessageNotFound):
        agentflow.run(agentflow.runtime.checkout("s-1", identifier))
    assert identifier not in {node["message"]["id"] for node in agentflow.tree()["nodes"]}
