"""Skills and references: what an agent may read besides its prompt, and the order of the prompt (A1)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import InvalidConfig
from agentflow.testing import Kit
from tests.scenarios.support import results, said

SKILL = "---\nname: refunds\ndescription: How to refund.\n---\nRefund within 30 days.\n"
TONE = "---\nname: tone\ndescription: How to speak.\n---\nBe warm.\n"


def files(kit: Kit, **texts: str) -> None:
    folder = kit.project / "agents" / "test"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text)


def reads(tool: str, *names: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": tool, "arguments": {"name": name}} for name in names]}


def test_a_skill_is_listed_in_the_prompt_and_its_body_is_read_on_demand(agentflow: Kit) -> None:
    files(agentflow, refunds=SKILL)
    agentflow.agent(skills=["refunds.md"], replies=[reads("read_skill", "refunds"), {"text": "ok"}])
    agentflow.send("refund me")
    first, second = agentflow.requests
    assert "- refunds: How to refund." in first.messages[0]["content"]
    assert "30 days" not in first.messages[0]["content"]
    assert results(second) == ["Refund within 30 days."]


def test_an_inline_skill_stands_in_the_prompt_and_needs_no_tool(agentflow: Kit) -> None:
    files(agentflow, tone=TONE)
    agentflow.agent(skills=[{"file": "tone.md", "inline": True}], replies=[{"text": "ok"}])
    agentflow.send("hi")
    (asked,) = agentflow.requests
    assert "# Skill: tone\nBe warm." in asked.messages[0]["content"]
    assert [tool["function"]["name"] for tool in asked.tools] == ["ask_user"]


def test_a_reference_is_read_on_demand_and_cut_like_any_result(agentflow: Kit) -> None:
    files(agentflow, prices="x" * 500)
    agentflow.agent(
        references=[{"name": "prices", "description": "Prices 2026", "file": "prices.md"}],
        replies=[reads("read_reference", "prices"), {"text": "ok"}],
        settings={"tool_result_max_chars": 100},
    )
    agentflow.send("price?")
    assert "- prices: Prices 2026" in agentflow.requests[0].messages[0]["content"]
    (text,) = results(agentflow.requests[1])
    assert "the full text has 500 characters" in text


def test_a_name_that_is_not_listed_is_an_error_result(agentflow: Kit) -> None:
    """T13: an inline skill is not to be read either."""
    files(agentflow, refunds=SKILL, tone=TONE)
    agentflow.agent(
        skills=["refunds.md", {"file": "tone.md", "inline": True}],
        replies=[reads("read_skill", "tone", "../x"), {"text": "ok"}],
    )
    agentflow.send("hi")
    assert all("refunds" in text for text in results(agentflow.requests[1]))
    assert len(agentflow.events("tool.call.errored")) == 2


def test_the_system_prompt_has_its_sections_in_order(agentflow: Kit) -> None:
    """ "assembled from agent.yaml (including skills, sub-agent catalog, planning, response guidelines and constraints)"
    (A1)
    """
    files(agentflow, refunds=SKILL, tone=TONE, prices="1 EUR")
    agentflow.agent("helper", replies=[], description="Helps.")
    agentflow.agent(
        prompt="You are a desk.",
        skills=[{"file": "tone.md", "inline": True}, "refunds.md"],
        sub_agents=["helper"],
        references=[{"name": "prices", "file": "prices.md"}],
        planning=True,
        response_guidelines=["Be brief."],
        constraints=["Promise nothing."],
        replies=[{"text": "a"}, {"text": "b"}],
    )
    agentflow.send("hi")
    prompt = agentflow.requests[0].messages[0]["content"]
    marks = [
        "You are a desk.", "# Skills", "# Skill: tone", "# Sub-agents", "- helper: Helps.", "# References",
        "# Planning", "# Response guidelines", "# Constraints",
    ]  # fmt: skip
    places = [prompt.index(mark) for mark in marks]
    assert places == sorted(places)
    agentflow.restart()
    agentflow.send("again")
    assert said(agentflow.requests[1])[0] == ("system", prompt)


def test_a_changed_skill_is_read_anew_by_the_next_turn(agentflow: Kit) -> None:
    """A7"""
    files(agentflow, refunds=SKILL)
    replies = [reads("read_skill", "refunds"), {"text": "ok"}]
    agentflow.agent(skills=["refunds.md"], replies=[*replies, *replies])
    agentflow.send("m1")
    files(agentflow, refunds=SKILL.replace("30", "14 and more"))
    agentflow.send("m2")
    assert results(agentflow.requests[-1]) == ["Refund within 14 and more days."]


def test_a_skill_that_cannot_be_read_refuses_the_request_with_its_place(agentflow: Kit) -> None:
    """A2"""
    agentflow.agent(skills=["refunds.md"], replies=[])
    with pytest.raises(InvalidConfig, match=r"agent\.yaml:\d+:\d+: skills\[0\].*there is no file"):
        agentflow.send("hi")
