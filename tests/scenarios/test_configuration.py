"""The agent's file in force: read again between turns, recorded with each, inputs checked (A7)."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from agentflow import FlowContext, InvalidConfig, InvalidInput, Runtime, with_runtime
from agentflow.testing import Kit
from tests.scenarios.support import call, rows, said
from tests.stub_server import Answer, serve_in_thread

INPUTS = {
    "customer": {"type": "string", "required": True, "description": "Who asks."},
    "visits": {"type": "integer", "default": 1},
}


def test_a_new_turn_uses_the_new_file(agentflow: Kit) -> None:
    agentflow.agent(prompt="Be brief.", replies=[{"text": "a"}])
    agentflow.send("one")
    agentflow.agent(prompt="Be long.", replies=[{"text": "b"}])
    agentflow.send("two")
    assert [request.messages[0]["content"] for request in agentflow.requests] == ["Be brief.", "Be long."]


def test_a_running_turn_keeps_the_file_it_began_with(agentflow: Kit) -> None:
    def rewrite() -> str:
        """Rewrite the agent."""
        path.write_text(path.read_text().replace("Be brief.", "Be long."))
        return "rewritten"

    path = agentflow.agent(
        prompt="Be brief.", tools=[rewrite], replies=[{"tool_calls": [{"name": "rewrite"}]}, {"text": "a"}]
    )
    agentflow.send("one")
    assert [request.messages[0]["content"] for request in agentflow.requests] == ["Be brief.", "Be brief."]


def test_a_turn_records_the_hash_of_its_configuration(agentflow: Kit, agentflow_db: str) -> None:
    agentflow.agent(prompt="Be brief.", replies=[{"text": "a"}, {"text": "a"}])
    agentflow.send("one")
    agentflow.send("two")
    agentflow.agent(prompt="Be long.", replies=[{"text": "b"}])
    agentflow.send("three")
    first, second, third = (key for (key,) in rows(agentflow_db, "SELECT config_hash FROM turn ORDER BY number"))
    assert first == second != third
    (body,) = rows(agentflow_db, f"SELECT body FROM blob WHERE hash = '{third}'")
    assert "Be long." in body[0]


def test_an_invalid_new_file_is_reported_and_the_last_good_one_stays_in_force(
    agentflow: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    path = agentflow.agent(prompt="Be brief.", replies=lambda request: {"text": "ok"})
    agentflow.send("one")
    path.write_text("name: test\nprompt: Be long.\nmodell: x\n")
    with caplog.at_level(logging.WARNING):
        assert agentflow.send("two").answer == "ok"
    assert "unknown key" in caplog.text
    assert agentflow.requests[1].messages[0]["content"] == "Be brief."
    agentflow.restart()
    with pytest.raises(InvalidConfig, match="did you mean 'model'"):
        agentflow.send("three")


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"tools": ["nowhere"]}, "no flow 'nowhere'"),
        ({"hooks": {"step_start": ["nowhere"]}}, "no flow 'nowhere'"),
        ({"sub_agents": ["nobody"]}, "no agent 'nobody'"),
        ({"skills": ["gone.md"]}, "there is no file"),
        ({"worker": "nowhere.py:decide"}, "nowhere"),
    ],
    ids=str,
)
def test_a_new_file_that_names_what_is_not_there_leaves_the_last_good_one_in_force(
    agentflow: Kit, caplog: pytest.LogCaptureFixture, keys: dict[str, Any], told: str
) -> None:
    """Invalid is all that `validate` refuses, not only what its own text shows."""
    agentflow.agent(prompt="Be brief.", replies=lambda request: {"text": "ok"})
    agentflow.send("one")
    agentflow.agent(prompt="Be long.", replies=lambda request: {"text": "ok"}, **keys)
    with caplog.at_level(logging.WARNING):
        assert agentflow.send("two", limits={"max_iterations": 7}).answer == "ok"
    assert told in caplog.text
    assert agentflow.requests[1].messages[0]["content"] == "Be brief."
    agentflow.agent(prompt="Be long.", replies=lambda request: {"text": "ok"})
    agentflow.send("three")
    assert agentflow.requests[2].messages[0]["content"] == "Be long."


def test_a_flow_file_that_breaks_between_turns_leaves_the_last_good_one_in_force(
    agentflow: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    """A6, A7: an editor's half-written file does not take the service down."""
    flows = agentflow.project / "workflows"
    flows.mkdir()
    (flows / "look.py").write_text('def look() -> str:\n    """Look."""\n    return "quiet"\n')
    replies: list[dict[str, Any]] = [{"tool_calls": [call("look")]}, {"text": "ok"}]
    agentflow.agent(tools=["look"], replies=[*replies, *replies])
    agentflow.send("one")
    (flows / "look.py").write_text("def look(")
    with caplog.at_level(logging.WARNING):
        assert agentflow.send("two").answer == "ok"
    assert "look.py:1" in caplog.text
    assert [message["content"] for message in agentflow.path() if message["role"] == "tool"] == ["quiet", "quiet"]


def test_inputs_reach_the_prompt(agentflow: Kit) -> None:
    agentflow.agent(
        prompt="You help {{ inputs.customer }}, visit {{ inputs.visits }}, in {{ session.id }}.",
        inputs=INPUTS,
        replies=lambda request: {"text": "ok"},
    )
    agentflow.send("hi", inputs={"customer": "Ann"})
    agentflow.send("hi", inputs={"customer": "Bo", "visits": 3})
    assert [request.messages[0]["content"] for request in agentflow.requests] == [
        "You help Ann, visit 1, in s-1.", "You help Bo, visit 3, in s-1.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "inputs", [{}, {"customer": 5}, {"customer": "Ann", "visits": "many"}, {"customer": "Ann", "age": 3}]
)
def test_inputs_that_do_not_fit_are_refused_before_anything_is_written(agentflow: Kit, inputs: dict[str, Any]) -> None:
    """Validated per request."""
    agentflow.agent(inputs=INPUTS)
    with pytest.raises(InvalidInput):
        agentflow.send("hi", inputs=inputs)
    assert list(agentflow.run(agentflow.runtime.sessions())) == []


def test_what_a_user_writes_is_never_a_template(agentflow: Kit) -> None:
    agentflow.agent(prompt="For {{ inputs.customer }}.", inputs=INPUTS, replies=[{"text": "ok"}])
    agentflow.send("{{ today }}", inputs={"customer": "{{ today }}"})
    assert said(agentflow.requests[0]) == [("system", "For {{ today }}."), ("user", "{{ today }}")]


def test_a_prompt_that_cannot_be_rendered_fails_the_turn_and_says_where(agentflow: Kit) -> None:
    """Undefined = error; B05: the session goes on."""
    agentflow.agent(prompt="You help {{ inputs.customer.name }}.", inputs={"customer": {"type": "string"}})
    result = agentflow.send("hi")
    assert result.error is not None
    assert (result.state, result.error["code"]) == ("failed", "invalid_config")
    assert "agent.yaml" in result.error["message"]
    agentflow.agent(replies=[{"text": "ok"}])
    assert agentflow.send("again").answer == "ok"


@pytest.mark.parametrize(("level", "heard"), [("debug", 4), ("info", 2), ("warn", 1), ("off", 0)])
def test_the_logging_level_decides_what_the_agents_log_tells(
    agentflow: Kit, caplog: pytest.LogCaptureFixture, level: str, heard: int
) -> None:
    """seed: logging_level (off, debug, info, warn; default info) controls the agent's server log output separately."""

    def speak(ctx: FlowContext) -> None:
        """Say something at three levels."""
        ctx.logger.debug("quietly")
        ctx.logger.info("plainly")
        ctx.logger.warning("loudly")

    agentflow.agent(
        tools=[speak], settings={"logging_level": level}, replies=[{"tool_calls": [{"name": "speak"}]}, {"text": "a"}]
    )
    agentflow.send("one")
    assert len([record for record in caplog.records if record.name == "agentflow.agent.test"]) == heard


@pytest.mark.parametrize(("level", "told"), [("debug", 1), ("info", 1), ("warn", 1), ("off", 0)])
def test_a_failed_turn_is_a_warning_and_the_machine_is_not_heard(
    agentflow: Kit, caplog: pytest.LogCaptureFixture, level: str, told: int
) -> None:
    """D50"""
    agentflow.agent(settings={"logging_level": level}, replies=[{"error": {"kind": "auth"}}])
    with caplog.at_level(logging.DEBUG):
        assert agentflow.send("one").state == "failed"
    failed = [record for record in caplog.records if record.getMessage().endswith("is failed")]
    assert [record.levelname for record in failed] == ["WARNING"] * told
    assert not [record for record in caplog.records if record.name.startswith("transitions")]


def test_a_limit_of_the_cost_that_never_binds_is_said_when_the_agent_is_made_ready(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """D48: once, not for every turn."""
    file = tmp_path / "agent.yaml"
    with serve_in_thread(lambda _: Answer(text="ok")) as stub:
        file.write_text(
            "name: dear\ninterfaces:\n"
            f"  main: {{model: openai/of-our-own, api_base: '{stub.openai_base}', api_key: k}}\n"
            "settings: {max_cost: 1}\n"
        )

        async def twice(runtime: Runtime) -> list[str | None]:
            return [(await runtime.run("s-1", str(file), text)).answer for text in ("one", "two")]

        assert with_runtime(twice, tmp_path, db=str(tmp_path / "agentflow.db")) == ["ok", "ok"]
    (said,) = (record for record in caplog.records if "never binds" in record.getMessage())
    assert said.levelname == "WARNING"
    assert "settings.max_cost: never binds: the price of openai/of-our-own is not known" in said.getMessage()
