"""One time limit of a call holds, wherever it was given, and the message names the key that cut (D45)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentflow import TurnResult, run_turn
from tests.stub_server import Answer, serve_in_thread


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


@pytest.mark.parametrize(
    ("own", "agents", "turns", "ended"),
    [
        (None, 0.05, 600, None),
        (None, 600, 0.05, "settings.llm_timeout_secs"),
        (600, 0.05, 0.05, None),
        (0.05, 600, 600, "its interface's timeout_secs"),
    ],
)
def test_the_limit_a_turn_brings_reaches_a_model_over_the_network(
    tmp_path: Path, own: float | None, agents: float, turns: float, ended: str | None
) -> None:
    """C8: the adapter has no limit of its own beside the one that holds."""
    interface = "" if own is None else f", timeout_secs: {own}"
    with serve_in_thread([Answer(text="ok", delay_secs=0.3)]) as stub:
        (tmp_path / "agent.yaml").write_text(
            "name: slow\ninterfaces:\n"
            f"  main: {{model: openai/any, api_base: '{stub.openai_base}', api_key: k{interface}}}\n"
            f"settings: {{llm_timeout_secs: {agents}, llm_retries: 0}}\n"
        )
        done = run_turn(
            str(tmp_path / "agent.yaml"), "hi", project=tmp_path, db=str(tmp_path / "agentflow.db"),
            limits={"llm_timeout_secs": turns},
        )  # fmt: skip
    if ended is None:
        assert done.answer == "ok"
    else:
        assert f"within 0.05 seconds ({ended})" in (done.error or {})["message"]
