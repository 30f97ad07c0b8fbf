"""The door to what is kept about conversations: feedback and what follows from it."""

from __future__ import annotations

from typing import Any

from agentflow import clock
from agentflow.conversation import arguments
from agentflow.errors import StepNotFound
from agentflow.reading.lookup import session_of
from agentflow.records.feedback import parse_rating
from agentflow.store.protocol import Store


class Records:
    """What is kept beside the turns of a project's sessions; reached as `runtime.records`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def feedback(
        self, session_id: str, step_order: int, rating: str | int, comment: str | None = None
    ) -> dict[str, Any]:
        """Keep what a person thought of a step, `up`, `down` or 1 to 5, in place of what was kept before (R11).

        Returns `{session_id, step_order, rating, comment}`. Raises `SessionNotFound`, `StepNotFound`, `InvalidInput`.
        """
        order = arguments.whole_number(step_order, "step_order", least=1)
        kept, said = parse_rating(rating), arguments.optional_text(comment, "comment")
        record = await session_of(self._store, session_id)
        if not await self._store.ledger.rate(record.key, order, kept, said, clock.instant()):
            raise StepNotFound(
                f"Session {session_id!r} has no step {order}; its steps are 1 to {record.steps}.",
                detail={"session_id": session_id, "step_order": order},
            )
        return {"session_id": session_id, "step_order": order, "rating": kept, "comment": said}
