"""The adapter a model string asks for."""

from __future__ import annotations

from pathlib import Path

from agentflow.config.agent_config import Interface
from agentflow.models.protocol import Model
from agentflow.models.scripted_model import PREFIX, ScriptedModel


def open_model(interface: Interface, folder: Path, scope: str) -> Model:
    """The adapter a model string asks for: `scripted/...` in-process, anything else through litellm."""
    if interface.model.startswith(PREFIX):
        scripted = ScriptedModel.from_file(interface.model, folder, scope=scope)
        scripted.own_timeout_secs = interface.timeout_secs
        scripted.reads = None if interface.reads is None else frozenset(interface.reads)
        return scripted
    from agentflow.models.litellm_model import LitellmModel

    model = LitellmModel(
        interface.model,
        api_base=interface.api_base,
        api_key=interface.api_key,
        temperature=interface.temperature,
        top_p=interface.top_p,
        max_output_tokens=interface.max_output_tokens,
        reasoning_effort=interface.reasoning_effort,
        extra=interface.extra,
        marks_cache=interface.cache == "auto",
        reads=interface.reads,
    )
    model.own_timeout_secs = interface.timeout_secs
    return model
