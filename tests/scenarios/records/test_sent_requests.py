"""R5, R6: the exact request of every model call is made again from rows, message for message what the model got."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentflow import CallNotFound, RequestNotKept, TurnNotFound
from agentflow.testing import Kit
from agentflow.text import compact_json
from tests.both_databases import on_both_databases
from tests.scenarios.support import call, rows
from tests.stub_server import Answer, Call, serve_in_thread

ASK = call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])
FILLER = "x" * 400
KEY = "horse-battery-staple"


agentflow_db = on_both_databases


def look(place: str) -> str:
    """Look at a place."""
    return f"seen {place}"


def plain(kit: Kit) -> None:
    kit.agent(replies=[{"text": "one"}, {"text": "two"}])
    kit.send("first")
    kit.send("second")


LOOKS = {"text": "let me look", "tool_calls": [call("look", place="a"), call("look", place="b")]}


def with_tools(kit: Kit, **settings: Any) -> None:
    kit.agent(tools=[look], replies=[LOOKS, {"text": "one"}, LOOKS, {"text": "two"}], settings=settings)
    kit.send("first")
    kit.send("second")


def lean(kit: Kit) -> None:
    with_tools(kit, lean_history=True)


def whole_history(kit: Kit) -> None:
    with_tools(kit, lean_history=False)


def after_a_restart(kit: Kit) -> None:
    kit.agent(tools=[look], replies=[LOOKS, {"text": "one"}, LOOKS, {"text": "two"}])
    kit.send("first")
    kit.restart()
    kit.send("second")


def compacted(kit: Kit) -> None:
    kit.agent(replies=[{"text": f"answer {n} {FILLER}"} for n in range(3)])
    for n in range(3):
        kit.send(f"question {n} {FILLER}")
    kit.agent(
        replies=[{"text": text} for text in ("a summary", "the fourth", "another summary", "the fifth")],
        settings={
            "compaction_threshold_fraction": 0.5,
            "compaction_context_window_tokens": 100,
            "compaction_keep_recent_messages": 2,
        },
    )
    kit.send("question 3")
    kit.send("question 4")
    assert len(kit.events("context.replaced")) == 2


def resumed(kit: Kit) -> None:
    kit.agent(tools=[look], replies=[LOOKS, {"tool_calls": [ASK]}, {"text": "thanks"}])
    kit.send("first")
    kit.restart()
    kit.answer({"Which": "this"})


def regenerated(kit: Kit) -> None:
    kit.agent(tools=[look], replies=[LOOKS, {"text": "one"}, {"text": "another"}])
    kit.send("first")
    kit.regenerate()


def sub_agent(kit: Kit) -> None:
    kit.agent("helper", tools=[look], replies=[LOOKS, {"text": "helped"}])
    kit.agent(
        "main", sub_agents=["helper"],
        replies=[{"tool_calls": [call("task", agent="helper", prompt="look around")]}, {"text": "done"}],
    )  # fmt: skip
    kit.send({"role": "user", "content": "go"})


def worker(kit: Kit) -> None:
    def decide(request: dict[str, Any]) -> dict[str, Any]:
        if request["trigger"]["type"] == "client.messages":
            return {"actions": [{"type": "llm.call", "prompt": "Speak like a pirate."}]}
        return dict(request["proposed"])

    kit.agent(replies=[{"text": "arr"}], worker=decide)
    kit.send("first")


def worker_with_messages_of_its_own(kit: Kit) -> None:
    def decide(request: dict[str, Any]) -> dict[str, Any]:
        if request["trigger"]["type"] == "client.messages":
            said = [{"role": "user", "content": "something else"}]
            return {"actions": [{"type": "llm.call", "messages": said}]}
        return dict(request["proposed"])

    kit.agent(replies=[{"text": "hm"}], worker=decide)
    kit.send("first")


def hooks(kit: Kit) -> None:
    def tell() -> Any:
        return {"context": "It is raining."}

    def soften(messages: list[dict[str, Any]]) -> Any:
        changed = [{**each, "content": "(hidden)"} if each["content"] == "secret" else each for each in messages]
        return {"messages": changed}

    kit.agent(hooks={"step_start": [tell], "pre_model": [soften]}, replies=[{"text": "one"}, {"text": "two"}])
    kit.send("secret")
    kit.send("open")


def planned(kit: Kit) -> None:
    kit.agent(planning={"planner": "llm://main"}, replies=[{"text": "a plan"}, {"text": "one"}])
    kit.send("first")


LIVES: list[Callable[[Kit], None]] = [
    plain, lean, whole_history, after_a_restart, compacted, resumed, regenerated, sub_agent, worker,
    worker_with_messages_of_its_own, hooks, planned,
]  # fmt: skip


@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.__name__)
def test_every_request_is_made_again_as_it_was(agentflow: Kit, agentflow_db: str, life: Callable[[Kit], None]) -> None:
    life(agentflow)
    calls = rows(agentflow_db, "SELECT id, turn FROM llm_call WHERE turn > 0 ORDER BY requested_at, id")
    sent = {request.call_id: request for request in agentflow.requests}
    made = {call_id for call_id, _ in calls}
    for name in ("helper", "main"):
        if life is sub_agent:
            sent |= {request.call_id: request for request in agentflow.requests_of(name)}
    assert made <= sent.keys()
    for call_id, _ in calls:
        again = agentflow.run(agentflow.runtime.records.request("s-1", call_id))
        assert again["messages"] == list(sent[call_id].messages), call_id
        assert again["tools"] == list(sent[call_id].tools)


def test_a_call_is_named_by_its_number_in_the_turn_or_its_id(agentflow: Kit) -> None:
    with_tools(agentflow)
    request = agentflow.runtime.records.request
    second = agentflow.run(request("s-1", 2, turn=1))
    assert second["messages"] == list(agentflow.requests[1].messages)
    assert agentflow.run(request("s-1", second["call_id"])) == second
    assert agentflow.run(request("s-1", 1))["call_id"] == agentflow.requests[2].call_id
    for asked, error in (((3, 1), CallNotFound), (("nobody", 1), CallNotFound), ((1, 9), TurnNotFound)):
        with pytest.raises(error):
            agentflow.run(request("s-1", asked[0], turn=asked[1]))


def test_a_request_that_was_erased_is_refused_with_the_reason(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "one"}], settings={"observability": False})
    agentflow.send("first")
    with pytest.raises(RequestNotKept, match="erased with its turn") as refused:
        agentflow.run(agentflow.runtime.records.request("s-1", 1))
    assert refused.value.code == "request_not_kept"


def test_the_request_of_a_title_is_kept(agentflow: Kit, agentflow_db: str) -> None:
    agentflow.agent(
        replies=lambda request: {"text": "A name" if request.purpose == "title" else "hello"},
        settings={"name_chats": True},
    )
    agentflow.send("first")
    agentflow.until("session.named")
    ((call_id,),) = rows(agentflow_db, "SELECT id FROM llm_call WHERE turn = 0")
    again = agentflow.run(agentflow.runtime.records.request("s-1", call_id))
    (asked,) = [request for request in agentflow.requests if request.purpose == "title"]
    assert (again["purpose"], again["messages"]) == ("title", list(asked.messages))


def _model_calls(kit: Kit, turn: int) -> list[dict[str, Any]]:
    (step,) = kit.run(kit.runtime.trace("s-1", turn))["steps"]
    return [node for node in step["nodes"] if node["kind"] == "model_call"]


def test_a_request_is_shown_byte_for_byte_as_the_server_received_it(
    agentflow: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R5: parameters too, no credential, and also of a call that was interrupted and of those after it."""
    monkeypatch.setenv("TENANT", "acme-and-sons")
    asks = Call("look", '{"place": "a"}', id="call_1")
    with serve_in_thread([Answer(text=["One, ", "two"], hang="finish"), Answer(calls=[asks]), Answer("Seen.")]) as stub:
        model = {
            "model": "openai/mine", "api_base": stub.openai_base, "api_key": KEY, "temperature": 0.25, "top_p": 0.5,
            "max_output_tokens": 77,
            "extra": {"stop": ["END"], "extra_headers": {"X-Tenant": "${TENANT}", "X-Key": "in-the-file"}},
        }  # fmt: skip
        agentflow.agent(model=model, tools=[look])
        turn_id = agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "Count."}}).turn_id
        agentflow.until("llm.delta")
        agentflow.stop()
        assert agentflow.result(turn_id).aborted
        agentflow.send("Look.")
        for turn, number, received in ((1, 1, stub.requests[0]), (2, 1, stub.requests[1]), (2, 2, stub.requests[2])):
            node = _model_calls(agentflow, turn)[number - 1]
            again = agentflow.run(agentflow.runtime.records.request("s-1", number, turn=turn))
            assert (again["call_id"], node["number"]) == (node["call_id"], number)
            headers = again["parameters"].pop("extra_headers")
            assert (received.headers["x-tenant"], headers) == (
                "acme-and-sons",
                {"X-Tenant": "${TENANT}", "X-Key": "***"},
            )
            shown = {"model": "mine", "messages": again["messages"], "tools": again["tools"], **again["parameters"]}
            assert _as_it_travels(shown) == _as_it_travels(received.body)


def _as_it_travels(body: dict[str, Any]) -> str:
    """Byte for byte but for the order of the parameters; the model library leaves out a content that is null."""
    body["messages"] = [{k: v for k, v in each.items() if v is not None} for each in body["messages"]]
    return compact_json({name: body[name] for name in sorted(body)})
