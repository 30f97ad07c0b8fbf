"""The machine that every turn is a model of: its table is `agentflow/turn_table.py` (T1).

The machine decides legality only: no awaits, no effects. A trigger first wins a conditional update of the stored
row, written from `target()`, and then moves the model with `fire()` (T2): the row is the lock, never the memory.
"""

from __future__ import annotations

import logging
from typing import Any

from transitions import Machine, MachineError

from agentflow.message import TurnState
from agentflow.turn_table import TABLE, Trigger, illegal, target

# Ten lines a turn that say what the log of the agent says in one.
logging.getLogger("transitions").setLevel(logging.WARNING)


class _TurnMachine(Machine):
    """A machine whose models are moved by name only.

    The methods that a machine otherwise gives each of its models, two for a trigger and one for a state, are made
    anew for every turn and cost more than the rest of its life.
    """

    def add_model(self, model: Any, initial: Any = TurnState.IDLE.value) -> None:
        self.set_state(initial, model=model)
        self.models.append(model)


_MACHINE = _TurnMachine(
    model=None,
    states=[state.value for state in TurnState],
    transitions=[
        {"trigger": trigger.value, "source": [source.value for source in sources], "dest": to.value}
        for trigger, sources, to in TABLE
    ],
    initial=TurnState.IDLE.value,
    auto_transitions=False,
)


class LiveTurn:
    """A turn in memory: a model of the one shared machine, which holds it until `leave`."""

    state: str

    def __init__(self, turn_id: str, state: TurnState) -> None:
        self.turn_id = turn_id
        _MACHINE.add_model(self, initial=state.value)

    def target(self, trigger: Trigger) -> tuple[TurnState, TurnState]:
        """The states `(from, to)` of a trigger, for the conditional update that must win first."""
        return TurnState(self.state), target(self.turn_id, TurnState(self.state), trigger)

    def fire(self, trigger: Trigger) -> None:
        """Move the model, after the row has been moved. Raises `IllegalTransition`."""
        try:
            _MACHINE.events[trigger.value].trigger(self)
        except MachineError as error:
            raise illegal(self.turn_id, TurnState(self.state), trigger) from error

    def leave(self) -> None:
        """Let the machine forget this turn."""
        _MACHINE.remove_model(self)
