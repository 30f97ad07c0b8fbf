"""The life of a turn, as a table (T1).

A request is accepted (`idle`), begins, and ends `done` or `failed`. It may pause any number of times for a question
to the user and be resumed by the answer. Its user may stop it wherever it stands, and when the process that ran it
is gone the next request repairs it. Nothing leaves an end state.

Every change of a turn's state is a row of this table: a conditional update of the stored row from one state to the
other wins first (T2), then the model in memory follows.
"""

from __future__ import annotations

from enum import StrEnum

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


def target(turn_id: str, state: TurnState, trigger: Trigger) -> TurnState:
    """Where the trigger leads from this state. Raises `IllegalTransition` when the table has no such move."""
    to = _TARGETS.get((state, trigger))
    if to is None:
        raise illegal(turn_id, state, trigger)
    return to


def move(state: TurnState, trigger: Trigger) -> tuple[TurnState, TurnState]:
    """`(from, to)` of a trigger, for the conditional update of a row that stands in `state`."""
    return state, _TARGETS[state, trigger]


def illegal(turn_id: str, state: TurnState, trigger: Trigger) -> IllegalTransition:
    """The error of a move that the table does not have."""
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
