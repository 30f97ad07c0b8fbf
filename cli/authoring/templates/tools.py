"""Tools that read and write: types, a choice, an error the model is told, and what belongs to the session."""

from __future__ import annotations

from .template import Template

TEMPLATE = Template(
    "an agent with typed tools, an error of one and a value kept by the project",
    {
        "agents/shop/agent.yaml": """\
version: 1
name: shop
description: Looks up orders and cancels them.
model: scripted/replies.yaml # a script, no key needed; a real model: anthropic/claude-sonnet-4-5
prompt: |
  You help customers of a shop with their orders. Look an order up before you say anything about it.
tools:
  - find_order
  - {flow: cancel_order, timeout_secs: 10}
settings:
  max_tool_calls: 10
""",
        "agents/shop/replies.yaml": """\
# What the scripted model says: the first reply whose guard holds. `repeat` keeps it for later turns.
replies:
  - when: {has_tool_result: true}
    text: "This is what I found: {{ last_tool }}"
    repeat: true
  - when: {last_user: '(?i)cancel.*?(?P<number>\\d+)'}
    tool_calls: [{name: cancel_order, arguments: {number: "{{ number }}", reason: changed_mind}}]
    repeat: true
  - when: {last_user: '(?P<number>\\d+)'}
    tool_calls: [{name: find_order, arguments: {number: "{{ number }}"}}]
    repeat: true
  - text: Which order do you mean?
    repeat: true
""",
        "workflows/orders.py": '''\
"""Flows about orders. Their types are checked before they run; what they raise is told to the model."""

from typing import Literal

from agentflow import FlowContext

ORDERS = {"1001": "shipped", "1002": "packed"}


def find_order(number: str) -> dict[str, str]:
    """Find an order.

    Args:
        number: The number of the order, as 1001.
    """
    if number not in ORDERS:
        raise ValueError(f"there is no order {number}")
    return {"number": number, "state": ORDERS[number]}


def cancel_order(ctx: FlowContext, number: str, reason: Literal["changed_mind", "too_late", "other"]) -> str:
    """Cancel an order that was not shipped yet.

    Args:
        number: The number of the order.
        reason: Why the customer does not want it any more.
    """
    if find_order(number)["state"] == "shipped":
        raise ValueError(f"order {number} was shipped already")
    ctx.logger.info("%s cancelled order %s", ctx.session_id, number)
    return f"order {number} is cancelled ({reason})"
''',
        "tests/test_shop.py": '''\
"""Tests of the agent. `pytest` runs them without a network or a key, and time stands still."""

from pathlib import Path

from agentflow.testing import Kit

PROJECT = Path(__file__).parent.parent


def call(name: str, **arguments: str) -> dict:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


def test_an_order_is_found(agentflow: Kit) -> None:
    agentflow.load(PROJECT, "shop")
    agentflow.script([call("find_order", number="1001"), {"text": "{{ last_tool }}"}])
    assert "shipped" in agentflow.send("Where is order 1001?").answer


def test_what_a_tool_raises_is_told_to_the_model(agentflow: Kit) -> None:
    agentflow.load(PROJECT, "shop")
    agentflow.script([
        call("cancel_order", number="1001", reason="other"),
        {"text": "That is not possible any more."},
    ])
    assert agentflow.send("Cancel order 1001.").state == "done"
    assert "was shipped already" in agentflow.requests[-1].messages[-1]["content"]


def test_a_reason_that_there_is_not_never_reaches_the_tool(agentflow: Kit) -> None:
    agentflow.load(PROJECT, "shop")
    agentflow.script([call("cancel_order", number="1002", reason="boredom"), {"text": "Why do you want that?"}])
    agentflow.send("Cancel order 1002.")
    assert "reason" in agentflow.requests[-1].messages[-1]["content"]
''',
    },
    ['agentflow run shop "Where is order 1001?"', 'agentflow run shop "Please cancel order 1002."'],
)
