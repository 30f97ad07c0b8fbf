"""What a flow is given besides its arguments."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NewType

FlowName = NewType("FlowName", str)
"""The type of a flow's parameter that names another flow: `validate` finds a name that is none in a hook's `with:`."""

_LOGGER = logging.getLogger("agentflow.flow")


class CallCancelled(BaseException):
    """Unwinds a flow whose result nobody waits for; not an `Exception`, so that no flow eats it by accident."""


def _emit_nowhere(name: str, data: Mapping[str, Any]) -> None:
    """Where a context without a running turn sends its events."""


def _never() -> bool:
    return False


@dataclass(frozen=True)
class FlowContext:
    """The parameter annotated `FlowContext`: who called, with what, and how to speak up or give up (A6).

    Every field has a default, so a test makes one with `FlowContext(inputs={...})`. The mappings are read-only
    views: `inputs` are the request's validated inputs, `vars` the prompt's variables, `client` what the request
    carried (`state`, `context`, `forwarded_props`). `emit(name, data)` streams an event to the client; it and
    `cancelled()` may be called from any thread. `hook` is what a hook is called about (T36), empty for a tool.
    `execution` is the number of the sub-agent's run that asks, 0 for the agent of the session.
    """

    session_id: str = ""
    turn_id: str = ""
    agent_id: str = ""
    call_id: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    vars: Mapping[str, Any] = field(default_factory=dict)
    client: Mapping[str, Any] = field(default_factory=dict)
    logger: logging.Logger = _LOGGER
    emit: Callable[[str, Mapping[str, Any]], None] = _emit_nowhere
    cancelled: Callable[[], bool] = _never
    hook: Mapping[str, Any] = field(default_factory=dict)
    execution: int = 0

    @property
    def idempotency_key(self) -> str:
        """The same text whenever this very call is meant, and no other: for services that refuse doubles."""
        run = f"{self.execution}/" if self.execution else ""  # call ids are told apart inside one run only
        return f"{self.session_id}/{self.turn_id}/{run}{self.call_id}"

    def check_cancelled(self) -> None:
        """Raise `CallCancelled` when the call was stopped or ran out of time; for loops in sync flows (T23)."""
        if self.cancelled():
            raise CallCancelled(f"call {self.call_id} was stopped")
