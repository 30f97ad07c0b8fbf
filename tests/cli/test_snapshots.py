"""R8: `sessions snapshots` lists what a session's flows loaded."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Command

FLOWS = '''
def load_customer(key: str) -> dict:
    """Load a customer."""
    return {"name": "Ada", "key": key} if key == "1" else {"nothing": float("nan")}
'''
HOOK = "{{flow: GetWithSnap, with: {{entity: customer, key: '{key}', loader: load_customer, as: c{key}}}}}"


def test_snapshots_are_listed_and_shown(agentflow: Command, project: Path) -> None:
    (project / "workflows").mkdir()
    (project / "workflows" / "customers.py").write_text(FLOWS)
    hooks = ", ".join(HOOK.format(key=key) for key in (1, 2))
    with (project / "agents" / "echo" / "agent.yaml").open("a") as file:
        file.write(f"hooks: {{step_start: [{hooks}]}}\nsettings: {{snap_session_mode: all}}\n")
    assert agentflow("run", "echo", "-s", "s-1", "hi").code == 0
    lines = agentflow("sessions", "snapshots", "s-1").out.splitlines()
    assert lines[0] == "s-1: snapshotted (snap_session_mode all), 2 snapshots"
    assert lines[1].startswith("   1  step 1  customer 1  ")
    assert lines[1].endswith("  24 characters")
    assert lines[2].startswith("   2  step 1  customer 2  it is no JSON")
    assert json.loads(agentflow("sessions", "snapshots", "s-1", "--show", "1").out) == {"name": "Ada", "key": "1"}
    whole = json.loads(agentflow("sessions", "snapshots", "s-1", "--show", "1", "--json").out)
    assert (whole["entity"], whole["data"]["name"]) == ("customer", "Ada")
    assert len(json.loads(agentflow("sessions", "snapshots", "s-1", "--json").out)["snapshots"]) == 2
    assert agentflow("sessions", "snapshots", "s-1", "--show", "3").code == 3
    assert agentflow("sessions", "snapshots", "nobody").code == 3
