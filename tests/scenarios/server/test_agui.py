"""AG-UI: our events as a browser's client reads them (G1-G4)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentflow.testing import Kit
from tests.asgi import Answer
from tests.scenarios.server.conftest import Server

ASK = {"tool_calls": [{"name": "ask_user", "arguments": {"questions": [{"header": "Plan", "question": "Which?"}]}}]}
CHART = {"name": "show_chart", "description": "Shows a chart.", "parameters": {"type": "object"}}


def user(text: str, id_: str) -> dict[str, Any]:
    return {"id": id_, "role": "user", "content": text}


class Browser:
    """A client that keeps its transcript by what it is told, as the protocol's own does."""

    def __init__(self, server: Server, agent: str = "test") -> None:
        self.server, self.agent = server, agent
        self.messages: list[dict[str, Any]] = []
        self.state: Any = None
        self._runs = 0

    def run(self, *new: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
        self.messages += new
        self._runs += 1
        body = {
            "threadId": "t-1", "runId": f"r-{self._runs}", "messages": self.messages, "state": {}, "tools": [],
            "context": [], "forwardedProps": {}, **more,
        }  # fmt: skip
        return self.heard(self.server.ask("POST", f"/agui/{self.agent}", body))

    def heard(self, answer: Answer) -> list[dict[str, Any]]:
        assert answer.status == 200, answer.body
        told = events(answer)
        for event in told:
            self._apply(event)
        return told

    def _apply(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "TEXT_MESSAGE_START" if "subagentRunId" not in event:
                self.messages.append({"id": event["messageId"], "role": "assistant", "content": ""})
            case "TEXT_MESSAGE_CONTENT":
                for message in self.messages:
                    if message["id"] == event["messageId"]:
                        message["content"] += event["delta"]
            case "TOOL_CALL_START":
                calls = [message for message in self.messages if message["id"] == event["parentMessageId"]]
                if not calls:
                    calls = [{"id": event["parentMessageId"], "role": "assistant"}]
                    self.messages += calls
                function = {"name": event["toolCallName"], "arguments": ""}
                call = {"id": event["toolCallId"], "type": "function", "function": function}
                calls[0].setdefault("toolCalls", []).append(call)
            case "TOOL_CALL_ARGS":
                for message in self.messages:
                    for call in message.get("toolCalls", ()):
                        if call["id"] == event["toolCallId"]:
                            call["function"]["arguments"] += event["delta"]
            case "TOOL_CALL_RESULT":
                said = {"role": "tool", "toolCallId": event["toolCallId"], "content": event["content"]}
                self.messages.append({"id": event["messageId"], **said})
            case "MESSAGES_SNAPSHOT":
                self.messages = event["messages"]
            case "STATE_SNAPSHOT":
                self.state = event["snapshot"]


def events(answer: Answer) -> list[dict[str, Any]]:
    """The events of an answer, which keep the protocol's order (G2)."""
    told = [json.loads(line.removeprefix("data: ")) for line in answer.body.decode().split("\n") if line.strip()]
    check(told)
    return told


def check(told: list[dict[str, Any]]) -> None:
    opened: list[Any] = []
    for place, event in enumerate(told):
        kind = event["type"]
        assert (kind == "RUN_STARTED") == (place == 0), told
        assert (kind in ("RUN_FINISHED", "RUN_ERROR")) == (place == len(told) - 1), told
        for name, key in (
            ("TEXT_MESSAGE", "messageId"), ("TOOL_CALL", "toolCallId"), ("STEP", "stepName"),
            ("REASONING_MESSAGE", "messageId"), ("SUBAGENT", "subagentRunId"),
        ):  # fmt: skip
            if kind in (f"{name}_START", f"{name}_STARTED"):
                opened.append((name, event[key]))
            elif kind in (f"{name}_END", f"{name}_FINISHED"):
                opened.remove((name, event[key]))
    assert opened == []


def kinds(told: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in told]


@pytest.fixture
def browser(server: Server) -> Browser:
    return Browser(server)


def test_a_chat_is_streamed_with_the_ids_of_what_is_stored(agentflow: Kit, browser: Browser) -> None:
    """G1, G2: thread = session, run = turn; the client's transcript is the path."""
    agentflow.agent(
        replies=[{"text": "Hello there.", "reasoning": "Greet.", "chunk_size": 6, "delay_secs": 0.05}, {"text": "Bye."}]
    )
    told = browser.run(user("Hi.", "u-1"))
    assert kinds(told) == [
        "RUN_STARTED", "STEP_STARTED", "REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END", "REASONING_END", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_FINISHED",
    ]  # fmt: skip
    assert (told[0]["threadId"], told[0]["runId"]) == ("t-1", "r-1")
    assert told[-1]["outcome"] == {"type": "success"}
    assert told[-1]["usage"][0]["model"] == "scripted/test"
    browser.run(user("Bye.", "u-2"))
    assert [(each["id"], each["role"]) for each in browser.messages] == transcript_of(agentflow, "t-1")


def called(kit: Kit) -> list[str]:
    """The tools of the last request."""
    return [tool["function"]["name"] for tool in kit.requests[-1].tools]


def transcript_of(kit: Kit, session: str) -> list[tuple[str, str]]:
    messages = kit.run(kit.runtime.session(session))["messages"]
    return [(message["id"], message["role"]) for message in messages]


def test_the_same_run_again_is_the_same_step_again(agentflow: Kit, browser: Browser) -> None:
    """G1: and nothing runs."""
    agentflow.agent(replies=[{"text": "Hello."}])
    browser.run(user("Hi.", "u-1"))
    told = browser.heard(
        browser.server.ask(
            "POST", "/agui/test", {"threadId": "t-1", "runId": "r-1", "messages": [user("Hi.", "u-1")], "tools": []}
        )
    )
    assert "".join(event.get("delta", "") for event in told) == "Hello."
    assert len(agentflow.requests) == 1


def test_tools_are_told_once_their_reply_is_recorded(agentflow: Kit, browser: Browser) -> None:
    """G2: with the stored ids, under the stored message."""

    def look(place: str) -> str:
        """Look somewhere."""
        return f"{place}: nothing"

    agentflow.agent(
        tools=[look],
        replies=[{"text": "I look.", "tool_calls": [{"name": "look", "arguments": {"place": "box"}}]}, {"text": "No."}],
    )
    browser.server.open()
    told = browser.run(user("Look.", "u-1"))
    assert [each for each in kinds(told) if each.startswith("TOOL")] == [
        "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT",
    ]  # fmt: skip
    assert [(each["id"], each["role"]) for each in browser.messages] == transcript_of(agentflow, "t-1")
    assert kinds(told).count("STEP_STARTED") == kinds(told).count("STEP_FINISHED") == 2


@pytest.mark.parametrize("payload", ["Pro", {"Plan": "Pro"}])
@pytest.mark.parametrize("twice", [False, True])
def test_a_question_interrupts_and_a_resume_answers_it(
    agentflow: Kit, browser: Browser, payload: Any, *, twice: bool
) -> None:
    """G3, G4, F15: the resume's answer holds, also beside a tool message for the same call."""
    agentflow.agent(replies=[ASK, {"text": "Pro it is."}])
    told = browser.run(user("Sell me one.", "u-1"))
    (interrupt,) = told[-1]["outcome"]["interrupts"]
    assert (interrupt["reason"], interrupt["message"]) == ("ask_user", "Which?")
    assert list(interrupt["responseSchema"]["properties"]) == ["Plan"]
    call_id = interrupt["id"]
    if twice:
        browser.messages.append({"id": "x", "role": "tool", "toolCallId": call_id, "content": "Free"})
    resume = [{"interruptId": call_id, "status": "resolved", "payload": payload}]
    told = browser.run(resume=resume * (1 + twice))
    assert told[0]["runId"] == "r-2"
    assert told[-1]["outcome"] == {"type": "success"}
    assert agentflow.requests[-1].messages[-1]["content"] == "Plan: Pro"
    assert len(agentflow.requests) == 2


def test_a_cancelled_interrupt_is_a_blank_answer(agentflow: Kit, browser: Browser) -> None:
    """G4."""
    agentflow.agent(replies=[ASK, {"text": "None then."}])
    call_id = browser.run(user("Sell.", "u-1"))[-1]["outcome"]["interrupts"][0]["id"]
    browser.run(resume=[{"interruptId": call_id, "status": "cancelled"}])
    assert agentflow.requests[-1].messages[-1]["content"] == "Plan: (no answer)"


def test_words_beside_a_resume_follow_it_in_the_same_step(agentflow: Kit, browser: Browser) -> None:
    """G4."""
    agentflow.agent(replies=[ASK, {"text": "Pro, quickly."}])
    call_id = browser.run(user("Sell.", "u-1"))[-1]["outcome"]["interrupts"][0]["id"]
    browser.run(
        user("Quickly, please.", "u-2"), resume=[{"interruptId": call_id, "status": "resolved", "payload": "Pro"}]
    )
    said = [(message["role"], message["content"]) for message in agentflow.requests[-1].messages[-2:]]
    assert said == [("tool", "Plan: Pro"), ("user", "Quickly, please.")]
    assert len(agentflow.run(agentflow.runtime.session("t-1"))["steps"]) == 2


def test_words_alone_answer_too(agentflow: Kit, browser: Browser) -> None:
    """G4, C27: of a client that knows no interrupts."""
    agentflow.agent(replies=[ASK, {"text": "Pro it is."}])
    browser.run(user("Sell.", "u-1"))
    browser.run(user("Pro", "u-2"))
    assert agentflow.requests[-1].messages[-1]["content"] == "Plan: Pro"


def test_a_resume_of_what_was_answered_is_an_error(agentflow: Kit, browser: Browser) -> None:
    """G4."""
    agentflow.agent(replies=[ASK, {"text": "Pro it is."}])
    call_id = browser.run(user("Sell.", "u-1"))[-1]["outcome"]["interrupts"][0]["id"]
    resume = [{"interruptId": call_id, "status": "resolved", "payload": "Pro"}]
    browser.run(resume=resume)
    told = browser.run(resume=resume)
    assert (told[-1]["type"], told[-1]["code"]) == ("RUN_ERROR", "question_already_answered")
    assert len(agentflow.requests) == 2


def test_the_clients_tools_end_the_run_and_their_results_go_on(agentflow: Kit, browser: Browser) -> None:
    """G1, G3, C37-C39."""
    agentflow.agent(
        replies=[{"tool_calls": [{"name": "show_chart", "arguments": {"of": "sales"}}]}, {"text": "There."}]
    )
    told = browser.run(user("Chart!", "u-1"), tools=[CHART])
    call_id = next(each["toolCallId"] for each in told if each["type"] == "TOOL_CALL_START")
    assert told[-1]["outcome"] == {"type": "success", "pendingToolCallIds": [call_id]}
    shown = {"id": "res-1", "role": "tool", "toolCallId": call_id, "content": "shown"}
    told = browser.run(shown, tools=[CHART])
    assert "TOOL_CALL_RESULT" not in kinds(told)
    assert [message["content"] for message in agentflow.requests[-1].messages[-1:]] == ["shown"]
    assert [(each["id"], each["role"]) for each in browser.messages] == transcript_of(agentflow, "t-1")


def test_a_resume_keeps_the_tools_of_its_turn(agentflow: Kit, browser: Browser) -> None:
    """F24, G1: a resume without tools keeps them; one with others has those."""
    agentflow.agent(replies=[ASK, ASK, {"text": "Done."}])
    call_id = browser.run(user("Sell.", "u-1"), tools=[CHART])[-1]["outcome"]["interrupts"][0]["id"]
    again = browser.run(resume=[{"interruptId": call_id, "status": "resolved", "payload": "Pro"}])
    assert "show_chart" in called(agentflow)
    call_id = again[-1]["outcome"]["interrupts"][0]["id"]
    other = {**CHART, "name": "show_map"}
    browser.run(resume=[{"interruptId": call_id, "status": "resolved", "payload": "Pro"}], tools=[other])
    assert "show_map" in called(agentflow)


def test_an_edit_and_a_regeneration_branch(agentflow: Kit, browser: Browser) -> None:
    """G1, C9-C13: by sending the view; going back is a view too."""
    agentflow.agent(replies=[{"text": "One."}, {"text": "Two."}, {"text": "Three."}])
    browser.run(user("Hi.", "u-1"))
    first = list(browser.messages)
    browser.messages = browser.messages[:1]
    browser.run()
    browser.messages = []
    browser.run(user("Hello.", "u-2"))
    assert len(agentflow.run(agentflow.runtime.tree("t-1"))["nodes"]) == 5
    browser.messages = first
    told = browser.run()
    assert [event.get("name") for event in told] == [None, "agentflow.head.moved", None]
    assert transcript_of(agentflow, "t-1") == [(each["id"], each["role"]) for each in first]


def test_a_failed_turn_is_an_error_with_our_code(agentflow: Kit, browser: Browser) -> None:
    """G3: what was shown of the reply is closed, and the transcript set right before the end (G2)."""
    agentflow.agent(replies=[{"text": "Hello the", "error": {"kind": "auth", "after": 5}}])
    told = browser.run(user("Hi.", "u-1"))
    assert (told[-1]["type"], told[-1]["code"]) == ("RUN_ERROR", "model_error.auth")
    assert [(each["id"], each["role"]) for each in browser.messages] == transcript_of(agentflow, "t-1")


def test_what_is_refused_is_a_problem_before_any_event(agentflow: Kit, server: Server) -> None:
    """G3."""
    agentflow.agent(replies=[])
    bodies = ({}, {"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "pope", "content": ""}]})
    for body in bodies:
        assert server.ask("POST", "/agui/test", body).status == 422
    asked = {"threadId": "t", "runId": "r", "messages": [user("Hi.", "u-1")], "forwardedProps": {"queue": 7}}
    answer = server.ask("POST", "/agui/test", asked)
    assert (answer.status, answer.json["field"]) == (422, "forwardedProps.queue")
    assert server.ask("POST", "/agui/nobody", {**asked, "forwardedProps": {}}).code == "agent_not_found"


def test_a_view_without_messages_runs_nothing(agentflow: Kit, browser: Browser) -> None:
    """G1."""
    agentflow.agent(replies=[])
    assert kinds(browser.run()) == ["RUN_STARTED", "RUN_FINISHED"]


def test_who_comes_back_has_the_transcript_and_what_is_asked(agentflow: Kit, browser: Browser) -> None:
    """G1: `connect`."""
    agentflow.agent(replies=[ASK])
    asked = browser.run(user("Sell.", "u-1"))[-1]["outcome"]
    other = Browser(browser.server)
    told = other.heard(other.server.ask("POST", "/agui/test/connect", {"threadId": "t-1"}))
    assert kinds(told) == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert told[-1]["outcome"] == asked
    assert [each["id"] for each in other.messages] == [each["id"] for each in browser.messages]
    assert browser.server.ask("POST", "/agui/other/connect", {"threadId": "t-1"}).status == 404


def test_capabilities_are_what_there_is(agentflow: Kit, server: Server) -> None:
    """G1."""
    agentflow.agent(replies=[])
    told = server.ask("GET", "/agui/test/capabilities").json
    assert told["identity"]["name"] == "test"
    assert told["humanInTheLoop"] == {"supported": True, "interrupts": True, "approvals": False}


def test_the_agents_state_is_told_at_the_start_and_when_it_changes(agentflow: Kit, browser: Browser) -> None:
    """G2: and an agent without state never wipes the client's."""

    def worker(request: dict[str, Any]) -> Any:
        if request["trigger"]["type"] == "client.messages":
            return {**request["proposed"], "state": {"seen": len(request["messages"])}}
        return request["proposed"]

    agentflow.agent(replies=[{"text": "One."}, {"text": "Two."}], worker=worker)
    browser.server.open()
    told = browser.run(user("Hi.", "u-1"))
    assert [event["snapshot"] for event in told if event["type"] == "STATE_SNAPSHOT"] == [{"seen": 1}]
    told = browser.run(user("Hi.", "u-2"))
    assert [event["snapshot"] for event in told if event["type"] == "STATE_SNAPSHOT"] == [{"seen": 1}, {"seen": 3}]
    assert browser.state == {"seen": 3}


def test_what_a_sub_agent_does_is_told_as_its_own(agentflow: Kit, browser: Browser) -> None:
    """G2: its text is not the conversation's."""
    task = {"name": "task", "arguments": {"agent": "helper", "prompt": "Find."}}
    agentflow.agent("helper", replies=[{"text": "Found it."}], description="Helps.")
    agentflow.agent("test", sub_agents=["helper"], replies=[{"tool_calls": [task]}, {"text": "Yes."}])
    browser.server.open()
    told = browser.run(user("Find it.", "u-1"))
    begun = next(event for event in told if event["type"] == "SUBAGENT_STARTED")
    call = next(event for event in told if event["type"] == "TOOL_CALL_START")
    assert (begun["name"], begun["parentToolCallId"]) == ("helper", call["toolCallId"])
    texts = [event for event in told if event["type"] == "TEXT_MESSAGE_CONTENT"]
    assert [(event["delta"], event.get("subagentRunId")) for event in texts] == [
        ("Found it.", begun["subagentRunId"]), ("Yes.", None),
    ]  # fmt: skip
    assert [each["id"] for each in browser.messages] == [id_ for id_, _ in transcript_of(agentflow, "t-1")]


def test_a_stopped_run_is_cancelled_and_its_text_is_what_was_kept(agentflow: Kit, browser: Browser) -> None:
    """G3, G2."""
    agentflow.agent(replies=[{"text": "A long story.", "chunk_size": 2, "delay_secs": 0.1}])
    server = browser.server
    body = {"threadId": "t-1", "runId": "r-1", "messages": [user("Tell.", "u-1")], "tools": []}

    async def stopped() -> Answer:
        async with server.client.stream("POST", "/agui/test", body) as stream:
            await stream.until(b"TEXT_MESSAGE_CONTENT")
            await agentflow.runtime.stop("t-1")
            return await stream.end()

    browser.messages = [user("Tell.", "u-1")]
    told = browser.heard(server.run(stopped()))
    assert told[-1]["outcome"] == {"type": "cancelled"}
    assert [each["id"] for each in browser.messages] == [id_ for id_, _ in transcript_of(agentflow, "t-1")]
    kept = agentflow.run(agentflow.runtime.session("t-1"))["messages"][-1]["content"]
    assert browser.messages[-1]["content"] == kept


@pytest.mark.parametrize("stops", [False, True])
def test_who_leaves_stops_nothing_unless_it_says_so(agentflow: Kit, browser: Browser, *, stops: bool) -> None:
    """G5."""
    agentflow.agent(replies=[{"text": "A long story.", "chunk_size": 2, "delay_secs": 0.1}])
    body = {
        "threadId": "t-1", "runId": "r-1", "messages": [user("Tell.", "u-1")], "tools": [],
        "forwardedProps": {"stop_on_disconnect": stops},
    }  # fmt: skip

    async def left() -> None:
        async with browser.server.client.stream("POST", "/agui/test", body) as stream:
            await stream.until(b"TEXT_MESSAGE_CONTENT")

    browser.server.run(left())
    result = agentflow.run(agentflow.runtime.result("t-1", "r-1"))
    assert result.state == ("aborted" if stops else "done")


def test_who_comes_back_in_the_middle_has_all_of_it(agentflow: Kit, browser: Browser) -> None:
    """G1: what was said of the reply so far, then the rest."""
    agentflow.agent(replies=[{"text": "A long story.", "chunk_size": 2, "delay_secs": 0.1}])
    server = browser.server
    body = {"threadId": "t-1", "runId": "r-1", "messages": [user("Tell.", "u-1")], "tools": []}
    other = Browser(server)

    async def reloaded() -> Answer:
        async with server.client.stream("POST", "/agui/test", body) as stream:
            await stream.until(b"TEXT_MESSAGE_CONTENT")
        return await server.client.ask("POST", "/agui/test/connect", {"threadId": "t-1"})

    told = other.heard(server.run(reloaded()))
    assert told[1]["type"] == "MESSAGES_SNAPSHOT"
    assert other.messages[-1]["content"] == "A long story."
    assert [each["id"] for each in other.messages] == [id_ for id_, _ in transcript_of(agentflow, "t-1")]
    assert told[-1]["outcome"] == {"type": "success"}
