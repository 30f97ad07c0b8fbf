"""Every agent we ship is valid, runs without a key, calls its tools for real, and says that it is a demonstration."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentflow import Runtime, validate_agent
from tests.guards.source import ROOT

AGENTS = sorted(path.parent.name for path in (ROOT / "agent_yaml" / "agents").glob("*/agent.yaml"))


@pytest.fixture(autouse=True)
def _no_model_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENTFLOW_MODEL", raising=False)


def _turns(tmp_path: Path, agent: str, *texts: str) -> tuple[list[str | None], list[dict[str, Any]]]:
    """The answers to some texts in one session, each in a runtime of its own as a command line has it; the messages."""

    async def turn(text: str) -> tuple[str | None, list[dict[str, Any]]]:
        async with Runtime.open(tmp_path, db=str(tmp_path / "t.db")) as runtime:
            result = await runtime.run("s-1", agent, text)
            assert (result.state, result.scripted) == ("done", True)
            return result.answer, (await runtime.session("s-1"))["messages"]

    done = [asyncio.run(turn(text)) for text in texts]
    return [answer for answer, _ in done], done[-1][1]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_shipped_agent_is_valid(tmp_path: Path, agent: str) -> None:
    report = validate_agent(agent, tmp_path)
    assert (list(report.errors), list(report.warnings)) == ([], [])


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("text", ["hello", "¿qué?", "(" * 5000, "1" * 5000, "1/0", "Tell me about 2026-11-30"])
def test_any_text_gets_an_answer(tmp_path: Path, agent: str, text: str) -> None:
    (answer,), _ = _turns(tmp_path, agent, text)
    assert answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("What is 6 * 7?", "42"),
        ("what is 6 times 7", "42"),
        ("12 plus 30.5, please", "42.5"),
        ("50 minus 8", "42"),
        ("84 divided by 2", "42"),
        ("What is the square root of 1764?", "42"),
        ("(2 + 4) * 7", "42"),
        ("What time is it in Europe/Paris?", "+0"),
        ("What day is it today?", "+00:00"),
        ("Hello", "demonstration"),
    ],
)
def test_the_assistant_s_answers_fit_the_question(tmp_path: Path, text: str, answer: str) -> None:
    (said,), _ = _turns(tmp_path, "assistant", text)
    assert answer in (said or "")


def test_the_assistant_calls_a_tool_in_every_turn_of_every_process(tmp_path: Path) -> None:
    answers, messages = _turns(tmp_path, "assistant", "1 + 1", "Hello", "2 + 2", "3 + 3")
    assert [answer[-1] for answer in answers if answer and "calculation" in answer] == ["2", "4", "6"]
    assert [message["content"] for message in messages if message["role"] == "tool"] == ["2", "4", "6"]


def test_the_clerk_calls_two_tools_at_once(tmp_path: Path) -> None:
    (answer,), messages = _turns(tmp_path, "clerk", "Enter 3 * 19.99")
    calls = next(message["tool_calls"] for message in messages if "tool_calls" in message)
    assert [call["name"] for call in calls] == ["current_time", "calculate"]
    assert "59.97" in (answer or "")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Is invoice 1002 paid?", "Invoice 1002 is due on 1 July."),
        ("What about invoice 7?", "There is no invoice 7 of this customer"),
        ("When are you open?", "from 9 to 18"),
        ("How do I get a refund?", "Within 30 days"),
        ("Hello", "demonstration"),
    ],
)
def test_the_front_desk_hands_over_asks_and_reads(tmp_path: Path, text: str, answer: str) -> None:
    (said,), _ = _turns(tmp_path, "frontdesk", text)
    assert answer in (said or "")


def test_the_front_desk_s_billing_asks_which_invoice_and_looks_it_up_in_another_process(tmp_path: Path) -> None:
    async def ask() -> str:
        async with Runtime.open(tmp_path, db=str(tmp_path / "t.db")) as runtime:
            return (await runtime.run("s-1", "frontdesk", "Is my invoice paid?")).state

    assert asyncio.run(ask()) == "paused_ask_user"
    (said,), _ = _turns(tmp_path, "frontdesk", "1001")
    assert said == "Invoice 1001 is paid on 3 May."


@pytest.mark.parametrize("agent", ["billing", "hours"])
def test_the_sub_agents_of_the_front_desk_are_valid_by_themselves(tmp_path: Path, agent: str) -> None:
    report = validate_agent(ROOT / "agent_yaml" / "agents" / "frontdesk" / agent, tmp_path)
    assert (list(report.errors), list(report.warnings)) == ([], [])
