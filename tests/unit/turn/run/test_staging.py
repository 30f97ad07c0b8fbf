"""What one commit takes: all that is staged, and the head only with the messages that lead there (T11, C36)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from agentflow import events
from agentflow.conversation.tree import Place
from agentflow.message import Message
from agentflow.store.rows import changes, inserts
from agentflow.turn.run.staging import Position, Staging


def numbers(first: int) -> Callable[[], int]:
    counted = count(first)
    return lambda: next(counted)


def staging(*, is_main: bool = True) -> Staging:
    """Of the main path, which ends in "before", or of a sub-agent's run that has said nothing."""
    place = Place(1, 2) if is_main else None
    position = Position(numbers(5), place, "before" if is_main else None, root_of=None if is_main else 9)
    return Staging(3, 9, position, is_main=is_main)


def said(text: str) -> Message:
    return Message(text, "assistant", text)


@pytest.mark.parametrize(
    ("place", "forks", "opened", "first"),
    [
        (Place(1, 2), False, None, Place(1, 3)),
        (Place(1, 2), True, inserts.InsertBranch(5, 1, 2, None), Place(5, 3)),
        (None, False, inserts.InsertBranch(5, None, 0, None), Place(5, 1)),
        (None, True, inserts.InsertBranch(5, None, 0, None), Place(5, 1)),
    ],
    ids=["the tip goes on", "a branch opens beside what follows", "a root", "nothing follows above every root"],
)
def test_a_message_goes_under_the_end_of_the_path(
    place: Place | None, forks: bool, opened: inserts.InsertBranch | None, first: Place
) -> None:
    position = Position(numbers(5), place, None, forks=forks)
    assert position.advance("a") == (opened, first)
    assert position.advance("b") == (None, Place(first.branch, first.depth + 1))
    assert position.message_id == "b"


def test_the_path_of_a_sub_agent_has_a_root_of_its_own() -> None:
    """C1."""
    assert Position(numbers(5), None, None, root_of=9).advance("a") == (
        inserts.InsertBranch(5, None, 0, 9),
        Place(5, 1),
    )


def test_a_commit_takes_everything_and_the_end_of_the_path() -> None:
    staged = staging()
    staged.record(said("a"))
    staged.add(changes.PlanTurn("plan", 3))
    batch = staged.take()
    assert [type(row) for row in batch.rows] == [inserts.InsertMessage, changes.PlanTurn]
    assert (batch.head, batch.keeps_head) == (Place(1, 3), False)
    assert not staged
    assert staged.take().rows == []


def test_each_message_tells_its_parent() -> None:
    """C5: none is null inside a branch."""
    staged = staging()
    for text in ("a", "b"):
        staged.record(said(text))
    assert [entry.full["parent_id"] for entry in staged.take().log] == ["before", "a"]


def test_the_commit_of_a_sub_agent_leaves_the_head_of_the_session() -> None:
    staged = staging(is_main=False)
    staged.record(said("a"))
    assert staged.take().keeps_head


def test_what_a_sub_agent_staged_rides_on_the_commit_of_its_parent() -> None:
    parent, child = staging(), staging(is_main=False)
    child.record(said("a"))
    child.tell(events.plain("x", {}))
    parent.adopt(child)
    assert not child
    batch = parent.take()
    assert [type(row) for row in batch.rows] == [inserts.InsertBranch, inserts.InsertMessage]
    assert batch.head == Place(1, 2)


def test_an_answer_that_waits_is_rewritten_in_its_row_and_in_its_event() -> None:
    """T9: nobody has read the other one."""
    staged = staging()
    staged.follow([])
    staged.record(said("a"))
    staged.rewrite(Message("a", "assistant", "better"))
    assert staged.path == [Message("a", "assistant", "better")]
    batch = staged.take()
    assert [row.content for row in batch.rows if isinstance(row, inserts.InsertMessage)] == ["better"]
    assert batch.log[0].full["message"]["content"] == "better"
    with pytest.raises(LookupError, match="not staged"):
        staged.rewrite(said("a"))


def test_what_rides_on_a_commit_is_staged_as_it_is_taken() -> None:
    staged = staging()
    staged.before_take(lambda: staged.add(changes.PlanTurn("plan", 3)))
    assert staged.take().rows == [changes.PlanTurn("plan", 3)]


def test_a_text_is_stored_once() -> None:
    staged = staging()
    assert staged.blob("text") == staged.blob("text")
    assert len(staged.take().rows) == 1
