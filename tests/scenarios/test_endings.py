"""However a step ends, what the store says is open is closed, and the next request just works (T24-T30, C36)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow.testing import Kit, ProcessKilled
from tests.scenarios.invariants import check_session, check_tree

SESSION = "s-1"


def checked(answer: str) -> Any:
    """A hook that has the answer for a while."""


# -- a process that is killed while a hook has the answer --


@pytest.mark.parametrize("turns", [0, 1], ids=["the first turn", "a later turn"])
def test_a_kill_in_a_step_end_hook_leaves_no_hole(agentflow: Kit, agentflow_db: str, turns: int) -> None:
    """D12: the answer's text outlives the process, the head does not come before its message."""
    agentflow.agent(hooks={"step_end": [checked]}, replies=[*[{"text": "short"}] * turns, {"text": "a long answer"}])
    for _ in range(turns):
        agentflow.send("before")
    agentflow.kill_after(2)
    with pytest.raises(ProcessKilled):
        agentflow.send("long")
    check_tree(agentflow_db, SESSION)
    agentflow.reopen()
    agentflow.script([{"text": "next"}, {"text": "edited"}])
    assert agentflow.send("go on").answer == "next"
    assert [m["content"] for m in agentflow.path()][-4:] == ["long", "a long answer\n<INTERRUPTED>", "go on", "next"]
    before = agentflow.tree()["nodes"]
    asked = next(message for message in agentflow.path() if message["content"] == "long")
    assert agentflow.edit(asked["id"], "EDIT").answer == "edited"
    assert [m["content"] for m in agentflow.path()][-2:] == ["EDIT", "edited"]
    after = {node["message"]["id"]: node for node in agentflow.tree()["nodes"]}
    assert [node["parent_id"] for node in before] == [after[node["message"]["id"]]["parent_id"] for node in before]
    agentflow.run(check_session(agentflow.runtime, agentflow_db, SESSION))
