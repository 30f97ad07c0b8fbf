"""Files for tests of agent.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from agentflow.config.agent_config import AgentConfig, load_agent
from agentflow.errors import InvalidConfig


def agent_of(folder: Path, text: str, variables: Mapping[str, str] | None = None) -> AgentConfig:
    """The configuration of an agent.yaml with this text; messages call the file `agent.yaml`."""
    path = folder / "agent.yaml"
    path.write_text(text, encoding="utf-8")
    return load_agent(path, name="agent.yaml", variables=variables or {})


def refusal_of(folder: Path, text: str, variables: Mapping[str, str] | None = None) -> str:
    """What is said of an agent.yaml that is refused."""
    with pytest.raises(InvalidConfig) as caught:
        agent_of(folder, text, variables)
    return caught.value.message
