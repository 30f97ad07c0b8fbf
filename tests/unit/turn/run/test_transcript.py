"""What the model of an execution reads: one request, in which each call id stands once (T7, T14)."""

from __future__ import annotations

from agentflow.context.tokens import Report
from agentflow.conversation.history import History
from agentflow.message import Message, ToolCall
from agentflow.turn.run.transcript import Transcript
from tests.scenarios.invariants import check_wire


def exchange(number: int, *call_ids: str) -> list[Message]:
    calls = tuple(ToolCall(id_, "look", "{}") for id_ in call_ids)
    asked = Message(f"a{number}", "assistant", None, calls)
    return [asked, *(Message(f"r{number}{id_}", "tool", "seen", (), id_, "look") for id_ in call_ids)]


def transcript(*earlier: Message) -> Transcript:
    history = History()
    history.extend(earlier)
    return Transcript("model", history)


def test_a_call_id_of_an_earlier_turn_stands_once_in_the_request() -> None:
    """D13: a provider that numbers its calls afresh in every turn."""
    read = transcript(*exchange(1, "call_0"), *exchange(2, "call_0"))
    read.remember(*exchange(3, "call_0", "call_1"))
    check_wire(read.request("", 0).messages)


def test_ids_are_written_the_same_way_when_the_turn_has_become_an_earlier_one() -> None:
    read = transcript(*exchange(1, "call_0"))
    read.remember(*exchange(2, "call_0"))
    written = read.request("", 0).messages
    read.earlier.extend(read.messages)
    assert read.earlier.wire == written


def test_a_reserved_id_goes_to_no_other_call_and_is_written_as_it_is() -> None:
    """T14: the rows of a turn's calls are there, whether or not they are read."""
    read = transcript()
    read.reserve(["call_0"])
    assert read.has_call("call_0")
    read.remember(*exchange(1, "call_0"))
    assert read.request("", 0).messages[0]["tool_calls"][0]["id"] == "call_0"


def test_ids_of_a_path_that_was_left_stay_taken() -> None:
    read = transcript(*exchange(1, "call_0"))
    read.remember(*exchange(2, "call_1"))
    read.leave_for([], [], is_lean=False)
    assert read.has_call("call_0")
    assert read.has_call("call_1")
    assert read.request("", 0).messages == []


def test_the_answer_of_a_path_that_was_left_stands_until_a_model_is_called() -> None:
    read, answer = transcript(), Message("a", "assistant", "yes")
    read.remember(answer)
    read.leave_for([], [], is_lean=False)
    assert read.answer is answer
    read.model_called()
    assert read.answer is None


def test_another_history_has_no_report() -> None:
    """X5."""
    read = transcript()
    read.reported(Report(1, 2))
    read.leave_for([], [], is_lean=False)
    assert read.report is None


def test_an_exchange_that_waits_for_a_result_is_held_back() -> None:
    read, (asked, *results) = transcript(), exchange(1, "one", "two")
    read.take_up([Message("u", "user", "go"), asked, results[0]])
    assert read.held is not None
    assert (read.held.message, read.held.results, read.held.open) == (asked, (results[0],), ("two",))
    assert [message.role for message in read.messages] == ["user"]


def test_what_a_compaction_took_is_restated_once() -> None:
    """T32."""
    read = transcript()
    read.say("first")
    for text in ("open: a", "open: b", ""):
        read.restate(text)
    assert read.step_texts == ["first"]
