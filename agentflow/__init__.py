"""agentflow runs conversations with LLM agents described by an agent.yaml.

Everything public is here and is imported on first use, so that importing agentflow costs next to nothing.
"""

from __future__ import annotations

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from agentflow.agents.complaints.page import complaints
    from agentflow.agents.connect import connect_agent
    from agentflow.agents.mend import mend_agent
    from agentflow.agents.validate import validate_agent
    from agentflow.config.keys.schema import agent_schema, case_schema
    from agentflow.config.places import agent_names
    from agentflow.conversation.inbox import (
        AskUserAnswer,
        Client,
        ClientAppend,
        ClientMessage,
        ClientMessages,
        ClientTool,
        HeadMove,
        Input,
    )
    from agentflow.errors import (
        AgentflowError,
        AgentNotFound,
        Blocked,
        CallAlreadyAnswered,
        CallNotFound,
        HeadMoved,
        HookError,
        InternalError,
        InvalidConfig,
        InvalidInput,
        LimitReached,
        MessageNotFound,
        ModelError,
        NoPendingQuestion,
        NotFound,
        QuestionAlreadyAnswered,
        QuestionExpired,
        RequestNotKept,
        ResultTimeout,
        RoleNotAllowed,
        SessionAgentMismatch,
        SessionNotFound,
        SessionTaken,
        SnapshotNotFound,
        StaleOwner,
        StepNotFound,
        StoreError,
        TurnAlreadyActive,
        TurnNotFound,
        WorkerFailed,
    )
    from agentflow.evaluation.evaluate import capture_case, run_cases
    from agentflow.evaluation.report import Evaluation
    from agentflow.events import Event
    from agentflow.health.check import Check
    from agentflow.health.diagnosis import diagnose
    from agentflow.media.files import part_text
    from agentflow.message import Message, ToolCall, TurnState, Usage
    from agentflow.models.own_process import own_process
    from agentflow.models.protocol import ModelRequest
    from agentflow.models.recording.recorder import Recorder
    from agentflow.models.recording.replay import Replay
    from agentflow.models.scripted_model import ScriptedModel
    from agentflow.models.switching.switch import ModelSwitch
    from agentflow.once import run_turn, with_runtime
    from agentflow.portable.drawn_tree import drawn_tree
    from agentflow.records.timers import Timer
    from agentflow.result import Receipt, TurnResult
    from agentflow.runtime import Runtime
    from agentflow.scenarios.captured import captured_scenario
    from agentflow.scenarios.checked import Seen, missing_event, performed
    from agentflow.scenarios.keys import Scenario
    from agentflow.scenarios.reading import ScenarioFile, read_scenario
    from agentflow.scenarios.schema import scenario_schema
    from agentflow.secrets.redacting import redact
    from agentflow.store.sql.glance import recent_sessions
    from agentflow.text import read_json
    from agentflow.tools.flows.context import FlowContext, FlowName
    from agentflow.tools.flows.library import flow

__version__ = "0.1.0"

_HOMES = {
    "agentflow.agents.complaints.page": ("complaints",),
    "agentflow.agents.connect": ("connect_agent",),
    "agentflow.agents.mend": ("mend_agent",),
    "agentflow.agents.validate": ("validate_agent",),
    "agentflow.config.keys.schema": ("agent_schema", "case_schema"),
    "agentflow.config.places": ("agent_names",),
    "agentflow.conversation.inbox": (
        "AskUserAnswer", "Client", "ClientAppend", "ClientMessage", "ClientMessages", "ClientTool", "HeadMove", "Input",
    ),
    "agentflow.errors": (
        "AgentNotFound", "AgentflowError", "Blocked", "CallAlreadyAnswered", "CallNotFound", "HeadMoved", "HookError",
        "InternalError", "InvalidConfig", "InvalidInput", "LimitReached", "MessageNotFound", "ModelError",
        "NoPendingQuestion", "NotFound", "QuestionAlreadyAnswered", "QuestionExpired", "RequestNotKept",
        "ResultTimeout", "RoleNotAllowed", "SessionAgentMismatch", "SessionNotFound", "SessionTaken",
        "SnapshotNotFound", "StaleOwner", "StepNotFound",
        "StoreError", "TurnAlreadyActive", "TurnNotFound", "WorkerFailed",
    ),
    "agentflow.evaluation.evaluate": ("capture_case", "run_cases"),
    "agentflow.evaluation.report": ("Evaluation",),
    "agentflow.events": ("Event",),
    "agentflow.health.check": ("Check",),
    "agentflow.health.diagnosis": ("diagnose",),
    "agentflow.message": ("Message", "ToolCall", "TurnState", "Usage"),
    "agentflow.models.own_process": ("own_process",),
    "agentflow.models.protocol": ("ModelRequest",),
    "agentflow.models.recording.recorder": ("Recorder",),
    "agentflow.models.recording.replay": ("Replay",),
    "agentflow.models.scripted_model": ("ScriptedModel",),
    "agentflow.models.switching.switch": ("ModelSwitch",),
    "agentflow.once": ("run_turn", "with_runtime"),
    "agentflow.portable.drawn_tree": ("drawn_tree",),
    "agentflow.records.timers": ("Timer",),
    "agentflow.result": ("Receipt", "TurnResult"),
    "agentflow.runtime": ("Runtime",),
    "agentflow.scenarios.captured": ("captured_scenario",),
    "agentflow.scenarios.checked": ("Seen", "missing_event", "performed"),
    "agentflow.scenarios.keys": ("Scenario",),
    "agentflow.scenarios.reading": ("ScenarioFile", "read_scenario"),
    "agentflow.scenarios.schema": ("scenario_schema",),
    "agentflow.secrets.redacting": ("redact",),
    "agentflow.store.sql.glance": ("recent_sessions",),
    "agentflow.media.files": ("part_text",),
    "agentflow.text": ("read_json",),
    "agentflow.tools.flows.context": ("FlowContext", "FlowName"),
    "agentflow.tools.flows.library": ("flow",),
}  # fmt: skip
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AgentNotFound",
    "AgentflowError",
    "AskUserAnswer",
    "Blocked",
    "CallAlreadyAnswered",
    "CallNotFound",
    "Check",
    "Client",
    "ClientAppend",
    "ClientMessage",
    "ClientMessages",
    "ClientTool",
    "Evaluation",
    "Event",
    "FlowContext",
    "FlowName",
    "HeadMove",
    "HeadMoved",
    "HookError",
    "Input",
    "InternalError",
    "InvalidConfig",
    "InvalidInput",
    "LimitReached",
    "Message",
    "MessageNotFound",
    "ModelError",
    "ModelRequest",
    "ModelSwitch",
    "NoPendingQuestion",
    "NotFound",
    "QuestionAlreadyAnswered",
    "QuestionExpired",
    "Receipt",
    "Recorder",
    "Replay",
    "RequestNotKept",
    "ResultTimeout",
    "RoleNotAllowed",
    "Runtime",
    "Scenario",
    "ScenarioFile",
    "ScriptedModel",
    "Seen",
    "SessionAgentMismatch",
    "SessionNotFound",
    "SessionTaken",
    "SnapshotNotFound",
    "StaleOwner",
    "StepNotFound",
    "StoreError",
    "Timer",
    "ToolCall",
    "TurnAlreadyActive",
    "TurnNotFound",
    "TurnResult",
    "TurnState",
    "Usage",
    "WorkerFailed",
    "__version__",
    "agent_names",
    "agent_schema",
    "capture_case",
    "captured_scenario",
    "case_schema",
    "complaints",
    "connect_agent",
    "diagnose",
    "drawn_tree",
    "flow",
    "mend_agent",
    "missing_event",
    "own_process",
    "part_text",
    "performed",
    "read_json",
    "read_scenario",
    "recent_sessions",
    "redact",
    "run_cases",
    "run_turn",
    "scenario_schema",
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


def __dir__() -> list[str]:
    return __all__
