"""An interface's time limit holds over the agent's, and the message names the key that cut (D45)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentflow import TurnResult, run_turn


def turn(project: Path, interface: dict[str, Any], *, agents: float, delay: float) -> TurnResult:
    """A turn whose model waits `delay` seconds before it answers."""
    own = "".join(f", {key}: {value}" for key, value in interface.items())
    (project / "replies.yaml").write_text(f"replies: [{{text: ok, delay_secs: {delay}}}]\n")
    (project / "agent.yaml").write_text(
        f"name: slow\ninterfaces: {{main: {{model: scripted/replies.yaml{own}}}}}\n"
        f"settings: {{llm_timeout_secs: {agents}, llm_retries: 0}}\n"
    )
    return run_turn(str(project / "agent.yaml"), "hi", project=project, db=str(project / "agentflow.db"))


@pytest.mark.parametrize(
    ("interface", "agents", "named"),
    [
        ({"timeout_secs": 0.01}, 120, "its interface's timeout_secs"),
        ({}, 0.01, "settings.llm_timeout_secs"),
    ],
)
def test_the_message_names_the_key_that_cut(
    tmp_path: Path, interface: dict[str, Any], agents: float, named: str
) -> None:
    error = turn(tmp_path, interface, agents=agents, delay=30).error or {}
    assert error["code"] == "model_error.timeout"
    assert f"within 0.01 seconds ({named})" in error["message"]


@pytest.mark.parametrize("own", [600, 0])
def test_a_longer_limit_of_the_interface_and_none_hold_over_the_agents(tmp_path: Path, own: float) -> None:
    assert turn(tmp_path, {"timeout_secs": own}, agents=0.001, delay=0.05).answer == "ok"
