"""The tables (R3). Every row but the session's own hangs on `session.key`, and the database cascades from it.

Sizes matter here: a turn writes some thirty rows, so rows point at each other by small numbers that count inside
one session (turn, step, execution, branch, depth) and only messages, calls and turns carry their public ids.
A text is stored once, in `message` (an over-long tool result in full in its call row); events hold references.
Instants are whole microseconds since the epoch, JSON is text: both read the same from every database.
`Base.metadata` has them all: those of the conversation, and those of what is kept beside it.
"""

from agentflow.store.sql.tables import conversation, kept_beside
from agentflow.store.sql.tables.base import Base

__all__ = ["Base", "conversation", "kept_beside"]
