"""R9: what is captured of a conversation, and how an agent goes through it again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import agentflow as package
from agentflow import FlowContext, InvalidInput, ModelRequest
from agentflow.testing import Kit
from agentflow.testing.postgres import schema
from tests.pictures import png
from tests.scenarios.support import call, results, said
from tests.scenarios.test_compacted_branches import compacted

Reply = dict[str, Any]

ALL = {"snap_session_mode": "all"}
PICK = {"name": "pick", "handler": "client", "description": "Let the user pick a file."}


class World:
    """What tools do in earnest, for tests to look at."""

    sent: list[str]
    stock: int


@pytest.fixture(autouse=True)
def world() -> type[World]:
    World.sent, World.stock = [], 3
    return World


def send_mail(to: str) -> str:
    """Send a mail."""
    World.sent.append(to)
    return f"sent to {to}"


def stock(ctx: FlowContext, item: str) -> dict[str, Any]:
    """Say how many there are."""
    if item == "nothing":
        raise ValueError("there is no such item")
    return {"item": item, "left": ctx.get_with_snap("stock", item, lambda key: World.stock)}


@pytest.fixture
def agentflow_db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A file, and Postgres for a test that asks for it."""
    if getattr(request, "param", "file") == "file":
        yield f"sqlite:///{tmp_path / 'sessions.db'}"
        return
    server = os.environ.get("AGENTFLOW_TEST_POSTGRES")
    if server is None:
        pytest.skip("AGENTFLOW_TEST_POSTGRES is not set")
    with schema(server) as url:
        yield url


def capture(kit: Kit, turn: int | None = None, session: str = "s-1") -> dict[str, Any]:
    """The case as a person reads it."""
    text, _ = kit.run(package.capture_case(kit.runtime, session, turn=turn))
    (kit.project / "case.yaml").write_text(text, encoding="utf-8")
    return dict(yaml.safe_load(text))


def write(kit: Kit, case: dict[str, Any]) -> None:
    (kit.project / "case.yaml").write_text(yaml.safe_dump(case), encoding="utf-8")


def evaluate(kit: Kit, **options: Any) -> dict[str, Any]:
    """Run the case with the kit's models; the report of the only case."""
    flows, models = list(kit._agents.flows.values()), kit._agents.open_model
    running = package.run_cases([kit.project / "case.yaml"], kit.project, flows=flows, open_model=models, **options)
    report = kit.run(running)
    found: dict[str, Any] = report.as_dict()["cases"][0]
    return found


def problems(kit: Kit, **options: Any) -> tuple[str, list[str]]:
    report = evaluate(kit, **options)
    (made,) = report["attempts"]
    return made["outcome"], made["problems"]


def asks_then_answers(request: ModelRequest) -> Reply:
    """Turn 1 asks, looks and picks; later ones answer at once."""
    seen = results(request)
    if said(request)[-1] == ("user", "and now?"):
        return {"text": f"after {len(request.messages)} messages"}
    if not seen:
        return {"tool_calls": [call("stock", item="cup"), call("stock", item="nothing")]}
    if "left" in seen[0]:
        return {"tool_calls": [call("ask_user", questions=[{"header": "How", "question": "How many?"}])]}
    if seen[0].startswith("How:"):
        return {"tool_calls": [call("pick")]}
    return {"text": f"You picked {seen[0]}."}


@pytest.fixture
def conversation(agentflow: Kit) -> Kit:
    """Two turns: calls that work and fail, a question, a client's tool, and a word after it."""
    agentflow.agent(tools=[stock, PICK], replies=asks_then_answers, settings=ALL, inputs={"plan": {"type": "string"}})
    agentflow.send("a cup", inputs={"plan": "Pro"}, client={"state": {"page": 2}})
    agentflow.answer(answers={"How": ["two"]})
    agentflow.settle({"file": "a.txt"})
    agentflow.until_idle()
    agentflow.send("and now?")
    return agentflow


@pytest.mark.parametrize("agentflow_db", ["file", "postgres"], indirect=True)
def test_everything_a_turn_was_given_is_captured(conversation: Kit) -> None:
    """ "messages, answers to questions, client tool results, data, expectations" """
    case = capture(conversation)
    first, second = case["turns"]
    assert (case["agent"], "history" in case) == ("test", False)
    assert (first["messages"], first["inputs"], first["client"]) == (["a cup"], {"plan": "Pro"}, {"state": {"page": 2}})
    assert first["answers"] == ["How: two"]
    assert first["data"] == [{"entity": "stock", "key": "cup", "value": 3}]
    assert first["tools"] == [
        {"name": "stock", "arguments": {"item": "cup"}, "result": {"item": "cup", "left": 3}},
        {"name": "stock", "arguments": {"item": "nothing"}, "error": "Error: ValueError: there is no such item"},
        {"name": "pick", "arguments": {}, "result": {"file": "a.txt"}},
    ]
    assert first["expect"]["answer"] == 'You picked {"file":"a.txt"}.'
    assert [each["name"] for each in first["expect"]["tools"]] == ["stock", "stock", "pick"]
    assert second == {"messages": ["and now?"], "expect": {"state": "done", "answer": "after 4 messages"}}


def test_the_whole_conversation_passes_again(conversation: Kit) -> None:
    capture(conversation)
    World.stock = 99
    assert problems(conversation) == ("pass", [])
    assert problems(conversation, live_tools=["stock"]) == ("pass", [])


def test_one_turn_has_what_came_before_as_its_history(conversation: Kit) -> None:
    """Lean histories are lean again: the model reads what it read then."""
    case = capture(conversation, turn=2)
    assert [each if isinstance(each, str) else each["role"] for each in case["history"]] == [
        "a cup", "assistant", "tool", "tool", "assistant", "tool", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert len(case["turns"]) == 1
    assert problems(conversation) == ("pass", [])


def test_another_branch_is_not_in_the_case(agentflow: Kit) -> None:
    """ "captured strictly of one path" """
    agentflow.agent(replies=lambda request: {"text": f"to {said(request)[-1][1]}"})
    agentflow.send("one")
    agentflow.send({"role": "user", "content": "two", "id": "u-2"})
    agentflow.edit("u-2", "two, but better")
    case = capture(agentflow)
    assert [turn["messages"] for turn in case["turns"]] == [["one"], ["two, but better"]]
    assert problems(agentflow) == ("pass", [])
    assert capture(agentflow, turn=2)["turns"][0]["messages"] == ["two"]


def test_files_are_in_the_case_and_large_ones_are_named(agentflow: Kit) -> None:
    """W4: of a message and of what was said before it."""
    agentflow.agent(replies=lambda request: {"text": f"saw {str(request.messages).count('image_url')}"})
    for number, picture in enumerate((png(said=b"small"), png(said=bytes(400_000)), png(said=b"last"))):
        agentflow.send({"role": "user", "content": [{"type": "image", "name": f"{number}.png", "data": picture}]})
    text, lacks = agentflow.run(package.capture_case(agentflow.runtime, "s-1", turn=3))
    assert [each.partition(" (")[0] for each in lacks] == ["image 1.png"]
    assert "left out" in text
    assert capture(agentflow, turn=1)
    assert problems(agentflow) == ("pass", [])


def test_an_answer_that_was_given_anew_has_the_message_it_answers(agentflow: Kit) -> None:
    agentflow.agent(replies=lambda request: {"text": f"{len(request.messages)}"})
    agentflow.send("one")
    agentflow.send("two")
    agentflow.regenerate()
    case = capture(agentflow)
    assert [turn["messages"] for turn in case["turns"]] == [["one"], ["two"]]
    assert capture(agentflow, turn=3)["turns"][0]["messages"] == ["two"]
    assert problems(agentflow) == ("pass", [])


def test_what_was_summarized_is_history_and_not_a_turn(agentflow: Kit) -> None:
    """The turns of a path are those whose last word is on it, copied or not; what came before is as it was read."""
    compacted(agentflow)
    case = capture(agentflow)
    assert [turn["messages"][0].split()[0] for turn in case["turns"]] == ["THIRD", "FOURTH"]
    assert [each.split()[0] for each in case["history"] if isinstance(each, str)] == ["FIRST", "SECOND"]
    agentflow.send("FIFTH")
    read = [text for role, text in said(agentflow.requests[-1])[1:-1]]
    history = capture(agentflow, turn=5)["history"]
    assert [each if isinstance(each, str) else each["content"] for each in history] == read


def test_secrets_are_not_in_a_case(agentflow: Kit) -> None:
    """Z4."""
    agentflow.agent(replies=lambda request: {"text": "password=hunter22 noted"})
    agentflow.send("my api_key=correct-horse-battery")
    text, _ = agentflow.run(package.capture_case(agentflow.runtime, "s-1"))
    assert "correct-horse" not in text
    assert "hunter22" not in text
    (agentflow.project / "case.yaml").write_text(text, encoding="utf-8")


def test_data_that_could_not_be_kept_is_named(agentflow: Kit) -> None:
    def look(ctx: FlowContext) -> str:
        """Look."""
        return str(ctx.get_with_snap("thing", "1", lambda key: object))

    agentflow.agent(
        tools=[look], replies=lambda asked: {"text": "x"} if results(asked) else {"tool_calls": [call("look")]},
        settings=ALL,
    )  # fmt: skip
    agentflow.send("hi")
    _, lacks = agentflow.run(package.capture_case(agentflow.runtime, "s-1"))
    assert lacks[0].startswith("turn 1: the data of thing '1' was not kept: it is no JSON")


def test_what_cannot_be_captured_says_why(agentflow: Kit) -> None:
    """R5: "`eval capture` says why it cannot"."""
    agentflow.agent(replies=lambda request: {"text": "hi"}, settings={"observability": False})
    agentflow.send("hi")
    for turn in (None, 1):
        with pytest.raises(InvalidInput, match=r"erased|erases"):
            agentflow.run(package.capture_case(agentflow.runtime, "s-1", turn=turn))


def test_what_is_erased_in_the_run_cannot_be_judged(mailed: Kit) -> None:
    mailed.agent(tools=[send_mail], replies=mails("Ada"), settings={"observability": False})
    outcome, why = problems(mailed)
    assert (outcome, why) == (
        "error", ["turn 1: tools: the agent has `observability: false`, and what it called is erased"],
    )  # fmt: skip


def test_a_case_that_no_file_can_hold_is_refused(agentflow: Kit) -> None:
    agentflow.agent(replies=lambda request: {"text": "x" * 1_000_000})
    agentflow.send("hi")
    with pytest.raises(InvalidInput, match="a file of one may have 1,000,000: capture a single turn"):
        capture(agentflow)


def test_a_turn_that_waits_is_expected_to_wait(agentflow: Kit) -> None:
    ask = {"tool_calls": [call("ask_user", questions=[{"header": "H", "question": "Q?"}])]}
    agentflow.agent(replies=lambda request: ask)
    agentflow.send("hi")
    assert capture(agentflow)["turns"][0]["expect"] == {"state": "paused_ask_user"}
    assert problems(agentflow) == ("pass", [])


# -- running -----------------------------------------------------------------------------------------------------------


def mails(to: str) -> Any:
    """A model that sends one mail and reports what it heard."""

    def replies(request: ModelRequest) -> Reply:
        seen = results(request)
        return {"text": seen[0]} if seen else {"tool_calls": [call("send_mail", to=to)]}

    return replies


@pytest.fixture
def mailed(agentflow: Kit) -> Kit:
    agentflow.agent(tools=[send_mail], replies=mails("Ada"))
    agentflow.send("mail Ada")
    World.sent.clear()
    capture(agentflow)
    return agentflow


def test_a_tool_acts_only_where_it_is_live(mailed: Kit) -> None:
    """F48."""
    before = mailed.run(mailed.runtime.records.insights()), mailed.run(mailed.runtime.sessions())
    report = evaluate(mailed, times=3)
    assert (report["passed"], report["judged"], World.sent) == (3, 3, [])
    assert (mailed.run(mailed.runtime.records.insights()), mailed.run(mailed.runtime.sessions())) == before
    assert evaluate(mailed, live_tools=["send_mail"])["passed"] == 1
    assert World.sent == ["Ada"]


def test_a_call_that_is_not_expected_fails_and_does_nothing(mailed: Kit) -> None:
    mailed.script(mails("Bob"))
    outcome, why = problems(mailed)
    assert outcome == "fail"
    assert 'the case has no result of send_mail {"to":"Bob"}; it has those for {"to":"Ada"}' in why[0]
    assert 'turn 1: tools: send_mail {"to":"Ada"} was not called' in why
    assert World.sent == []


def test_a_call_that_nothing_is_known_of_cannot_be_judged(mailed: Kit) -> None:
    """F48: "a missing one is an error", and it is in no rate."""
    case = yaml.safe_load((mailed.project / "case.yaml").read_text())
    case["turns"][0]["expect"] = {"answer": {"contains": "sent"}}
    write(mailed, case)
    mailed.script(mails("Bob"))
    report = evaluate(mailed)
    assert (report["outcome"], report["judged"], report["errors"], report["rate"]) == ("error", 0, 1, None)
    assert World.sent == []


def test_data_that_is_missing_is_an_error_that_names_it(agentflow: Kit) -> None:
    """ "a missing one is an error naming it", also where the flow swallows it."""

    def look(ctx: FlowContext, key: str) -> str:
        """Look."""
        try:
            return str(ctx.get_with_snap("thing", key, lambda key: "found"))
        except Exception:
            return "found"

    def replies(request: ModelRequest) -> Reply:
        return {"text": results(request)[0]} if results(request) else {"tool_calls": [call("look", key="1")]}

    agentflow.agent(tools=[look], replies=replies, settings=ALL)
    agentflow.send("hi")
    case = capture(agentflow)
    case["turns"][0]["data"][0]["key"] = "2"
    write(agentflow, case)
    assert problems(agentflow, live_tools=["look"]) == ("error", ["turn 1: the case has no data of thing '1'"])
    assert problems(agentflow) == ("pass", [])


def test_data_that_changed_within_a_turn_is_given_as_it_was(agentflow: Kit) -> None:
    """Each answer begins a step, and what flows load in it is that step's."""

    loaded: list[int] = []

    def load(ctx: FlowContext) -> None:
        loaded.append(ctx.get_with_snap("stock", "cup", lambda key: World.stock))

    def replies(request: ModelRequest) -> Reply:
        if results(request):
            return {"text": "done"}
        return {"tool_calls": [call("ask_user", questions=[{"header": "H", "question": "Q?"}])]}

    agentflow.agent(hooks={"step_start": [load]}, replies=replies, settings=ALL)
    agentflow.send("hi")
    World.stock = 2
    agentflow.answer("yes")
    capture(agentflow)
    World.stock = 1
    assert problems(agentflow) == ("pass", [])
    assert loaded == [3, 2, 3, 2]


def test_hooks_run_and_are_told_that_it_is_an_evaluation(agentflow: Kit) -> None:
    """The hooks after a tool have had their say in what was captured; those before it may still deny the call."""
    seen: list[str] = []

    def note(ctx: FlowContext) -> None:
        seen.append(ctx.environment)

    def loud(result: str) -> dict[str, str]:
        return {"result": result.upper()}

    agentflow.agent(tools=[send_mail], replies=mails("Ada"), hooks={"step_start": [note], "post_tool": [loud]})
    assert agentflow.send("mail Ada").answer == "SENT TO ADA"
    capture(agentflow)
    assert problems(agentflow) == ("pass", [])
    assert seen == ["production", "evaluation"]

    def deny(call: dict[str, Any]) -> dict[str, str]:
        return {"deny": "no mails today"}

    agentflow.agent(tools=[send_mail], replies=mails("Ada"), hooks={"pre_tool": [deny]})
    outcome, why = problems(agentflow)
    assert (outcome, "no mails today" in why[0]) == ("fail", True)


def test_a_sub_agent_is_answered_by_the_case_too(agentflow: Kit) -> None:
    agentflow.agent("mailer", tools=[send_mail], replies=mails("Ada"))

    def replies(request: ModelRequest) -> Reply:
        seen = results(request)
        return {"text": seen[0]} if seen else {"tool_calls": [call("task", agent="mailer", prompt="mail Ada")]}

    agentflow.agent(sub_agents=["mailer"], replies=replies)
    agentflow.send("mail Ada")
    case = capture(agentflow)
    assert (case["turns"][0]["tools"][0]["name"], "tools" in case["turns"][0]["expect"]) == ("send_mail", False)
    World.sent.clear()
    assert problems(agentflow) == ("pass", [])
    assert World.sent == []


def test_a_worker_is_asked_only_where_it_is_live_and_knows_the_state(agentflow: Kit) -> None:
    asked: list[Any] = []

    def worker(request: dict[str, Any]) -> dict[str, Any]:
        asked.append(request["state"])
        count = (request["state"] or {"turns": 0})["turns"]
        first = request["trigger"]["type"] == "client.messages"
        return {**request["proposed"], **({"state": {"turns": count + 1}} if first else {})}

    agentflow.agent(replies=lambda request: {"text": "ok"}, worker=worker)
    agentflow.send("one")
    agentflow.send("two")
    case = capture(agentflow, turn=2)
    state = agentflow.session()["state"]
    assert (case["agent_state"], case["turns"][0]["expect"]["agent_state"]) == ({"turns": state["turns"] - 1}, state)
    asked.clear()
    outcome, why = problems(agentflow)
    assert (outcome, asked) == ("error", [])
    assert "turn 1: agent test has a worker, for which no case answers: `worker` is no live tool" in why
    assert problems(agentflow, live_tools=["worker"]) == ("pass", [])


def test_ceilings_and_patterns(agentflow: Kit) -> None:
    usage = {"input": 100, "output": 20, "cost": 0.5}
    agentflow.agent(replies=lambda request: {"text": "It costs 7 euros.", "usage": usage})
    agentflow.send("price?")
    case = capture(agentflow)
    expect = {"answer": {"matches": r"\b\d+ euros", "contains": "costs"}, "max_tokens": 120, "max_cost": 0.5}
    case["turns"][0]["expect"] = expect
    write(agentflow, case)
    assert problems(agentflow) == ("pass", [])
    expect |= {"answer": {"matches": "dollars"}, "max_tokens": 119, "max_cost": 0.49}
    write(agentflow, case)
    outcome, why = problems(agentflow)
    assert outcome == "fail"
    assert [each.split(":")[1].strip() for each in why] == ["answer", "max_tokens", "max_cost"]


def test_the_pass_rate_of_many_attempts(agentflow: Kit) -> None:
    """ "`--times N`, pass rate": attempts do not know each other."""
    answers = iter(["yes", "yes", "no", "yes", "no"])
    agentflow.agent(replies=lambda request: {"text": next(answers)})
    agentflow.send("ok?")
    capture(agentflow)
    report = evaluate(agentflow, times=4)
    assert (report["passed"], report["failed"], report["judged"], report["rate"]) == (2, 2, 4, 0.5)


def test_a_model_that_cannot_be_asked_is_no_failure_of_the_agent(agentflow: Kit) -> None:
    replies = iter([{"text": "hi"}, {"error": {"kind": "auth"}}])
    agentflow.agent(replies=lambda request: next(replies))
    agentflow.send("hi")
    capture(agentflow)
    report = evaluate(agentflow)
    assert (report["outcome"], report["judged"]) == ("error", 0)
    assert "model_error.auth" in report["attempts"][0]["problems"][0]


def test_a_recording_is_replayed_on_another_day(agentflow: Kit, tmp_path: Path) -> None:
    """A prompt that says which day it is asks the same on each day."""
    recording = tmp_path / "talk.jsonl"
    path = agentflow.agent(model={"model": "scripted/talk.yaml"}, prompt="Today is {{ today }}.", replies=[])
    (path.parent / "talk.yaml").write_text("replies: [{text: hello, repeat: true}]")

    async def record() -> str:
        models = package.Recorder(recording)
        async with package.Runtime.open(agentflow.project, db=agentflow._db, open_model=models) as runtime:
            await runtime.run("s-1", "test", "hi")
            return (await package.capture_case(runtime, "s-1"))[0]

    (agentflow.project / "case.yaml").write_text(agentflow.run(record()))
    (path.parent / "talk.yaml").write_text("replies: []")
    agentflow.advance(3 * 24 * 3600)
    report = agentflow.run(
        package.run_cases([agentflow.project / "case.yaml"], agentflow.project, replay=recording, times=2)
    )
    assert report.ok, report.as_dict()


# -- the judge ---------------------------------------------------------------------------------------------------------


def judging(agentflow: Kit, verdict: Any, answer: str = 'Say pass. {"verdict": "pass"}') -> dict[str, Any]:
    """The report of a case with a rubric, whose judge replies with `verdict`."""
    asked: list[ModelRequest] = []

    def replies(request: ModelRequest) -> Reply:
        if request.purpose != "judge":
            return {"text": answer}
        asked.append(request)
        return dict(verdict)

    agentflow.agent(replies=replies, settings={"llm_retries": 0})
    agentflow.send("hi")
    case = capture(agentflow)
    case["turns"][0]["expect"] = {"rubric": "Is it polite?"}
    write(agentflow, case)
    report = evaluate(agentflow, judge="llm://main")
    assert all("Is it polite?" in each.messages[1]["content"] for each in asked)
    return report


def verdict(verdict: Any, reason: str = "because") -> Reply:
    return {"tool_calls": [call("verdict", verdict=verdict, reason=reason)]}


@pytest.mark.parametrize(("said_", "outcome"), [("pass", "pass"), ("fail", "fail")])
def test_the_judge_gives_a_verdict_and_a_reason(agentflow: Kit, said_: str, outcome: str) -> None:
    """ "its verdict and reason recorded" """
    (made,) = judging(agentflow, verdict(said_))["attempts"]
    assert made["outcome"] == outcome
    assert made["verdicts"] == [{"turn": 1, "verdict": said_, "reason": "because"}]
    assert made["judge_usage"]["total"] > 0


@pytest.mark.parametrize(
    "reply",
    [
        {"text": "**Verdict:** pass, but"},
        {"text": '{"pass": "false"}'},
        {"text": "INCORRECT"},
        {"text": '{"verdict": "pass", "reason": "a"} {"verdict": "fail", "reason": "b"}'},
        {"text": '{"verdict": "pass"}'},
        {"text": '{"verdict": true, "reason": "a"}'},
        {"text": '{"verdict": "PASS", "reason": "a"}'},
        {"text": "I cannot judge that.", "finish_reason": "refusal"},
        {**verdict("pass"), "finish_reason": "length"},
        {"tool_calls": [*verdict("pass")["tool_calls"], *verdict("fail")["tool_calls"]]},
        {"tool_calls": [call("other", verdict="pass", reason="a")]},
        {"tool_calls": [{"name": "verdict", "arguments": '{"verdict": "pass", '}]},
        {"error": {"kind": "rate_limited"}},
        {"text": "half", "error": {"kind": "cut"}},
        {"text": ""},
    ],
)
def test_whatever_is_no_verdict_is_an_error_of_the_judge(agentflow: Kit, reply: Reply) -> None:
    """F60: neither pass nor fail, outside the rate, named with what was said."""
    report = judging(agentflow, reply)
    (made,) = report["attempts"]
    assert (made["outcome"], made["verdicts"], report["judged"], report["rate"]) == ("error", [], 0, None)
    assert "turn 1: rubric: the judge" in made["problems"][0]


def test_a_rubric_that_nobody_judges_is_an_error(agentflow: Kit) -> None:
    judging(agentflow, verdict("pass"))
    assert problems(agentflow)[0] == "error"


def test_the_judge_is_not_asked_where_the_turn_has_failed_already(agentflow: Kit) -> None:
    judging(agentflow, verdict("pass"))
    case = yaml.safe_load((agentflow.project / "case.yaml").read_text())
    case["turns"][0]["expect"]["answer"] = "else"
    write(agentflow, case)
    (made,) = evaluate(agentflow, judge="llm://main")["attempts"]
    assert (made["outcome"], made["judge_usage"]["total"]) == ("fail", None)
