"""What is known of providers without importing litellm is what the installed litellm knows."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from agentflow.models.providers import KEYS, PROVIDERS, has_price, missing_keys, provider_of

_ASK = """
import json, litellm
names = sorted(str(getattr(each, "value", each)) for each in litellm.provider_list)
print(json.dumps({name: litellm.validate_environment(model=f"{name}/none")["missing_keys"] for name in names}))
"""
_OTHER_CREDENTIALS = {"bedrock", "sagemaker", "vertex_ai"}


def test_the_tables_are_those_of_the_installed_litellm() -> None:
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_KEY", "_TOKEN"))}
    local = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run([sys.executable, "-c", _ASK], env=kept | local, capture_output=True, text=True, check=True)
    known: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    assert known.keys() == PROVIDERS
    wanted = {
        name: tuple(each for each in variables if each.endswith(("_KEY", "_TOKEN")))
        for name, variables in known.items()
        if name not in _OTHER_CREDENTIALS
    }
    assert {name: keys for name, keys in wanted.items() if keys} == KEYS


def test_a_model_has_a_provider_by_its_prefix_or_by_its_name() -> None:
    models = ["anthropic/x", "gpt-4o", "claude-sonnet-4-5", "antropic/x", "sonnet"]
    assert [provider_of(model) for model in models] == ["anthropic", "openai", "anthropic", None, None]


def test_one_variable_of_several_is_enough() -> None:
    assert missing_keys("gemini", {}) == ("GOOGLE_API_KEY", "GEMINI_API_KEY")
    assert missing_keys("gemini", {"GEMINI_API_KEY": "k"}) == ()
    assert missing_keys("anthropic", {"ANTHROPIC_AUTH_TOKEN": "t"}) == ()
    assert missing_keys("ollama", {}) == ()


def test_a_price_is_found_with_and_without_the_provider() -> None:
    assert [has_price(model) for model in ("openai/gpt-4o", "gpt-4o", "openai/ours")] == [True, True, False]
