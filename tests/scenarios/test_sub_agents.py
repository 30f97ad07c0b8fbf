"""Sub-agents: a piece of work (`task`) and the rest of the turn (`delegate`) (T34, T35)."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from agentflow import Event, ModelRequest
from agentflow.testing import Kit
from tests.scenarios.support import Gate, call, results, rows, said, watched

Reply = dict[str, Any]


def look(place: str) -> str:
    """Look at a place."""
    if place == "nowhere":
        raise ValueError("there is no such place")
    return f"{place} is quiet"


def task(prompt: str, agent: str = "helper") -> Reply:
    return call("task", agent=agent, prompt=prompt)


def tasks(*prompts: str, **more: Any) -> Reply:
    return {"tool_calls": [task(prompt) for prompt in prompts], **more}


def delegate(note: str, agent: str = "helper") -> Reply:
    return {"tool_calls": [call("delegate", agent=agent, message=note)]}


def family(kit: Kit, replies: Any, helper: Any, *, settings: dict[str, Any] | None = None, **keys: Any) -> None:
    """A parent that answers with `replies` and its helper; `keys` and `settings` are the helper's."""
    kit.agent("helper", replies=helper, description="Helps.", settings=settings, prompt="You help.", **keys)
    kit.agent("parent", replies=replies, sub_agents=["helper"])


def executions(db: str) -> list[tuple[Any, ...]]:
    return rows(db, "SELECT number, agent, status, parent, parent_call_id FROM execution ORDER BY number")


def of_run(events: list[Event], number: int) -> list[str]:
    return [event.type for event in events if event.data.get("execution") == number]


def test_a_task_runs_with_its_prompt_alone_and_returns_its_final_text(agentflow: Kit, agentflow_db: str) -> None:
    """T34: a child execution with its own history; "not surfaced" are all its words but the last."""
    family(agentflow, [tasks("count the doors"), {"text": "There are three."}], [{"text": "three doors"}])
    agentflow.send("how many doors?")
    (asked,) = agentflow.requests_of("helper")
    assert said(asked) == [("system", "You help."), ("user", "count the doors")]
    assert results(agentflow.requests_of("parent")[1]) == ["three doors"]
    assert agentflow.session()["messages"][-1]["content"] == "There are three."
    assert [row[:4] for row in executions(agentflow_db)] == [(1, "parent", "DONE", None), (2, "helper", "DONE", 1)]
    assert executions(agentflow_db)[1][4] == agentflow.events("tool.call.requested")[0].data["id"]


def test_a_sub_agent_s_messages_are_no_part_of_the_session_s_path(agentflow: Kit) -> None:
    """C1: a sub-agent run has its own root and head."""
    family(agentflow, [tasks("x"), {"text": "ok"}], [{"text": "secret"}])
    agentflow.send("hi")
    assert [message["role"] for message in agentflow.path()] == ["user", "assistant", "tool", "assistant"]
    agentflow.script([{"text": "again"}], agent="parent")
    agentflow.send("and now?")
    assert "secret" not in [text for _, text in said(agentflow.requests[-1])]


def test_events_of_a_sub_agent_carry_its_execution_live_and_in_the_log(agentflow: Kit) -> None:
    """T40: what is read back equals what was streamed."""
    gate = Gate(tasks("x"), {"text": "ok"})
    family(agentflow, gate, [{"text": "found", "chunk_size": 2}])
    seen = watched(agentflow, "hi", gate)
    logged = agentflow.events()
    assert [event.as_dict() for event in seen if event.seq is not None] == [event.as_dict() for event in logged]
    assert of_run(logged, 2) == ["message.new", "llm.call.requested", "llm.call.completed", "message.new"]
    deltas = [event.data for event in seen if event.type == "llm.delta"]
    assert [data.get("execution") for data in deltas] == [2, 2, 2, None]
    assert not any(data.get("heard") for data in deltas)


def test_tasks_of_one_reply_run_side_by_side(agentflow: Kit) -> None:
    """T34: "several in parallel"."""
    running: list[str] = []
    met = asyncio.Event()

    async def meet(request: ModelRequest) -> Reply:
        running.append(request.messages[-1]["content"])
        if len(running) == 3:
            met.set()
        await met.wait()
        return {"text": f"did {request.messages[-1]['content']}"}

    family(agentflow, [tasks("a", "b", "c"), {"text": "all"}], meet)
    agentflow.send("go")
    assert results(agentflow.requests_of("parent")[-1]) == ["did a", "did b", "did c"]


FAILED = {"error": {"kind": "bad_request"}}


@pytest.mark.parametrize(
    ("helper", "settings", "reason"),
    [
        pytest.param([FAILED], {}, "bad_request", id="provider"),
        pytest.param([{"tool_calls": [call("look", place="a")]}, {"text": ""}], {}, "answered nothing", id="empty"),
        pytest.param([{"text": ""}], {"llm_retries": 0}, "neither text nor a call", id="silent"),
        pytest.param(
            [{"text": "I look.", "tool_calls": [call("look", place="a")]}],
            {"max_iterations": 1, "on_limit": "stop"},
            "max_iterations",
            id="limit",
        ),
        pytest.param([{"text": "Half of it", "error": {"kind": "cut"}}], {}, "model_error.cut", id="cut"),
    ],
)
def test_a_child_that_failed_is_an_error_result_with_its_reason(
    agentflow: Kit, agentflow_db: str, helper: list[Reply], settings: dict[str, Any], reason: str
) -> None:
    """T35, B75: the parent goes on."""
    family(agentflow, [tasks("x"), {"text": "It failed."}], helper, settings=settings, tools=[look])
    result = agentflow.send("go")
    assert (result.state, result.answer) == ("done", "It failed.")
    (text,) = results(agentflow.requests_of("parent")[-1])
    assert "sub-agent 'helper'" in text
    assert reason in text
    assert [event.type for event in agentflow.events("tool.call.errored")] == ["tool.call.errored"]
    assert executions(agentflow_db)[1][2] == "ERROR"
    assert rows(agentflow_db, "SELECT count(*) FROM llm_call WHERE status = 'requested'") == [(0,)]


def test_the_parent_reads_what_a_failed_child_had_said(agentflow: Kit) -> None:
    """B75: "bounded partial work"."""
    helper = [{"text": "I found the key.", "tool_calls": [call("look", place="a")]}, {"text": "and t" * 1000, **FAILED}]
    family(agentflow, [tasks("x"), {"text": "ok"}], helper, tools=[look])
    agentflow.send("go")
    (text,) = results(agentflow.requests_of("parent")[-1])
    assert "I found the key." in text
    assert len(text) < 2500


def test_a_child_done_at_a_limit_is_a_success_with_a_notice(agentflow: Kit, agentflow_db: str) -> None:
    """T35"""
    helper = [{"tool_calls": [call("look", place="a")]}, {"text": "as far as I got"}]
    family(agentflow, [tasks("x"), {"text": "ok"}], helper, settings={"max_iterations": 1}, tools=[look])
    agentflow.send("go")
    assert results(agentflow.requests_of("parent")[-1]) == ["as far as I got\n[The sub-agent reached max_iterations.]"]
    assert executions(agentflow_db)[1][2] == "DONE"
    assert agentflow.events("tool.call.errored") == []


def test_a_child_that_recovers_from_a_failed_tool_is_a_success(agentflow: Kit, agentflow_db: str) -> None:
    """B75"""
    helper = [{"tool_calls": [call("look", place="nowhere")]}, {"text": "but the garden is quiet"}]
    family(agentflow, [tasks("x"), {"text": "ok"}], helper, tools=[look])
    agentflow.send("go")
    assert results(agentflow.requests_of("parent")[-1]) == ["but the garden is quiet"]
    assert executions(agentflow_db)[1][2] == "DONE"


def test_of_three_parallel_children_one_fails_and_the_others_count(agentflow: Kit, agentflow_db: str) -> None:
    """B07, B75"""

    def helper(request: ModelRequest) -> Reply:
        prompt = request.messages[-1]["content"]
        return {"error": {"kind": "auth"}} if prompt == "b" else {"text": f"did {prompt}"}

    family(agentflow, [tasks("a", "b", "c"), {"text": "two of three"}], helper)
    assert agentflow.send("go").answer == "two of three"
    first, second, third = results(agentflow.requests_of("parent")[-1])
    assert (first, third) == ("did a", "did c")
    assert "auth" in second
    assert sorted(row[2] for row in executions(agentflow_db)[1:]) == ["DONE", "DONE", "ERROR"]


def test_a_task_s_question_never_surfaces(agentflow: Kit) -> None:
    """ "A question from a sub-agent called through task is not surfaced to the user." (T22)"""
    asked = call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])
    family(agentflow, [tasks("x"), {"text": "ok"}], [{"tool_calls": [asked]}, {"text": "I took the first."}])
    result = agentflow.send("go")
    assert (result.state, result.question) == ("done", None)
    first, second = agentflow.requests_of("helper")
    assert "ask_user" not in [tool["function"]["name"] for tool in first.tools]
    assert "Decide yourself, or report back" in results(second)[0]
    assert agentflow.events("ask_user") == []


def test_whom_a_task_hands_over_to_cannot_ask_either(agentflow: Kit) -> None:
    """T22: the task's own run is the one that nobody hears."""
    asked = call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])
    agentflow.agent("third", replies=[{"tool_calls": [asked]}, {"text": "the first"}])
    agentflow.agent("helper", replies=[delegate("you do it", "third")], sub_agents=["third"])
    agentflow.agent("parent", replies=[tasks("x"), {"text": "ok"}], sub_agents=["helper"])
    assert agentflow.send("go").state == "done"
    assert results(agentflow.requests_of("parent")[-1]) == ["the first"]


def test_a_sub_agent_s_todos_are_not_streamed(agentflow: Kit, agentflow_db: str) -> None:
    """ "streamed to the client as a todo event (main agent only)" (T32)"""
    todo = call("write_todos", todos=[{"content": "look", "status": "pending"}])
    family(agentflow, [tasks("x"), {"text": "ok"}], [{"tool_calls": [todo]}, {"text": "done"}], planning=True)
    agentflow.send("go")
    assert agentflow.events("todo") == []
    assert agentflow.status()["todos"] == []
    assert rows(agentflow_db, "SELECT execution FROM todo_list") == [(2,)]


def test_usage_and_cost_of_every_child_count_once(agentflow: Kit, agentflow_db: str) -> None:
    """B35: a parent (100/10), two children with calls of 50/5, one failing after its first call."""
    used = {"usage": {"input": 50, "output": 5, "cost": 0.01}}

    def helper(request: ModelRequest) -> Reply:
        if request.messages[-1]["role"] == "user":
            return {"tool_calls": [call("look", place="a")], **used}
        return {"text": "well", **used} if request.messages[1]["content"] == "a" else FAILED

    own = {"usage": {"input": 100, "output": 10, "cost": 0.1}}
    family(agentflow, [tasks("a", "b", **own), {"text": "ok", **own}], helper, tools=[look])
    result = agentflow.send("go")
    assert (result.usage.input, result.usage.output) == (100 * 2 + 50 * 3, 10 * 2 + 5 * 3)
    assert result.usage.cost == Decimal("0.23")
    totals = agentflow.usage()
    assert (totals["input"], totals["output"], totals["cost"]) == (350, 35, "0.23")
    each = rows(agentflow_db, "SELECT execution, sum(input) FROM llm_call GROUP BY execution ORDER BY execution")
    assert sum(tokens or 0 for _, tokens in each) == 350


def test_a_limit_of_the_turn_counts_the_children(agentflow: Kit) -> None:
    """T39: `max_input_tokens` ... "per turn, children included"."""
    agentflow.agent("helper", replies=[{"text": "did it", "usage": {"input": 90, "output": 1}}])
    agentflow.agent(
        "parent",
        replies=[tasks("x", usage={"input": 20, "output": 1}), {"text": "enough"}],
        sub_agents=["helper"],
        settings={"max_input_tokens": 100},
    )
    result = agentflow.send("go")
    assert (result.answer, result.limit) == ("enough", "max_input_tokens")


def test_a_child_has_the_limits_of_its_own_file(agentflow: Kit) -> None:
    """ "Sub-agents apply their own limits from their own settings." """
    helper = [{"tool_calls": [call("look", place="a")]} for _ in range(3)] + [{"text": "done"}]
    agentflow.agent("helper", replies=helper, tools=[look])
    agentflow.agent(
        "parent", replies=[tasks("x"), {"text": "ok"}], sub_agents=["helper"], settings={"max_tool_calls": 2}
    )
    result = agentflow.send("go")
    assert (result.answer, result.limit) == ("ok", None)


def test_a_child_that_takes_too_long_is_an_error_result(agentflow: Kit, agentflow_db: str) -> None:
    """T34: `turn_timeout_secs` of its own file; its parent goes on."""

    async def never() -> str:
        """Wait for ever."""
        await asyncio.Event().wait()
        return ""

    family(
        agentflow,
        [tasks("x"), {"text": "ok"}],
        [{"text": "I wait.", "tool_calls": [call("never")]}],
        tools=[never],
        settings={"turn_timeout_secs": 0.05, "tool_timeout_secs": 0},
    )
    assert agentflow.send("go").answer == "ok"
    (text,) = results(agentflow.requests_of("parent")[-1])
    assert "turn_timeout_secs" in text
    assert executions(agentflow_db)[1][2] == "ERROR"
    assert rows(agentflow_db, "SELECT status FROM tool_call WHERE execution = 2") == [("closed",)]


def deeper(request: ModelRequest) -> Reply:
    """Calls itself as deep as it can; each run wraps what it got."""
    if request.messages[-1]["role"] == "tool":
        return {"text": f"<{request.messages[-1]['content']}>"}
    return {"tool_calls": [task("deeper", "loop")]}


@pytest.mark.parametrize("depth", [1, 3])
def test_sub_agents_that_call_each_other_end_at_max_subagent_depth(
    agentflow: Kit, agentflow_db: str, depth: int
) -> None:
    """T35: an error result, and the turn ends well."""
    agentflow.agent("loop", replies=deeper, sub_agents=["loop"], settings={"max_subagent_depth": depth})
    answer = agentflow.send("go").answer or ""
    assert "max_subagent_depth" in answer
    assert answer.count("<") == depth + 1
    assert len(executions(agentflow_db)) == depth + 1


def test_each_agent_s_depth_limit_holds_below_it(agentflow: Kit, agentflow_db: str) -> None:
    """T35: a child's own figure cannot undo its parent's."""
    agentflow.agent("third", replies=[])
    agentflow.agent(
        "helper",
        replies=[{"tool_calls": [task("x", "third")]}, {"text": "alone"}],
        sub_agents=["third"],
        settings={"max_subagent_depth": 5},
    )
    agentflow.agent(
        "parent", replies=[tasks("x"), {"text": "ok"}], sub_agents=["helper"], settings={"max_subagent_depth": 1}
    )
    assert agentflow.send("go").answer == "ok"
    assert "below 'parent'" in results(agentflow.requests_of("helper")[-1])[0]
    assert len(executions(agentflow_db)) == 2


def test_an_unknown_sub_agent_is_an_error_result(agentflow: Kit) -> None:
    """T13, T35"""
    family(agentflow, [{"tool_calls": [task("x", "nobody")]}, {"text": "ok"}], [])
    assert agentflow.send("go").answer == "ok"
    assert "nobody" in results(agentflow.requests[-1])[0]


def test_a_sub_agent_whose_input_nobody_gave_is_an_error_result(agentflow: Kit) -> None:
    """T35: it cannot run, the parent goes on."""
    family(agentflow, [tasks("x"), {"text": "ok"}], [], inputs={"customer": {"required": True}})
    assert agentflow.send("go").answer == "ok"
    assert "customer" in results(agentflow.requests[-1])[0]


# -- delegate ----------------------------------------------------------------------------------------------------------


def test_delegate_ends_the_turn_with_the_sub_agent_s_answer(agentflow: Kit, agentflow_db: str) -> None:
    """ "when a tool ends the turn (such as ask_user or delegate)": the user's message, and the parent's note."""
    family(agentflow, [delegate("about invoice 7")], [{"text": "Invoice 7 is paid."}])
    result = agentflow.send("is my invoice paid?")
    assert (result.state, result.answer) == ("done", "Invoice 7 is paid.")
    (asked,) = agentflow.requests_of("helper")
    assert said(asked)[-1] == ("user", "is my invoice paid?")
    assert any("about invoice 7" in text for role, text in said(asked) if role == "system")
    assert len(agentflow.requests_of("parent")) == 1
    assert [row[2] for row in executions(agentflow_db)] == ["DONE", "DONE"]


def test_lean_history_keeps_a_delegated_answer(agentflow: Kit) -> None:
    """T34, "keeps only the conversational messages": the answer is one of them."""
    family(agentflow, [delegate("n"), {"text": "You are welcome."}], [{"text": "Invoice 7 is paid."}])
    agentflow.send("is my invoice paid?")
    agentflow.restart()
    agentflow.send("thanks")
    assert said(agentflow.requests[-1])[1:] == [
        ("user", "is my invoice paid?"),
        ("assistant", "Invoice 7 is paid."),
        ("user", "thanks"),
    ]


def test_a_delegated_agent_s_text_is_told_as_the_answer_s(agentflow: Kit) -> None:
    """T40: its deltas may be shown, a task's may not."""
    gate = Gate(delegate("n"))
    family(agentflow, gate, [{"text": "Invoice 7 is paid.", "chunk_size": 30}])
    (delta,) = [event.data for event in watched(agentflow, "hi", gate) if event.type == "llm.delta"]
    assert (delta["execution"], delta["heard"], delta["text"]) == (2, True, "Invoice 7 is paid.")


def test_a_delegate_that_fails_is_an_error_result_and_the_parent_answers(agentflow: Kit) -> None:
    """T35"""
    family(agentflow, [delegate("n"), {"text": "I do it myself."}], [{"error": {"kind": "auth"}}])
    assert agentflow.send("go").answer == "I do it myself."


def test_of_two_delegates_in_one_reply_the_second_gets_an_error_result(agentflow: Kit) -> None:
    """T8: "the others get error results"."""
    both = {"tool_calls": [*delegate("a")["tool_calls"], *delegate("b")["tool_calls"], task("first")]}
    family(agentflow, [both], [{"text": "did first"}, {"text": "answered"}])
    assert agentflow.send("go").answer == "answered"
    assert agentflow.requests_of("helper")[0].messages[-1]["content"] == "first"
    (refused,) = agentflow.events("tool.call.errored")
    assert "only one call of a reply can" in refused.data["error"]
