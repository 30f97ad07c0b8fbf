"""Which turn a waiting input becomes (C19, C21, C22)."""

from __future__ import annotations

from collections.abc import Sequence

from agentflow.conversation.inbox import Client, ClientAppend, ClientMessage, ClientMessages, Queue
from agentflow.conversation.queue import Deliverable, Entry, delivered, enqueue, repeated
from agentflow.message import Message
from tests.unit.conversation.memory_tree import numbered


def say(id: str, queue: Queue = False, turn_id: str | None = None, client: Client | None = None) -> ClientMessage:
    return ClientMessage(message=Message(id, "user", id), queue=queue, turn_id=turn_id, client=client or Client())


def queued(*submits: Deliverable) -> list[Entry]:
    entries: list[Entry] = []
    new_id = numbered("turn")
    for submit in submits:
        entry, joined = enqueue(entries, submit, new_id)
        entries[len(entries) - joined :] = [entry]
    return entries


def sent(entries: Sequence[Entry]) -> list[list[str]]:
    return [[message.id for message in delivered(entry).messages] for entry in entries]


def test_turns_start_in_the_order_they_were_queued_and_a_merge_joins_only_the_last() -> None:
    """B55: A, B with true, C, D to merge, E with true, then F without a flag behind them."""
    entries = queued(say("A", True), say("B", True), say("C", "merge"), say("D", "merge"), say("E", True), say("F"))
    assert sent(entries) == [["A"], ["B"], ["C", "D"], ["E"], ["F"]]
    assert [entry.turn_id for entry in entries] == ["turn1", "turn2", "turn3", "turn4", "turn5"]


def test_a_merge_never_joins_a_turn_that_was_not_queued_to_merge() -> None:
    for first in (say("A", True), say("A"), ClientMessages(messages=())):
        assert len(queued(first, say("B", "merge"))) == 2


def test_the_turn_id_of_a_joining_submit_becomes_an_alias() -> None:
    entry, joined = enqueue(queued(say("A", "merge", "t2")), say("B", "merge", "t3"), numbered())
    assert (entry.turn_id, entry.aliases, joined) == ("t2", ("t3",), True)


def test_a_resent_submit_names_the_turn_it_waits_in() -> None:
    """C19: by turn id or its alias, else by the message's id; B47 (iv)."""
    entries = queued(say("A", True, "t1"), say("B", "merge", "t2"), say("C", "merge", "t3"))
    assert repeated(entries, say("other", turn_id="t1")) == entries[0]
    assert repeated(entries, say("other", turn_id="t3")) == entries[1]
    assert repeated(entries, say("C", "merge")) == entries[1]
    assert repeated(entries, say("C", turn_id="t9")) is None
    assert repeated(entries, say("D")) is None
    assert repeated(queued(say("")), say("")) is None


def test_an_id_that_waits_in_the_turn_already_is_not_added_twice() -> None:
    entries = queued(
        say("A", "merge"),
        ClientAppend(messages=(Message("A", "user", "again"), Message("B", "user", "B")), queue="merge"),
        ClientAppend(messages=(Message("", "user", "x"), Message("", "user", "x")), queue="merge"),
    )
    assert sent(entries) == [["A", "B", "", ""]]


def test_a_repetition_inside_one_submit_is_left_to_the_merge() -> None:
    """C10: the second one gets a fresh id, its text is not lost."""
    twice = ClientAppend(messages=(Message("B", "user", "1"), Message("B", "user", "2")), queue="merge")
    assert sent(queued(say("A", "merge"), twice)) == [["A", "B", "B"]]


def test_of_two_client_states_the_later_wins_and_contexts_concatenate() -> None:
    (entry,) = queued(
        say("A", "merge", client=Client({"x": 1}, ["one"], {"p": 1})),
        say("B", "merge", client=Client({"x": 2}, ["two"])),
        say("C", "merge", client=Client(None, ["three"])),
    )
    assert delivered(entry).client == Client({"x": 2}, ["one", "two", "three"], {"p": 1})


def test_agent_inputs_of_merged_submits_are_one_set_the_later_value_winning() -> None:
    first = ClientMessage(message=Message("A", "user", "a"), queue="merge", inputs={"a": 1, "b": 1}, stream=True)
    second = ClientMessage(message=Message("B", "user", "b"), queue="merge", inputs={"b": 2}, agent_id="bot")
    both = delivered(queued(first, second)[0])
    assert (both.inputs, both.stream, both.agent_id, both.turn_id) == ({"a": 1, "b": 2}, True, "bot", "turn1")


def test_a_turn_of_one_input_is_delivered_as_it_came() -> None:
    view = ClientMessages(messages=(), agent_id="bot")
    (entry,) = queued(view)
    assert delivered(entry) == ClientMessages(messages=(), agent_id="bot", turn_id="turn1")
