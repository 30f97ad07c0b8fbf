"""Which turn a name means: the one place where turn ids are resolved (C19).

A turn has the id of its first request. The ids of the requests that answered it, and of those that were merged into
it while it waited, are other names of it; a request that ran no turn has a name too, so that it is not made twice.
"""

from __future__ import annotations

from agentflow.store.outcomes import TurnRef
from agentflow.store.sql.transaction import Tx

_NAMED = """
SELECT alias.target, alias.step, alias.after_seq, turn.id, turn.number, turn.after_seq,
       EXISTS (SELECT 1 FROM queue_entry WHERE session_key = ? AND turn_id = coalesce(alias.target, given.name))
FROM (SELECT CAST(? AS TEXT) AS name) given
LEFT JOIN alias ON alias.session_key = ? AND alias.kind = 'turn' AND alias.alias = given.name
LEFT JOIN turn ON turn.session_key = ? AND turn.id = coalesce(alias.target, given.name)
"""


def resolve(tx: Tx, key: int, name: str) -> TurnRef | None:
    """The turn of this session that the name means, whether it waits, runs or has ended; null when there is none."""
    target, step, named_seq, turn_id, number, turn_seq, waits = tx.one(_NAMED, key, name, key, key)
    if turn_id is not None:
        return TurnRef(turn_id, number, step, turn_seq if named_seq is None else named_seq)
    if target == "":
        return TurnRef("", after_seq=named_seq)
    return TurnRef(target or name, after_seq=named_seq) if waits else None
