"""agentflow runs conversations with LLM agents described by an agent.yaml.

Everything public is here and is imported on first use, so that importing agentflow costs next to nothing.
"""

from __future__ import annotations

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from agentflow.agents.validate import validate_agent
    from agentflow.config.keys.schema import agent_schema
    from agentflow.errors import (
        AgentflowError,
        AgentNotFound,
        InvalidConfig,
        InvalidInput,
        LimitReached,
        MessageNotFound,
        ModelError,
        NoPendingQuestion,
        QuestionAlreadyAnswered,
        SessionAgentMismatch,
        SessionNotFound,
        StaleOwner,
        StoreError,
        TurnAlreadyActive,
    )
    from agentflow.events import Event
    from agentflow.models.protocol import ModelRequest
    from agentflow.models.scripted_model import ScriptedModel
    from agentflow.once import run_turn, with_runtime
    from agentflow.result import Receipt, TurnResult
    from agentflow.runtime import Runtime
    from agentflow.tools.flows.context import FlowContext
    from agentflow.tools.flows.library import flow

__version__ = "0.1.0"

_HOMES = {
    "agentflow.errors": (
        "AgentNotFound", "AgentflowError", "InvalidConfig", "InvalidInput", "LimitReached",
        "MessageNotFound", "ModelError", "NoPendingQuestion", "QuestionAlreadyAnswered", "SessionAgentMismatch",
        "SessionNotFound", "StaleOwner", "StoreError", "TurnAlreadyActive",
    ),
    "agentflow.config.keys.schema": ("agent_schema",),
    "agentflow.events": ("Event",),
    "agentflow.once": ("run_turn", "with_runtime"),
    "agentflow.models.protocol": ("ModelRequest",),
    "agentflow.models.scripted_model": ("ScriptedModel",),
    "agentflow.agents.validate": ("validate_agent",),
    "agentflow.runtime": ("Runtime",),
    "agentflow.tools.flows.context": ("FlowContext",),
    "agentflow.tools.flows.library": ("flow",),
    "agentflow.result": ("Receipt", "TurnResult"),
}  # fmt: skip
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AgentNotFound",
    "AgentflowError",
    "Event",
    "FlowContext",
    "InvalidConfig",
    "InvalidInput",
    "LimitReached",
    "MessageNotFound",
    "ModelError",
    "ModelRequest",
    "NoPendingQuestion",
    "QuestionAlreadyAnswered",
    "Receipt",
    "Runtime",
    "ScriptedModel",
    "SessionAgentMismatch",
    "SessionNotFound",
    "StaleOwner",
    "StoreError",
    "TurnAlreadyActive",
    "TurnResult",
    "__version__",
    "agent_schema",
    "flow",
    "run_turn",
    "validate_agent",
    "with_runtime",
]


def __getattr__(name: str) -> _typing.Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'agentflow' has no attribute {name!r}")
    value = getattr(_importlib.import_module(home), name)
    globals()[name] = value
    return value
