"""A decision in its normal form, and who makes it: the engine, which takes its own proposal, or a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentflow.message import Message
from agentflow.turn.decide.actions import Action, Call, Following, Given, ReplaceContext
from agentflow.turn.decide.triggers import Trigger


@dataclass(frozen=True, slots=True)
class Changes:
    """What holds from a decision on: another state, unless null, and `agent`, other keys of the configuration."""

    state: Any = None
    agent: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done at a trigger, in the order of these fields.

    `view` leads the conversation elsewhere: it is merged as a client's is. `record` is the message that the trigger
    brings (a reply, a result) as it is recorded, null for not at all. What follows is done once every call that runs
    has its result.
    """

    changes: Changes | None = None
    view: tuple[Message, ...] | None = None
    record: Message | None = None
    replace: ReplaceContext | None = None
    given: tuple[Given, ...] = ()
    calls: tuple[Call, ...] = ()
    then: Following | None = None

    @property
    def actions(self) -> tuple[Action, ...]:
        replace = () if self.replace is None else (self.replace,)
        then = () if self.then is None else (self.then,)
        return (*replace, *self.calls, *self.given, *then)

    @property
    def acts_on_reply(self) -> bool:
        """Whether it says what becomes of a call of the message that is recorded."""
        asked = {call.id for call in self.record.tool_calls} if self.record is not None else set()
        return any(action.id in asked for action in (*self.given, *self.calls))

    @property
    def leaves(self) -> bool:
        """Whether the conversation goes on somewhere else."""
        return self.view is not None or self.replace is not None


NOTHING = Decision()


class Decider(Protocol):
    """Contract: what `decide` returns can be performed as it is; it raises `WorkerFailed` for what cannot.

    It may be cancelled. A decider belongs to one run of an agent and is asked one decision at a time.
    """

    async def decide(self, trigger: Trigger, proposal: Decision) -> Decision:
        """What is done at the trigger, instead of the proposal or as proposed."""
        ...


class Engine:
    """Decides as it proposes."""

    async def decide(self, trigger: Trigger, proposal: Decision) -> Decision:
        return proposal
