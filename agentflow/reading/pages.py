"""Pages of the list of sessions, and the cursor that leads from one to the next (F30).

A page fixes the moment the list is of: a session that is used meanwhile keeps its place until the list is read anew.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agentflow.conversation import arguments
from agentflow.errors import InvalidInput
from agentflow.store.requests import ListSessions
from agentflow.text import read_json


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Some sessions of a list, the most recently used first; `more` follow, from `cursor` on (null when none do)."""

    sessions: Sequence[dict[str, Any]]
    more: int = 0
    cursor: str | None = None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.sessions)

    def __len__(self) -> int:
        return len(self.sessions)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.sessions[index]

    def as_dict(self) -> dict[str, Any]:
        """`{sessions: [{session_id, agent_id, name, status, ...}], more, cursor}`."""
        return {"sessions": list(self.sessions), "more": self.more, "cursor": self.cursor}


def cursor_of(listed: ListSessions) -> str:
    """The opaque text that asks for what follows; it is of this list alone."""
    place = [listed.agent, listed.search, listed.user, listed.moment, *(listed.after or ())]
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def asked_by(
    cursor: str | None, agent: str | None, search: str | None, limit: int, user: str | None = None
) -> ListSessions:
    """The page of the list that a cursor asks for, the first one without. Raises `InvalidInput`."""
    arguments.whole_number(limit, "limit", least=1)
    wanted = arguments.optional_text(search, "search")
    text = arguments.optional_text(cursor, "cursor")
    if text is None:
        return ListSessions(agent, limit, wanted, user=user)
    try:
        of_agent, found, of_user, moment, used, key = read_json(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, TypeError):
        raise _refused("is not one that `sessions` gave; leave it out to begin with the newest") from None
    if not all(type(number) is int and abs(number) < 2**63 for number in (moment, used, key)):
        raise _refused("is not one that `sessions` gave; leave it out to begin with the newest")
    if of_agent != agent or of_user != user:
        raise _refused("belongs to the list of another agent; give the same agent with it")
    if found != wanted:
        raise _refused("belongs to another search; give the same search with it")
    return ListSessions(agent, limit, wanted, moment, (used, key), user)


def _refused(why: str) -> InvalidInput:
    return InvalidInput(f"cursor: this cursor {why}.", detail={"field": "cursor"})
