"""The life of a turn, as a table (T1). This is the only place where a turn's state changes.

A request is accepted (`idle`), begins, and ends `done` or `failed`. It may pause any number of times for a question
to the user and be resumed by the answer. Its user may stop it wherever it stands, and when the process that ran it
is gone the next request repairs it. Nothing leaves an end state.

The machine decides legality only: no awaits, no effects. A trigger first wins a conditional update of the stored
row, written from `target()`, and then moves the model with `fire()` (T2): the row is the lock, never the memory.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from transitions import Machine, MachineError

from agentflow.errors import IllegalTransition
from agentflow.message import TurnState


class Trigger(StrEnum):
    BEGIN = "begin"
    ASK = "ask"
    ANSWER = "answer"
    FINISH = "finish"
    FAIL = "fail"
    STOP = "stop"
    REPAIR = "repair"


TABLE: tuple[tuple[Trigger, tuple[TurnState, ...], TurnState], ...] = (
    (Trigger.BEGIN, (TurnState.IDLE,), TurnState.RUNNING),
    (Trigger.ASK, (TurnState.RUNNING,), TurnState.PAUSED_ASK_USER),
    (Trigger.ANSWER, (TurnState.PAUSED_ASK_USER,), TurnState.RUNNING),
    (Trigger.FINISH, (TurnState.RUNNING,), TurnState.DONE),
    (Trigger.FAIL, (TurnState.RUNNING,), TurnState.FAILED),
    (Trigger.STOP, (TurnState.IDLE, TurnState.RUNNING, TurnState.PAUSED_ASK_USER), TurnState.ABORTED),
    (Trigger.REPAIR, (TurnState.RUNNING,), TurnState.ABORTED),
)

_TARGETS = {(source, trigger): to for trigger, sources, to in TABLE for source in sources}


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
            raise _illegal(self.turn_id, TurnState(self.state), trigger) from error

    def leave(self) -> None:
        """Let the machine forget this turn."""
        _MACHINE.remove_model(self)


def target(turn_id: str, state: TurnState, trigger: Trigger) -> TurnState:
    """Where the trigger leads from this state. Raises `IllegalTransition` when the table has no such move."""
    to = _TARGETS.get((state, trigger))
    if to is None:
        raise _illegal(turn_id, state, trigger)
    return to


def _illegal(turn_id: str, state: TurnState, trigger: Trigger) -> IllegalTransition:
    return IllegalTransition(
        f"Turn {turn_id} is {state}: it cannot {trigger}.",
        detail={"turn_id": turn_id, "state": state.value, "trigger": trigger.value},
    )


def diagram() -> str:
    """The table as a mermaid state diagram, for the documentation."""
    ended = [state for state in TurnState if not any(source == state for source, _ in _TARGETS)]
    lines = ["stateDiagram-v2", f"    [*] --> {TurnState.IDLE}"]
    lines += [f"    {source} --> {to}: {trigger}" for (source, trigger), to in _TARGETS.items()]
    return "\n".join([*lines, *(f"    {state} --> [*]" for state in ended)]) + "\n"
