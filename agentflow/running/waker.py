"""Lets the queue of a session go on in the transaction that ends a turn or a pause."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from agentflow.agents.loaded_agent import LoadedAgent
from agentflow.errors import AgentflowError
from agentflow.store.outcomes import Claimed, Moved, Stopped
from agentflow.store.requests import Owning, Wake

_log = logging.getLogger("agentflow.runtime")

Woken = TypeVar("Woken", Stopped, Moved)


class Waker:
    """For one request. Unless it `serves`, the queue is left to others.

    The agent is loaded on the store's thread, when something waits, and kept for the start of the turn.
    """

    def __init__(
        self,
        of_session: Callable[[str], LoadedAgent],
        owning: Callable[[LoadedAgent], Owning],
        start: Callable[[str, LoadedAgent, Claimed], None],
        *,
        serves: bool,
    ) -> None:
        self.owning: Wake | None = self._owning if serves else None
        self._of_session, self._owning_of, self._start = of_session, owning, start
        self._agent: LoadedAgent | None = None

    def _owning(self, agent: str) -> Owning | None:
        try:
            self._agent = self._of_session(agent)
        except AgentflowError as error:
            _log.warning("the queue of a session of %s stays as it is: %s", agent, error)
            return None
        return self._owning_of(self._agent)

    def started(self, session_id: str, outcome: Woken) -> Woken:
        """The outcome, once the turn that the store has begun runs."""
        if outcome.started is not None and self._agent is not None:
            self._start(session_id, self._agent, outcome.started)
        return outcome
