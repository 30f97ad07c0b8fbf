"""What the end of a turn counts (R6): its steps' own time, without the pauses between them."""

from __future__ import annotations

from agentflow.clock import SECOND
from agentflow.message import TurnState
from agentflow.store.rows import changes, inserts, written
from tests.contract.book import NOW, Book


def test_the_time_of_a_turn_is_that_of_its_steps_and_its_first_token_that_of_the_first(book: Book) -> None:
    async def test() -> None:
        turn = await book.begin()
        ends = NOW + 63 * SECOND
        written: list[written.Row] = [
            changes.EndStep(TurnState.PAUSED_ASK_USER, NOW + 2 * SECOND, 700, None, None, 1),
            inserts.InsertStep(2, 1, TurnState.RUNNING, NOW + 60 * SECOND, None),
            changes.EndStep(TurnState.DONE, ends, 900, None, None, 2),
            changes.EndTurn(TurnState.DONE, ends, None, None, *(None,) * 5, 1, TurnState.RUNNING),
        ]
        await book.end(turn, written, at=ends)
        counted = "SELECT duration_ms, first_token_ms, steps, ended_at, state FROM session_stats WHERE session_key = ?"
        found = await book.writer.run(lambda tx: tx.all(counted, turn.key))
        assert found == [(5000, 700, 2, ends, "done")]

    book.run(test)
