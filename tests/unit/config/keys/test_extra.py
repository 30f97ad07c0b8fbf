"""`extra` holds what is sent to the provider, and nothing else (D47)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentflow.config.keys.checks.extra import refused_extra
from tests.unit.config.files import agent_of, refusal_of


@pytest.mark.parametrize(
    "key", ["messages", "tools", "stream", "base_url", "api_key", "model", "timeout", "max_tokens"]
)
def test_a_key_that_would_change_the_calls_meaning_is_refused(tmp_path: Path, key: str) -> None:
    said = refusal_of(tmp_path, f"name: bot\ninterfaces: {{main: {{model: openai/x, extra: {{{key}: 1}}}}}}\n")
    assert f"interfaces.main.extra.{key}: cannot be given as an extra parameter: " in said


def test_what_the_provider_gets_is_accepted(tmp_path: Path) -> None:
    given = "{top_k: 40, seed: 1, parallel_tool_calls: false, extra_headers: {X-Team: a}, extra_body: {a: 1}}"
    config = agent_of(tmp_path, f"name: bot\ninterfaces: {{main: {{model: openai/x, extra: {given}}}}}\n")
    assert config.interfaces["main"].extra["top_k"] == 40


@pytest.mark.parametrize("key", ["metadata", "tags", "fallbacks", "cache", "mock_response"])
def test_a_key_of_litellm_itself_is_refused(key: str) -> None:
    assert "never sent to the provider" in str(refused_extra(key))


def test_the_keys_of_litellm_itself_are_those_of_the_installed_one() -> None:
    ask = "from litellm.types.utils import all_litellm_params as known; print(*known)"
    local = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run([sys.executable, "-c", ask], env=local, capture_output=True, text=True, check=True)
    known = set(done.stdout.split())
    refused = {key for key in known if refused_extra(key)}
    assert len(refused) > 40
    assert not {"extra_body", "extra_headers", "top_k", "seed"} & refused
