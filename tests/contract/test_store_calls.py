"""What is read of model and tool calls for the next ones (X5, T14), on every database."""

from __future__ import annotations

from agentflow.context.tokens import Report
from agentflow.conversation.tree import Node, Place
from agentflow.message import ToolCallStatus
from agentflow.store.rows import changes, inserts
from agentflow.store.rows.messages import copy_row
from agentflow.store.rows.written import Row
from tests.contract.book import NOW, Book, Turn, user


def called(
    turn: Turn, id_: str, place: Place, *, tokens: int | None, purpose: str = "main", status: str = "completed",
    iteration: int = 1,
) -> list[Row]:  # fmt: skip
    """A call made at a place, and its end."""
    return [
        inserts.InsertLlmCall(id_, turn.number, turn.number, 1, iteration, purpose, "m", "requested", NOW, *place),
        changes.EndLlmCall(status, 1, None, 1, 100, None, None, "stop", None, tokens, 1, *(None,) * 6, id_),
    ]


def test_the_last_report_on_a_path_is_of_the_deepest_completed_main_call(book: Book) -> None:
    """X5, C6: not of another branch, another purpose, or a call that failed."""

    async def test() -> None:
        turn = await book.begin()
        await book.say(turn, *(user("x", f"a{depth}") for depth in range(1, 5)))
        await book.append(turn, [inserts.InsertBranch(2, 1, 2)])
        await book.say(turn, user("y", "b3"), branch=2, depth=3)
        for written in (
            called(turn, "c1", Place(1, 1), tokens=10),
            called(turn, "c2", Place(1, 3), tokens=30),
            called(turn, "c3", Place(1, 3), tokens=31, iteration=2),
            called(turn, "s", Place(1, 4), tokens=99, purpose="summary"),
            called(turn, "e", Place(1, 4), tokens=99, status="errored"),
            called(turn, "b", Place(2, 3), tokens=None),
        ):
            await book.append(turn, written)
        read = book.store.report
        assert await read(turn.key, Place(1, 4), turn.number) == Report(31, 100)
        assert await read(turn.key, Place(1, 2), turn.number) == Report(10, 100)
        assert await read(turn.key, Place(2, 3), turn.number) == Report(None, 100)
        assert await read(turn.key, None, turn.number) is None

    book.run(test)


def test_a_held_call_is_found_where_it_went_on(book: Book) -> None:
    """X19: its anchor moves to the new branch."""

    async def test() -> None:
        turn = await book.begin()
        await book.say(turn, user("x", "a1"))
        await book.append(turn, [*called(turn, "c1", Place(1, 1), tokens=10), changes.MoveLlmCall(2, 1, "c1")])
        await book.append(turn, [inserts.InsertBranch(2, None, 0)])
        await book.say(turn, user("y", "b1"), branch=2, depth=1)
        assert await book.store.report(turn.key, Place(2, 1), turn.number) == Report(10, 100)
        assert await book.store.report(turn.key, Place(1, 1), turn.number) is None

    book.run(test)


def test_a_sub_agents_report_is_its_own(book: Book) -> None:
    """X5: child calls never feed the count of another execution."""

    async def test() -> None:
        turn = await book.begin()
        await book.say(turn, user("x", "a1"))
        child = inserts.InsertExecution(7, turn.number, "child", "hash", "RUNNING", NOW, turn.number, "call")
        await book.append(turn, [child, *called(turn, "c1", Place(1, 1), tokens=10)])
        await book.append(turn, [inserts.InsertLlmCall("c2", 1, 7, 1, 1, "main", "m", "requested", NOW, 1, 1)])
        await book.append(turn, [called(turn, "c2", Place(1, 1), tokens=70)[1]])
        assert await book.store.report(turn.key, Place(1, 1), turn.number) == Report(10, 100)
        assert await book.store.report(turn.key, Place(1, 1), 7) == Report(70, 100)

    book.run(test)


def test_entries_are_found_on_any_branch_and_copies_name_their_original(book: Book) -> None:
    """X18."""

    async def test() -> None:
        turn = await book.begin()
        await book.say(turn, user("x", "a1"))
        copy = copy_row("k1", Node("a1", Place(1, 1), "user", turn=1), 2, 1, turn.number, turn.number)
        await book.append(turn, [inserts.InsertBranch(2, None, 0), copy])
        found = {entry.message.id: entry for entry in await book.store.entries(turn.key, ["a1", "k1", "nowhere"])}
        assert set(found) == {"a1", "k1"}
        assert (found["k1"].copied_from, found["k1"].message.content) == ("a1", "x")
        assert (found["a1"].copied_from, found["a1"].place) == (None, Place(1, 1))
        assert await book.store.entries(turn.key, []) == []

    book.run(test)


def test_the_calls_of_an_execution_are_known_wherever_they_were_made(book: Book) -> None:
    """T14."""

    async def test() -> None:
        turn = await book.begin()
        planned = ToolCallStatus.PLANNED
        await book.append(
            turn,
            [inserts.InsertToolCall(turn.number, id_, turn.number, "r", "f", planned, None) for id_ in ("c2", "c1")],
        )
        assert await book.store.call_ids(turn.key, turn.number) == ["c1", "c2"]
        assert await book.store.call_ids(turn.key, 9) == []

    book.run(test)
