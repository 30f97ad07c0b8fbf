"""Hooks: the author's flows at the points of a turn (T5, T9, T36, T37)."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from agentflow import FlowContext, InvalidConfig, ModelRequest
from agentflow.testing import Kit, ProcessKilled
from tests.scenarios.support import Gate, call, results, rows, said, watched

Reply = dict[str, Any]


def look(place: str) -> str:
    """Look at a place."""
    return f"{place} is quiet"


def looks(place: str) -> Reply:
    return {"tool_calls": [call("look", place=place)]}


def returning(value: Any, name: str = "hook") -> Any:
    """A hook that says this."""

    def hook(ctx: FlowContext) -> Any:
        return value

    hook.__name__ = name
    return hook


def ran(kit: Kit) -> list[tuple[str, str, str]]:
    """`(point, flow, outcome)` of every hook, in order."""
    return [(event.data["point"], event.data["flow"], event.data["outcome"]) for event in kit.events("hook.completed")]


# -- step_start --------------------------------------------------------------------------------------------------------


def test_step_start_runs_once_per_step_before_the_model_sees_the_message(agentflow: Kit) -> None:
    """ "The step_start hook runs once per step, before the model sees the user message." """
    seen: list[Any] = []

    def load(ctx: FlowContext) -> None:
        seen.append((dict(ctx.hook), len(agentflow.requests)))

    agentflow.agent(hooks={"step_start": [load]}, tools=[look], replies=[looks("a"), {"text": "quiet"}])
    agentflow.send("how is a?")
    assert seen == [({"message": "how is a?", "resumed": False}, 0)]
    assert ran(agentflow) == [("step_start", "load", "ok")]


def test_a_resumed_step_runs_step_start_with_resumed_true(agentflow: Kit) -> None:
    """T5: every request opens a step."""
    seen: list[Any] = []

    def load(message: str, resumed: bool) -> None:
        seen.append((message, resumed))

    asked = call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])
    agentflow.agent(hooks={"step_start": [load]}, replies=[{"tool_calls": [asked]}, {"text": "ok"}])
    agentflow.send("one please")
    agentflow.restart()
    agentflow.answer("green")
    assert seen == [("one please", False), ("Which: green", True)]


def test_context_of_step_start_is_read_in_this_step_only(agentflow: Kit) -> None:
    """X4: after the earlier turns, directly before the step's user message."""
    agentflow.agent(
        hooks={"step_start": [returning({"context": "It rains."}, "one"), returning({"context": "It is May."}, "two")]},
        replies=[{"text": "a1"}, {"text": "a2"}],
    )
    agentflow.send("m1")
    agentflow.send("m2")
    first, second = agentflow.requests
    assert said(first)[1:] == [("system", "It rains.\n\nIt is May."), ("user", "m1")]
    assert said(second)[1:] == [
        ("user", "m1"),
        ("assistant", "a1"),
        ("system", "It rains.\n\nIt is May."),
        ("user", "m2"),
    ]


def test_variables_of_step_start_stand_in_the_prompt(agentflow: Kit) -> None:
    """T36: of a name the last hook's value counts; the next hook sees them."""
    seen: list[Any] = []

    def second(ctx: FlowContext) -> Any:
        seen.append(dict(ctx.vars))
        return {"vars": {"tier": "gold"}}

    agentflow.agent(
        prompt="{{ vars.name }} is {{ vars.tier }}.",
        hooks={"step_start": [returning({"vars": {"name": "Ada", "tier": "?"}}, "first"), second]},
        replies=[{"text": "ok"}],
    )
    agentflow.send("hi")
    assert said(agentflow.requests[0])[0] == ("system", "Ada is gold.")
    assert seen == [{"name": "Ada", "tier": "?"}]


def test_step_start_replaces_the_user_message_and_the_first_stays_in_the_tree(agentflow: Kit) -> None:
    """T36"""

    def redact(message: str) -> Any:
        return {"message": message.replace("4711", "****")}

    agentflow.agent(hooks={"step_start": [redact]}, replies=[{"text": "ok"}, {"text": "again"}, {"text": "third"}])
    agentflow.send("my pin is 4711")
    assert said(agentflow.requests[0])[-1] == ("user", "my pin is ****")
    assert [message["content"] for message in agentflow.path()] == ["my pin is ****", "ok"]
    assert "my pin is 4711" in [node["message"]["content"] for node in agentflow.tree()["nodes"]]
    agentflow.restart()
    agentflow.send("and 4711 again")
    assert said(agentflow.requests[1])[1:] == [
        ("user", "my pin is ****"),
        ("assistant", "ok"),
        ("user", "and **** again"),
    ]
    agentflow.regenerate()
    assert said(agentflow.requests[2])[-1] == ("user", "and **** again")
    assert agentflow.path()[-1]["content"] == "third"


def test_a_replaced_message_is_replaced_again_when_it_is_answered_anew(agentflow: Kit) -> None:
    """C11, T36: the view of a client that knows only its own message ends in that one."""

    def redact(message: str) -> Any:
        return {"message": message.replace("4711", "****")}

    agentflow.agent(hooks={"step_start": [redact]}, replies=[{"text": "ok"}, {"text": "anew"}])
    agentflow.send({"role": "user", "content": "my pin is 4711", "id": "u1"})
    agentflow.view([{"role": "user", "content": "my pin is 4711", "id": "u1"}])
    assert said(agentflow.requests[1])[1:] == [("user", "my pin is ****")]
    assert [message["content"] for message in agentflow.path()] == ["my pin is ****", "anew"]


def test_block_fails_the_turn_with_the_hook_s_reason(agentflow: Kit) -> None:
    """T36: no model is called, later hooks are not asked, and the session goes on."""
    later = returning({"context": "never"}, "later")
    agentflow.agent(hooks={"step_start": [returning({"block": "You have no contract."}, "gate"), later]}, replies=[])
    result = agentflow.send("hi")
    assert (result.state, result.error) == (
        "failed",
        {"code": "blocked", "message": "You have no contract.", "detail": {}},
    )
    assert agentflow.requests == []
    assert ran(agentflow) == [("step_start", "gate", "changed")]
    agentflow.agent(replies=[{"text": "now you have"}])
    assert agentflow.send("and now?").answer == "now you have"


def test_a_replacement_on_a_step_without_a_user_message_is_refused_in_words(agentflow: Kit) -> None:
    """T36: a resumed step goes on with an answer."""
    asked = call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])
    agentflow.agent(hooks={"step_start": [returning({"message": "other"})]}, replies=[{"tool_calls": [asked]}])
    agentflow.send("one please")
    error = agentflow.answer("green").error or {}
    assert error["code"] == "hook_failed"
    assert "resumed" in error["message"]


# -- step_end ----------------------------------------------------------------------------------------------------------


def test_step_end_continues_within_the_same_step(agentflow: Kit, agentflow_db: str) -> None:
    """ "A step_end hook can ask for a continuation, which re-runs the loop within the same step." """

    def check(answer: str, continuations: int) -> Any:
        return {"continue": "Say it in French."} if continuations == 0 else None

    agentflow.agent(hooks={"step_end": [check]}, replies=[{"text": "hello"}, {"text": "bonjour"}])
    result = agentflow.send("greet me")
    assert result.answer == "bonjour"
    assert said(agentflow.requests[1])[1:] == [
        ("user", "greet me"),
        ("assistant", "hello"),
        ("user", "Say it in French."),
    ]
    assert [step["order"] for step in agentflow.session()["steps"]] == [1]
    assert len(agentflow.events("done")) == 1
    hidden = [message for message in agentflow.tree()["nodes"] if message["message"].get("hidden")]
    assert [node["message"]["content"] for node in hidden] == ["Say it in French."]


def test_a_continuation_is_hidden_from_the_transcript_and_stays_in_the_history(agentflow: Kit) -> None:
    """T36: "enters the history as a marked user message, hidden from the transcript"."""

    def once(continuations: int) -> Any:
        return {"continue": "Shorter."} if not continuations else None

    agentflow.agent(hooks={"step_end": [once]}, replies=[{"text": "long"}, {"text": "short"}])
    agentflow.send("m1")
    assert [message["content"] for message in agentflow.path()] == ["m1", "long", "short"]
    agentflow.restart()
    agentflow.script([{"text": "x"}, {"text": "y"}])
    agentflow.send("m2")
    assert ("user", "Shorter.") in said(agentflow.requests[2])[:-1]


def test_a_hidden_message_that_is_copied_twice_stays_hidden(agentflow: Kit) -> None:
    """D82: in a view's news and by making room; the live view and the log say the same, and so does the tree."""

    def once(continuations: int) -> Any:
        return {"continue": "Shorter."} if not continuations else None

    agentflow.agent(hooks={"step_end": [once]}, replies=lambda request: {"text": f"a{len(agentflow.requests)}"})
    agentflow.send("m1")

    def hidden() -> list[str]:
        return [each["message"]["id"] for each in agentflow.tree()["nodes"] if each["message"].get("hidden")]

    for nth, text in enumerate(("edited", "edited again")):  # a copy, then a copy of that copy
        agentflow.view(
            [{"role": "user", "content": text}, {"id": hidden()[nth], "role": "user", "content": "Shorter."}]
        )
    told = {event.data["message"]["id"]: event.data for event in agentflow.events("message.new")}
    copies = [identifier for identifier in hidden() if "copied_from" in told[identifier]]
    assert [told[identifier]["copied_from"] for identifier in copies] == [hidden()[0]] * 2
    assert all(told[identifier]["message"]["hidden"] for identifier in hidden())


def test_the_transcript_can_be_sent_back_as_a_view(agentflow: Kit) -> None:
    """C10: what is hidden from a client is not missed in its view."""

    def once(answer: str) -> Any:
        return {"continue": "Shorter."} if answer == "long" else None

    agentflow.agent(hooks={"step_end": [once]}, replies=[{"text": "long"}, {"text": "short"}, {"text": "next"}])
    agentflow.send("m1")
    agentflow.view([*agentflow.path(), {"role": "user", "content": "m2"}])
    assert said(agentflow.requests[-1])[1:] == [
        ("user", "m1"),
        ("assistant", "long"),
        ("user", "Shorter."),
        ("assistant", "short"),
        ("user", "m2"),
    ]


@pytest.mark.parametrize("restart", [False, True], ids=["warm", "cold"])
def test_a_view_without_the_last_reply_makes_that_one_again_though_a_hidden_message_asked_for_it(
    agentflow: Kit, restart: bool
) -> None:
    """C14, D32: with a model call, on what was hidden; sending all of it back changes nothing."""

    def once(answer: str) -> Any:
        return {"continue": "Shorter."} if answer == "long" else None

    agentflow.agent(hooks={"step_end": [once]}, replies=[{"text": "long"}, {"text": "short"}])
    agentflow.send("m1")
    view = agentflow.path()
    if restart:
        agentflow.restart()
    agentflow.script([{"text": "again"}])
    assert agentflow.view(view[:-1]).answer == "again"
    assert said(agentflow.requests[-1])[1:] == [("user", "m1"), ("assistant", "long"), ("user", "Shorter.")]
    assert [message["content"] for message in agentflow.path()] == ["m1", "long", "again"]
    asked = len(agentflow.requests)
    agentflow.view(agentflow.path())
    assert len(agentflow.requests) == asked


@pytest.mark.parametrize("allowed", [0, 1, 3])
def test_a_continuation_cannot_loop_past_its_limit(agentflow: Kit, allowed: int) -> None:
    """T9: `max_continuations`, then the answer stands."""
    agentflow.agent(
        hooks={"step_end": [returning({"continue": "Again."})]},
        replies=[{"text": f"a{number}"} for number in range(allowed + 1)],
        settings={"max_continuations": allowed},
    )
    result = agentflow.send("go")
    assert (result.state, result.answer) == ("done", f"a{allowed}")


def test_a_step_that_is_at_a_limit_does_not_go_on(agentflow: Kit) -> None:
    """T39: a continuation is no way around the limits."""
    agentflow.agent(
        hooks={"step_end": [returning({"continue": "Again."})]}, replies=[{"text": "a"}], settings={"max_iterations": 1}
    )
    assert agentflow.send("go").answer == "a"


def test_step_end_replaces_the_answer(agentflow: Kit) -> None:
    """T36: in the result, the event, the transcript, and what the next turn reads."""

    def sign(answer: str) -> Any:
        return {"answer": f"{answer} Yours, A."}

    agentflow.agent(hooks={"step_end": [sign]}, replies=[{"text": "Hello."}, {"text": "Bye."}])
    assert agentflow.send("m1").answer == "Hello. Yours, A."
    assert agentflow.events("done")[0].data["answer"] == "Hello. Yours, A."
    assert agentflow.path()[-1]["content"] == "Hello. Yours, A."
    agentflow.send("m2")
    assert ("assistant", "Hello. Yours, A.") in said(agentflow.requests[1])


def test_step_end_sees_the_answer_of_a_delegated_sub_agent_also_after_a_pause(agentflow: Kit) -> None:
    """T9, T22"""

    def sign(answer: str) -> Any:
        return {"answer": f"{answer}!"}

    asked = call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])
    agentflow.agent("helper", replies=[{"tool_calls": [asked]}, {"text": "green"}])
    handing = {"tool_calls": [call("delegate", agent="helper", message="n")]}
    agentflow.agent("parent", hooks={"step_end": [sign]}, replies=[handing], sub_agents=["helper"])
    agentflow.send("one")
    agentflow.restart()
    assert agentflow.answer("green").answer == "green!"


def test_a_stop_while_step_end_runs_keeps_the_answer_with_its_marker(agentflow: Kit) -> None:
    """T24: one assistant message, the text, a newline, the marker."""
    began = asyncio.Event()

    async def slow(ctx: FlowContext) -> None:
        began.set()
        await asyncio.Event().wait()

    agentflow.agent(hooks={"step_end": [slow]}, replies=[{"text": "the answer"}])
    receipt = agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "go"}})
    agentflow.run(began.wait())
    agentflow.stop()
    result = agentflow.result(receipt.turn_id)
    assert (result.state, result.answer) == ("aborted", "the answer")
    assert [message["content"] for message in agentflow.path()] == ["go", "the answer\n<ABORTED BY USER>"]


def test_a_crash_while_step_end_runs_keeps_what_the_user_has_seen(agentflow: Kit) -> None:
    """T30"""
    began = asyncio.Event()

    async def slow(ctx: FlowContext) -> None:
        began.set()
        await asyncio.Event().wait()

    agentflow.agent(hooks={"step_end": [slow]}, replies=[{"text": "the answer"}])
    agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "go"}})
    agentflow.run(began.wait())
    agentflow.kill()
    agentflow.reopen()
    agentflow.agent(replies=[{"text": "fine"}])
    assert agentflow.send("and now?").answer == "fine"
    assert [message["content"] for message in agentflow.path()][:2] == ["go", "the answer\n<INTERRUPTED>"]


# -- pre_model, post_model ---------------------------------------------------------------------------------------------


def test_pre_model_changes_what_one_call_reads(agentflow: Kit) -> None:
    """T36: the history stays what it is."""

    def shout(messages: list[Any]) -> Any:
        return {"messages": [*messages[:-1], {**messages[-1], "content": messages[-1]["content"].upper()}]}

    agentflow.agent(hooks={"pre_model": [shout]}, replies=[{"text": "a1"}, {"text": "a2"}])
    agentflow.send("m1")
    agentflow.send("m2")
    assert said(agentflow.requests[0])[1:] == [("user", "M1")]
    assert said(agentflow.requests[1])[1:] == [("user", "m1"), ("assistant", "a1"), ("user", "M2")]


@pytest.mark.parametrize(
    "messages",
    [
        ["hi"],
        [{"role": "wizard", "content": "hi"}],
        [{"role": "tool", "tool_call_id": "nope", "content": "hi"}],
        [{"role": "assistant", "tool_calls": [{}]}],
        [{"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": "{}"}}]}],
        [{"role": "user", "content": {1, 2}}],
    ],
)
def test_pre_model_messages_are_checked_like_our_own(agentflow: Kit, agentflow_db: str, messages: list[Any]) -> None:
    """T7"""
    agentflow.agent(hooks={"pre_model": [returning({"messages": messages})]}, replies=[])
    error = agentflow.send("hi").error or {}
    assert error["code"] == "hook_failed"
    assert agentflow.requests == []
    assert rows(agentflow_db, "SELECT status FROM llm_call") == [("aborted",)]


def test_a_hook_that_changes_what_it_was_given_in_place_harms_nothing(agentflow: Kit) -> None:
    """T36: it gets copies."""

    def spoil(ctx: FlowContext) -> None:
        ctx.hook["messages"].clear()

    def spoil_call(arguments: dict[str, Any], call: dict[str, Any]) -> None:
        arguments["place"] = call["name"] = "spoilt"

    agentflow.agent(
        hooks={"pre_model": [spoil], "pre_tool": [spoil_call]},
        tools=[look],
        replies=[looks("a"), {"text": "ok"}, {"text": "fine"}],
    )
    agentflow.send("m1")
    agentflow.send("m2")
    assert results(agentflow.requests[1]) == ["a is quiet"]
    assert said(agentflow.requests[2])[1:] == [("user", "m1"), ("assistant", "ok"), ("user", "m2")]


def test_post_model_changes_the_reply_s_text(agentflow: Kit) -> None:
    """T36"""

    def polite(text: str, finish_reason: str) -> Any:
        return {"text": f"{text}, please"} if finish_reason == "stop" else None

    agentflow.agent(hooks={"post_model": [polite]}, tools=[look], replies=[looks("a"), {"text": "go"}])
    assert agentflow.send("m").answer == "go, please"


# -- pre_tool, post_tool -----------------------------------------------------------------------------------------------


def test_pre_tool_denies_a_call_with_its_reason(agentflow: Kit) -> None:
    """T36: an error result; siblings run."""

    def guard(arguments: dict[str, Any]) -> Any:
        return {"deny": "The cellar is closed."} if arguments["place"] == "cellar" else None

    both = {"tool_calls": [call("look", place="cellar"), call("look", place="attic")]}
    agentflow.agent(hooks={"pre_tool": [guard]}, tools=[look], replies=[both, {"text": "ok"}])
    agentflow.send("go")
    denied, done = results(agentflow.requests[1])
    assert "The cellar is closed." in denied
    assert done == "attic is quiet"
    assert len(agentflow.events("tool.call.errored")) == 1


def test_pre_tool_changes_arguments_and_they_are_checked_again(agentflow: Kit) -> None:
    """T13, T36"""

    def turn(arguments: dict[str, Any]) -> Any:
        return {"arguments": {"place": "attic"} if arguments["place"] == "up" else {"plaice": "x"}}

    both = {"tool_calls": [call("look", place="up"), call("look", place="down")]}
    agentflow.agent(hooks={"pre_tool": [turn]}, tools=[look], replies=[both, {"text": "ok"}])
    agentflow.send("go")
    changed, refused = results(agentflow.requests[1])
    assert changed == "attic is quiet"
    assert "plaice" in refused


def test_post_tool_replaces_the_result(agentflow: Kit) -> None:
    """T36: built-ins too, and each hook sees what the one before it made of it."""

    def loud(result: str, ok: bool, call: dict[str, Any]) -> Any:
        return {"result": f"{call['name']} {ok}: {result}"}

    def louder(result: str) -> Any:
        return {"result": result + "!"}

    agentflow.agent("helper", replies=[{"text": "helped"}])
    both = {"tool_calls": [call("look", place="a"), call("task", agent="helper", prompt="x")]}
    agentflow.agent(
        hooks={"post_tool": [loud, louder]}, tools=[look], sub_agents=["helper"], replies=[both, {"text": "ok"}]
    )
    agentflow.send("go")
    assert results(agentflow.requests_of("test")[1]) == ["look True: a is quiet!", "task True: helped!"]


def test_a_sub_agent_has_the_hooks_of_its_own_run(agentflow: Kit) -> None:
    """T35: around its run and its calls."""

    def about(message: str, resumed: bool) -> Any:
        return {"context": f"Asked for {message!r}.", "message": message.upper()}

    def shorter(answer: str) -> Any:
        return {"answer": f"{answer}!"}

    def loud(result: str) -> Any:
        return {"result": result.upper()}

    agentflow.agent(
        "helper",
        tools=[look],
        hooks={"step_start": [about], "post_tool": [loud], "step_end": [shorter]},
        replies=[looks("a"), {"text": "ok"}],
    )
    agentflow.agent(
        "parent",
        replies=[{"tool_calls": [call("task", agent="helper", prompt="x")]}, {"text": "done"}],
        sub_agents=["helper"],
    )
    agentflow.send("go")
    assert results(agentflow.requests_of("helper")[1]) == ["A IS QUIET"]
    assert said(agentflow.requests_of("helper")[0])[1:] == [("system", "Asked for 'x'."), ("user", "X")]
    assert results(agentflow.requests_of("parent")[1]) == ["ok!"]
    told = [(event.data["point"], event.data["execution"]) for event in agentflow.events("hook.completed")]
    assert told == [("step_start", 2), ("post_tool", 2), ("step_end", 2)]


# -- failures ----------------------------------------------------------------------------------------------------------


def raising(ctx: FlowContext) -> None:
    raise ValueError("the database is away")


def leaving(ctx: FlowContext) -> None:
    raise SystemExit(3)


async def cancelled(ctx: FlowContext) -> None:
    raise asyncio.CancelledError


def cyclic(ctx: FlowContext) -> Any:
    vars_: dict[str, Any] = {}
    vars_["self"] = vars_
    return {"vars": vars_}


BAD: list[Any] = [
    pytest.param(raising, "the database is away", id="raises"),
    pytest.param(leaving, "SystemExit", id="exits"),
    pytest.param(cancelled, "Cancelled", id="cancels"),
    pytest.param(cyclic, "in itself", id="cyclic"),
    pytest.param(returning("text"), "'text'", id="a text"),
    pytest.param(returning({"contxt": "x"}), "contxt", id="unknown key"),
    pytest.param(returning({"context": 3}), "3", id="wrong type"),
    pytest.param(returning({"message": " "}), "blank", id="blank message"),
    pytest.param(returning({1: 2}), "1", id="no text as key"),
    pytest.param(returning(object()), "object", id="an object"),
]


@pytest.mark.parametrize(("hook", "reason"), BAD)
def test_a_hook_that_fails_fails_the_turn_and_not_the_session(agentflow: Kit, hook: Any, reason: str) -> None:
    """T37"""
    agentflow.agent(hooks={"step_start": [hook]}, replies=[])
    error = agentflow.send("hi").error or {}
    assert (error["code"], error["detail"]["point"]) == ("hook_failed", "step_start")
    assert reason in error["message"]
    assert [outcome for _, _, outcome in ran(agentflow)] == ["failed"]
    agentflow.agent(replies=[{"text": "fine"}])
    assert agentflow.send("again").answer == "fine"


@pytest.mark.parametrize(("hook", "reason"), BAD)
def test_on_error_ignore_goes_on_without_it_and_the_trace_says_so(
    agentflow: Kit, agentflow_db: str, hook: Any, reason: str
) -> None:
    """T37"""
    agentflow.agent(
        hooks={"step_start": [{"flow": hook, "on_error": "ignore"}, returning({"context": "after"}, "next")]},
        replies=[{"text": "ok"}],
    )
    assert agentflow.send("hi").answer == "ok"
    assert [outcome for _, _, outcome in ran(agentflow)] == ["failed", "changed"]
    ((error,),) = rows(agentflow_db, "SELECT error FROM hook_run WHERE outcome = 'failed'")
    assert reason in error
    assert ("system", "after") in said(agentflow.requests[0])


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_hook_that_hangs_ends_at_its_time_limit(agentflow: Kit, kind: str) -> None:
    """T37: and a flow that asks learns that nobody waits any more."""
    gave_up = threading.Event()

    def hang(ctx: FlowContext) -> None:
        while not ctx.cancelled():
            gave_up.wait(0.001)
        gave_up.set()

    async def hang_async(ctx: FlowContext) -> None:
        await asyncio.Event().wait()

    hook = hang if kind == "sync" else hang_async
    agentflow.agent(hooks={"step_start": [{"flow": hook, "timeout_secs": 0.05}]}, replies=[])
    error = agentflow.send("hi").error or {}
    assert "did not finish within 0.05 seconds" in error["message"]
    assert kind == "async" or gave_up.wait(5)


@pytest.mark.parametrize("point", ["pre_model", "post_model", "pre_tool", "post_tool", "step_end"])
def test_a_hook_that_fails_at_any_point_leaves_nothing_open(agentflow: Kit, agentflow_db: str, point: str) -> None:
    """T37, C36: a finished sibling keeps its result."""
    agentflow.agent(
        hooks={point: [raising]},
        tools=[look],
        replies=lambda request: looks("a") if "tool" in point else {"text": "said"},
    )
    result = agentflow.send("hi")
    assert (result.state, (result.error or {})["code"]) == ("failed", "hook_failed")
    assert result.answer == ("said" if point in ("post_model", "step_end") else None)
    assert rows(agentflow_db, "SELECT id FROM llm_call WHERE status = 'requested'") == []
    assert rows(agentflow_db, "SELECT id FROM tool_call WHERE status IN ('planned', 'started')") == []
    agentflow.agent(replies=[{"text": "fine"}])
    assert agentflow.send("again").answer == "fine"


def test_a_hook_of_one_call_that_fails_does_not_lose_the_results_of_the_others(agentflow: Kit) -> None:
    """B07"""

    def guard(arguments: dict[str, Any]) -> None:
        if arguments["place"] == "b":
            raise ValueError("no")

    both = {"tool_calls": [call("look", place="a"), call("look", place="b")]}
    agentflow.agent(hooks={"pre_tool": [guard]}, tools=[look], replies=[both], settings={"max_parallel_tools": 1})
    agentflow.send("go")
    contents = [message["content"] for message in agentflow.path() if message["role"] == "tool"]
    assert contents[0] == "a is quiet"
    assert "outcome is unknown" in contents[1]


def test_a_failing_hook_of_a_sub_agent_fails_the_sub_agent_alone(agentflow: Kit) -> None:
    """T35, T37"""
    agentflow.agent("helper", hooks={"pre_model": [raising]}, replies=[])
    task = {"tool_calls": [call("task", agent="helper", prompt="x")]}
    agentflow.agent("parent", replies=[task, {"text": "ok"}], sub_agents=["helper"])
    assert agentflow.send("go").answer == "ok"
    assert "the database is away" in results(agentflow.requests[-1])[0]


def test_a_stop_interrupts_a_hook_that_waits(agentflow: Kit, agentflow_db: str) -> None:
    """T23"""
    began = asyncio.Event()

    async def slow(ctx: FlowContext) -> None:
        began.set()
        await asyncio.Event().wait()

    agentflow.agent(hooks={"step_start": [slow]}, replies=[])
    receipt = agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "go"}})
    agentflow.run(began.wait())
    assert agentflow.stop()["outcome"] == "stopped"
    assert agentflow.result(receipt.turn_id).state == "aborted"
    assert rows(agentflow_db, "SELECT outcome, error FROM hook_run") == [("failed", "the turn was interrupted")]


# -- records -----------------------------------------------------------------------------------------------------------


def test_hook_runs_are_recorded_with_their_point_flow_and_outcome(agentflow: Kit, agentflow_db: str) -> None:
    """T37: "Order = file order. All are recorded in the trace." """
    agentflow.agent(
        hooks={
            "step_end": [returning(None, "last")],
            "pre_model": [returning({}, "first"), returning(None, "second")],
        },
        replies=[{"text": "ok"}],
    )
    agentflow.send("hi")
    assert ran(agentflow) == [
        ("pre_model", "first", "ok"),
        ("pre_model", "second", "ok"),
        ("step_end", "last", "ok"),
    ]
    runs = "SELECT step, number, point, flow, outcome FROM hook_run ORDER BY number"
    assert [row[2:] for row in rows(agentflow_db, runs)] == ran(agentflow)


def test_the_trace_shows_hooks_where_they_ran_and_sub_agents_in_their_call(agentflow: Kit) -> None:
    """R6: "tools, hooks, sub-agents nested"."""
    agentflow.agent("helper", hooks={"pre_model": [returning(None, "own")]}, replies=[{"text": "helped"}])
    agentflow.agent(
        "parent",
        hooks={"step_start": [{"flow": raising, "on_error": "ignore"}]},
        replies=[{"tool_calls": [call("task", agent="helper", prompt="x")]}, {"text": "ok"}],
        sub_agents=["helper"],
    )
    agentflow.send("go")
    (step,) = agentflow.run(agentflow.runtime.trace("s-1"))["steps"]
    hook, first, _ = step["nodes"]
    assert (hook["kind"], hook["point"], hook["flow"], hook["outcome"]) == ("hook", "step_start", "raising", "failed")
    assert "the database is away" in hook["error"]
    (called,) = first["tools"]
    assert (called["name"], called["execution"]["agent"]) == ("task", "helper")
    kinds = [(node["kind"], node.get("flow")) for node in called["execution"]["nodes"]]
    assert kinds == [("model_call", None), ("hook", "own")]


def test_a_hook_of_a_sub_agents_call_is_told_before_what_the_sub_agent_does(agentflow: Kit) -> None:
    """D74: the log has things in the order they happened."""
    agentflow.agent("helper", replies=[{"text": "helped"}])
    agentflow.agent(
        "parent",
        hooks={"pre_tool": [returning(None, "guard")]},
        replies=[{"tool_calls": [call("task", agent="helper", prompt="x")]}, {"text": "ok"}],
        sub_agents=["helper"],
    )
    agentflow.send("go")
    told = [(event.type, event.data.get("execution")) for event in agentflow.events()]
    assert told.index(("hook.completed", None)) < told.index(("message.new", 2))
    times = [event.at for event in agentflow.events()]
    assert times == sorted(times)


def test_without_observability_nothing_of_what_a_hook_said_stays(agentflow: Kit, agentflow_db: str) -> None:
    """R5"""
    agentflow.agent(hooks={"step_start": [raising]}, replies=[], settings={"observability": False})
    agentflow.send("hi")
    assert rows(agentflow_db, "SELECT outcome, error FROM hook_run") == [("failed", None)]
    (event,) = agentflow.events("hook.completed")
    assert event.data["point"] == "step_start"
    assert "the database is away" not in str(agentflow.events("hook.completed"))


def test_a_turn_that_died_in_its_first_hook_begins_again_and_one_whose_hook_ran_does_not(
    agentflow: Kit, agentflow_db: str
) -> None:
    """T30: "A turn that has no model call and no hook row yet goes back to the front of the queue instead." """
    seen: list[str] = []

    def load(message: str) -> Any:
        seen.append(message)
        return {"message": f"<{message}>"}

    agentflow.agent(hooks={"step_start": [load]}, replies=[{"text": "a1"}, {"text": "a2"}])
    agentflow.kill_after(1)
    with pytest.raises(ProcessKilled):
        agentflow.send("m1")
    agentflow.reopen()
    agentflow.send("m2")
    assert [message["content"] for message in agentflow.path()] == ["<m1>", "a1", "<m2>", "a2"]


def test_hooks_and_tools_of_one_turn_have_the_same_context(agentflow: Kit) -> None:
    """A6: the same function serves as tool and as hook."""
    seen: list[Any] = []

    def both(ctx: FlowContext) -> None:
        """Note who calls."""
        ctx.emit("noted", {"hook": bool(ctx.hook)})
        seen.append((ctx.session_id, ctx.agent_id, dict(ctx.inputs), bool(ctx.hook)))

    agentflow.agent(
        tools=[both],
        hooks={"step_start": [both]},
        inputs={"plan": {}},
        replies=[{"tool_calls": [call("both")]}, {"text": "ok"}],
    )
    agentflow.send("hi", inputs={"plan": "gold"})
    assert seen == [("s-1", "test", {"plan": "gold"}, True), ("s-1", "test", {"plan": "gold"}, False)]


def test_a_flow_that_cannot_be_called_as_a_hook_is_found_before_it_runs(agentflow: Kit) -> None:
    """A4"""
    agentflow.agent(hooks={"step_start": [look]}, replies=[])
    with pytest.raises(InvalidConfig, match=r"hooks\.step_start\[0\].*nothing is given for its parameter 'place'"):
        agentflow.send("hi")


def test_the_model_sees_a_request_for_each_call(agentflow: Kit) -> None:
    """T36: `pre_model` runs before each call, continuations included."""
    numbers: list[int] = []

    def count(messages: list[Any]) -> None:
        numbers.append(len(messages))

    def reply(request: ModelRequest) -> Reply:
        return looks("a") if len(numbers) == 1 else {"text": "ok"}

    agentflow.agent(hooks={"pre_model": [count]}, tools=[look], replies=reply)
    agentflow.send("go")
    assert numbers == [2, 4]


# -- told live ---------------------------------------------------------------------------------------------------------


def test_whoever_watches_sees_a_hook_begin_and_the_log_has_its_end_alone(agentflow: Kit) -> None:
    """T37, T42: what is streamed only stands where it happened, and is not read again later."""
    opened = Gate({"tool_calls": [call("look", place="a")]}, {"text": "quiet"})
    agentflow.agent(hooks={"pre_tool": [returning(None, "check")]}, tools=[look], replies=opened)
    told = [event for event in watched(agentflow, "how is a?", opened) if event.type.startswith("hook.")]
    assert [(event.type, event.seq is None) for event in told] == [("hook.started", True), ("hook.completed", False)]
    assert (told[0].data["point"], told[0].data["flow"]) == ("pre_tool", "check")
    assert told[0].data["tool_call_id"] == told[1].data["tool_call_id"]
    assert agentflow.events("hook.started") == []
