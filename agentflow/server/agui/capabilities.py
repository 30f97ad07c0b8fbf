"""What an agent and this server can do, in the protocol's words; nothing is claimed that is not there (G1)."""

from __future__ import annotations

from typing import Any

from ag_ui.core import (
    AgentCapabilities,
    ExecutionCapabilities,
    HumanInTheLoopCapabilities,
    IdentityCapabilities,
    ReasoningCapabilities,
    StateCapabilities,
    Tool,
    ToolsCapabilities,
    TransportCapabilities,
)

import agentflow
from agentflow import Runtime


async def capabilities(runtime: Runtime, agent: str) -> dict[str, Any]:
    """Raises `AgentNotFound`, `InvalidConfig`."""
    known = await runtime.explain(agent)
    tools = [tool["function"] for tool in known["tools"]]
    items = [
        Tool(name=tool["name"], description=tool.get("description") or "", parameters=tool.get("parameters"))
        for tool in tools
    ]
    said = AgentCapabilities(
        identity=IdentityCapabilities(name=known["agent_id"], type="agentflow", version=agentflow.__version__),
        transport=TransportCapabilities(
            streaming=True, websocket=False, http_binary=False, push_notifications=False, resumable=True
        ),
        tools=ToolsCapabilities(supported=True, items=items, parallel_calls=True, client_provided=True),
        state=StateCapabilities(snapshots=True, deltas=False, memory=False, persistent_state=True),
        reasoning=ReasoningCapabilities(supported=True, streaming=True, encrypted=False),
        execution=ExecutionCapabilities(code_execution=False, sandboxed=False),
        human_in_the_loop=HumanInTheLoopCapabilities(supported=True, interrupts=True, approvals=False),
    )
    return said.model_dump(by_alias=True, exclude_none=True)
