"""A question of a sub-agent that the turn was handed to pauses everything, and the answer finds its way back (T22)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import InvalidInput, ModelRequest
from agentflow.testing import Kit, ProcessKilled
from tests.scenarios.support import call, results, rows, said

Reply = dict[str, Any]
ASK = call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])


def delegate(note: str, agent: str, *others: Reply) -> Reply:
    return {"tool_calls": [*others, call("delegate", agent=agent, message=note)]}


class Marks:
    """Tools that leave a mark each time they run, in whatever process."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def tool(self, name: str) -> Any:
        def mark() -> str:
            """Leave a mark."""
            self.made.append(name)
            return f"{name} marked"

        mark.__name__ = f"mark_{name}"
        return mark


def levels(kit: Kit, marks: Marks) -> None:
    """Three levels below the main agent, each with a tool of its own; the innermost asks."""

    def deepest(request: ModelRequest) -> Reply:
        done = sum(message["role"] == "tool" for message in request.messages)
        if done == 0:
            return {"tool_calls": [call("mark_c1"), ASK]}
        return {"tool_calls": [call("mark_c2")]} if done == 2 else {"text": "the green one it is"}

    def handing(own: str, below: str) -> Any:
        def reply(request: ModelRequest) -> Reply:
            return delegate(f"note for {below}", below, call(f"mark_{own}"))

        return reply

    kit.agent("c", replies=deepest, tools=[marks.tool("c1"), marks.tool("c2")], planning=True)
    kit.agent("b", replies=handing("b", "c"), tools=[marks.tool("b")], sub_agents=["c"])
    kit.agent("a", replies=handing("a", "b"), tools=[marks.tool("a")], sub_agents=["b"])
    kit.agent("main", replies=handing("main", "a"), tools=[marks.tool("main")], sub_agents=["a"])


def check_ended(kit: Kit, db: str, state: str = "DONE") -> None:
    assert [row[0] for row in rows(db, "SELECT status FROM execution ORDER BY number")] == [state] * 4
    assert rows(db, "SELECT name FROM tool_call WHERE status IN ('planned', 'started')") == []
    assert rows(db, "SELECT id FROM llm_call WHERE status = 'requested'") == []
    assert kit.status()["pending"] is False


def test_a_question_three_levels_down_pauses_the_turn_and_is_answered_by_another_process(
    agentflow: Kit, agentflow_db: str
) -> None:
    """ "A question asked ... by a sub-agent that received the turn through delegate pauses the whole turn in the same
    way."
    """
    marks = Marks()
    levels(agentflow, marks)
    paused = agentflow.send("which one?")
    assert paused.state == "paused_ask_user"
    assert (paused.question or {})["questions"][0]["header"] == "Which"
    assert rows(agentflow_db, "SELECT DISTINCT status FROM execution") == [("PENDING_USER_INPUT",)]
    agentflow.kill()
    agentflow.reopen()
    assert agentflow.status()["question"] == "Which: Which one?"
    result = agentflow.answer("green")
    assert (result.state, result.answer) == ("done", "the green one it is")
    assert marks.made == ["main", "a", "b", "c1", "c2"]
    answered = agentflow.requests_of("c")[1]
    assert results(answered) == ["c1 marked", "Which: green"]
    check_ended(agentflow, agentflow_db)
    assert agentflow.path()[-1]["content"] == "the green one it is"


@pytest.mark.parametrize("commits", range(1, 12))
def test_a_kill_after_any_commit_of_the_way_back_loses_nothing(agentflow: Kit, agentflow_db: str, commits: int) -> None:
    """T30: nothing runs twice, what is open is closed once, and the next message just works."""
    marks = Marks()
    levels(agentflow, marks)
    agentflow.send("which one?")
    agentflow.kill()
    agentflow.reopen()
    agentflow.kill_after(commits)
    try:
        assert agentflow.answer("green").answer == "the green one it is"
    except ProcessKilled:
        agentflow.reopen()
        agentflow.script([{"text": "fine"}], agent="main")
        assert agentflow.send("and now?").answer == "fine"
        states = {row[0] for row in rows(agentflow_db, "SELECT status FROM execution WHERE number < 5")}
        assert states in ({"ABORTED"}, {"DONE"})
    assert len(marks.made) == len(set(marks.made))
    assert rows(agentflow_db, "SELECT name FROM tool_call WHERE status IN ('planned', 'started')") == []
    assert rows(agentflow_db, "SELECT id FROM llm_call WHERE status = 'requested'") == []
    asked = [message["tool_call_id"] for message in agentflow.path() if message["role"] == "tool"]
    assert len(asked) == len(set(asked))


def test_a_stopped_question_of_a_sub_agent_closes_every_run(agentflow: Kit, agentflow_db: str) -> None:
    """T25"""
    levels(agentflow, Marks())
    agentflow.send("which one?")
    agentflow.stop()
    check_ended(agentflow, agentflow_db, "ABORTED")
    agentflow.script([{"text": "fine"}], agent="main")
    assert agentflow.send("and now?").answer == "fine"


def test_a_second_question_of_the_same_sub_agent_pauses_again(agentflow: Kit) -> None:
    """T20, T22"""
    again = call("ask_user", questions=[{"header": "Size", "question": "How big?"}])
    helper = [{"tool_calls": [ASK]}, {"tool_calls": [again]}, {"text": "a big green one"}]
    agentflow.agent("helper", replies=helper)
    agentflow.agent("parent", replies=[delegate("n", "helper")], sub_agents=["helper"])
    agentflow.send("one please")
    agentflow.restart()
    second = agentflow.answer("green")
    assert (second.state, (second.question or {})["questions"][0]["header"]) == ("paused_ask_user", "Size")
    agentflow.restart()
    assert agentflow.answer("big").answer == "a big green one"
    assert [step["status"] for step in agentflow.session()["steps"]] == ["paused_ask_user", "paused_ask_user", "done"]


def test_a_resumed_sub_agent_has_its_todos_and_its_note_back(agentflow: Kit, agentflow_db: str) -> None:
    """ "A turn that resumes after ask_user restores the todos" (T32)"""
    todo = call("write_todos", todos=[{"content": "look", "status": "pending"}])
    helper = [{"tool_calls": [todo, ASK]}, {"tool_calls": [todo]}, {"text": "ok"}]
    agentflow.agent("helper", replies=helper, planning=True)
    agentflow.agent("parent", replies=[delegate("be brief", "helper")], sub_agents=["helper"])
    agentflow.send("one please")
    agentflow.restart()
    assert agentflow.answer("green").answer == "ok"
    assert any("be brief" in text for role, text in said(agentflow.requests_of("helper")[1]) if role == "system")
    assert rows(agentflow_db, "SELECT execution, number FROM todo_list ORDER BY number") == [(2, 1), (2, 2)]
    assert agentflow.events("todo") == []


def test_usage_of_both_sides_of_a_pause_counts_once(agentflow: Kit) -> None:
    """B35, X6"""
    used = {"usage": {"input": 10, "output": 1, "cost": 0.5}}
    agentflow.agent("helper", replies=[{"tool_calls": [ASK], **used}, {"text": "ok", **used}])
    agentflow.agent("parent", replies=[delegate("n", "helper") | used], sub_agents=["helper"])
    agentflow.send("one please")
    agentflow.restart()
    assert agentflow.answer("green").usage.input == 30
    totals = agentflow.usage()
    assert (totals["input"], totals["output"], totals["cost"]) == (30, 3, "1.5")


def test_a_limit_that_asks_pauses_a_delegated_run_too(agentflow: Kit) -> None:
    """T39: `ask` asks the user whether to go on."""

    def look() -> str:
        """Look."""
        return "quiet"

    helper = [{"tool_calls": [call("look")]}, {"text": "it is quiet"}]
    agentflow.agent("helper", replies=helper, tools=[look], settings={"max_iterations": 1, "on_limit": "ask"})
    agentflow.agent("parent", replies=[delegate("n", "helper")], sub_agents=["helper"])
    assert "max_iterations" in (agentflow.send("look").question or {})["text"]
    agentflow.restart()
    assert agentflow.answer("Stop here").answer == "it is quiet"
    assert agentflow.requests_of("helper")[1].tools == ()


def test_a_sub_agent_that_is_gone_when_the_answer_comes_gives_the_turn_back(agentflow: Kit, agentflow_db: str) -> None:
    """A7: a paused turn resumes with the current file, whatever that is by now."""
    marks = Marks()
    levels(agentflow, marks)
    agentflow.send("which one?")
    agentflow.agent("other", replies=[])
    agentflow.agent("main", replies=[{"text": "I must do without."}], sub_agents=["other"])
    result = agentflow.answer("green")
    assert (result.state, result.answer) == ("done", "I must do without.")
    assert "does not list it under sub_agents any more" in results(agentflow.requests_of("main")[-1])[-1]
    states = rows(agentflow_db, "SELECT status FROM execution ORDER BY number")
    assert [row[0] for row in states] == ["DONE", "ERROR", "ABORTED", "ABORTED"]
    assert rows(agentflow_db, "SELECT name FROM tool_call WHERE status IN ('planned', 'started')") == []


def test_a_resumed_delegate_that_fails_is_an_error_result_and_the_parent_goes_on(
    agentflow: Kit, agentflow_db: str
) -> None:
    """T35, in the other process as well."""
    agentflow.agent("helper", replies=[{"tool_calls": [ASK]}, {"error": {"kind": "auth"}}])
    agentflow.agent("parent", replies=[delegate("n", "helper"), {"text": "I do it."}], sub_agents=["helper"])
    agentflow.send("one please")
    agentflow.restart()
    assert agentflow.answer("green").answer == "I do it."
    assert "auth" in results(agentflow.requests_of("parent")[-1])[-1]
    assert rows(agentflow_db, "SELECT status FROM execution ORDER BY number") == [("DONE",), ("ERROR",)]


def test_a_view_that_names_the_answer_to_a_sub_agent_goes_on_after_it(agentflow: Kit) -> None:
    """C26, C27: the client resends its whole view, the messages that were answers included."""
    agentflow.agent("sub", replies=[{"tool_calls": [ASK]}, {"tool_calls": [ASK]}, {"text": "two"}])
    agentflow.agent("main", sub_agents=["sub"], replies=[delegate("note", "sub"), {"text": "three"}])
    users = [{"id": f"u{n}", "role": "user", "content": f"text {n}"} for n in range(4)]
    agentflow.send(users[0])
    agentflow.send(users[1])
    assert agentflow.view(users[:3]).answer == "two"
    answer = agentflow.path()[-1]
    assert agentflow.view([*users[:3], answer, users[3]]).answer == "three"
    contents = [message["content"] for message in agentflow.path()]
    assert contents == ["text 0", None, "two", "two", "text 3", "three"]
    assert agentflow.submit({"type": "client.message", "message": users[1]}).replayed


def test_a_view_with_a_sub_agents_message_is_refused_in_words(agentflow: Kit) -> None:
    """C1: its messages are told, and are no nodes of the conversation."""
    agentflow.agent("sub", replies=[{"text": "two"}])
    agentflow.agent("main", sub_agents=["sub"], replies=[delegate("note", "sub")])
    agentflow.send("text 0")
    below = next(each.data["message"] for each in agentflow.events("message.new") if "execution" in each.data)
    before = agentflow.tree()
    with pytest.raises(InvalidInput, match="a sub-agent's") as refused:
        agentflow.view([*agentflow.path(), {"role": "user", "content": "more"}, below])
    assert refused.value.detail == {"message_id": below["id"]}
    assert agentflow.tree() == before
