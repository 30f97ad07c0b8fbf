"""R5: however a turn of an agent without observability ends, no word of it is left: no row, no byte of the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentflow.testing import Kit, ProcessKilled
from tests.both_databases import on_both_databases
from tests.scenarios.invariants import everything
from tests.scenarios.support import Gate, call, rows

CANARY = "canary-7f3a"
OFF = {"observability": False}
ASK = call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])
ASKS = {"text": f"{CANARY} before asking", "tool_calls": [ASK]}
SECRET = {"role": "user", "content": f"{CANARY} said"}
END_STATES = ("done", "failed", "aborted")


def look(place: str) -> str:
    """Look at a place."""
    return f"{CANARY} {place}"


def breaks(place: str) -> str:
    """Fail."""
    raise RuntimeError(f"{CANARY} broke {place}")


LOOKS = {"text": f"{CANARY} thinks", "tool_calls": [call("look", place=CANARY), call("breaks", place=CANARY)]}


def begin(kit: Kit, *replies: Any, **settings: Any) -> None:
    kit.agent(tools=[look, breaks], replies=list(replies), settings=OFF | settings)


def done(kit: Kit) -> None:
    begin(kit, LOOKS, {"text": f"{CANARY} answers"})
    kit.send(SECRET)


def error(kit: Kit) -> None:
    begin(kit, LOOKS, {"error": {"kind": "cut"}, "text": f"{CANARY} cut"})
    kit.send(SECRET)


def limit(kit: Kit) -> None:
    begin(kit, LOOKS, max_iterations=1, on_limit="stop")
    kit.send(SECRET)


def stop_while_running(kit: Kit) -> None:
    gate = Gate(LOOKS, {"text": f"{CANARY} late"})
    kit.agent(tools=[look, breaks], replies=gate, settings=OFF)
    turn = kit.submit({"type": "client.message", "message": SECRET}).turn_id
    kit.stop()
    gate.open()
    kit.result(turn)


def stop_while_paused(kit: Kit) -> None:
    begin(kit, ASKS)
    kit.send(SECRET)
    kit.stop()


def interrupt_while_paused(kit: Kit) -> None:
    begin(kit, ASKS, {"text": "fine"})
    kit.send(SECRET)
    kit.deliver({"type": "client.message", "interrupt": True, "message": {"role": "user", "content": "else"}})


def expiry(kit: Kit) -> None:
    begin(kit, ASKS, {"text": "fine"}, ask_user_expiry_secs=60)
    kit.send(SECRET)
    kit.advance(61)
    kit.send("something else")


def answer(kit: Kit) -> None:
    begin(kit, LOOKS, ASKS, {"text": f"{CANARY} answers"})
    kit.send(SECRET)
    kit.answer({"Which": f"{CANARY} this"})


def dies(kit: Kit) -> None:
    kit.kill_after(3)
    with pytest.raises(ProcessKilled):
        kit.send(SECRET)
    kit.reopen()


def killed(kit: Kit) -> None:
    begin(kit, LOOKS, {"text": f"{CANARY} answers"}, {"text": "fine"})
    dies(kit)
    kit.send("something else")


def killed_then_stopped(kit: Kit) -> None:
    begin(kit, LOOKS, {"text": f"{CANARY} answers"})
    dies(kit)
    kit.stop()


def closed(kit: Kit) -> None:
    kit.agent(tools=[look, breaks], replies=Gate(LOOKS), settings=OFF)
    kit.submit({"type": "client.message", "message": SECRET})
    kit.restart()


def worker_fails(kit: Kit) -> None:
    def decide(request: dict[str, Any]) -> dict[str, Any]:
        failing = {"type": "fail", "error": f"{CANARY} no"}
        over = request["trigger"]["type"] == "llm.finished"
        return {"actions": [failing]} if over else dict(request["proposed"])

    kit.agent(tools=[look, breaks], replies=[LOOKS], settings=OFF, worker=decide)
    kit.send(SECRET)


agentflow_db = on_both_databases


ENDS: list[Callable[[Kit], None]] = [
    done, error, limit, stop_while_running, stop_while_paused, interrupt_while_paused, expiry, answer, killed,
    killed_then_stopped, closed, worker_fails,
]  # fmt: skip


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_no_word_of_the_turn_is_left(agentflow: Kit, agentflow_db: str, end: Callable[[Kit], None]) -> None:
    end(agentflow)
    ((state,),) = rows(agentflow_db, "SELECT state FROM turn WHERE number = 1")
    assert state in END_STATES
    for table, kept in everything(agentflow_db, "s-1").items():
        assert CANARY not in str(kept), table
    assert rows(agentflow_db, "SELECT count(*) FROM execution WHERE turn = 1") == [(0,)]
    assert rows(agentflow_db, "SELECT state, steps > 0 FROM session_stats WHERE turn = 1") in [
        [(state, 1)], [(state, True)]
    ]  # fmt: skip
    agentflow.restart()
    for file in agentflow.project.parent.glob("agentflow.db*"):
        assert CANARY.encode() not in file.read_bytes(), file.name
