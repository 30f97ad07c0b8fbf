"""Finding what a read names: a session, a turn by any of its names, a turn's last step."""

from __future__ import annotations

from agentflow.conversation import arguments
from agentflow.errors import TurnNotFound, no_session
from agentflow.store.outcomes import TurnRef
from agentflow.store.protocol import Store
from agentflow.store.records import SessionRecord, StepRecord


async def session_of(store: Store, session_id: str) -> SessionRecord:
    """The session's row. Raises `SessionNotFound`, `InvalidInput`."""
    found = await store.session(arguments.session_id(session_id))
    if found is None:
        raise no_session(session_id)
    return found


async def turn_of(store: Store, record: SessionRecord, name: str) -> TurnRef:
    """The turn that the name means, be it waiting. Raises `TurnNotFound`, also for a request that ran none."""
    ref = await store.turn(record.key, arguments.text(name, "turn_id"))
    if ref is None or not ref.id:
        raise TurnNotFound(
            f"Session {record.id!r} has no turn {name!r}; `agentflow sessions show --json` lists its steps.",
            detail={"session_id": record.id, "turn_id": name},
        )
    return ref


async def step_of(store: Store, record: SessionRecord, ref: TurnRef) -> StepRecord | None:
    """The turn's last step, null while it waits in the queue."""
    return None if ref.number is None else await store.step(record.key, ref.id)
