"""`context:` and the `compaction_*` settings (X7, X11, A4, B25)."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentflow.agents.validate import validate_agent
from agentflow.config.keys.checks.context_checks import _RESERVE_TOKENS
from agentflow.context.strategies import RESERVE_TOKENS
from tests.unit.config.files import agent_of, refusal_of

AGENT = "name: support\nmodel: openai/gpt-5-mini\ninterfaces: {cheap: {model: openai/gpt-5-nano}}\n"


KEY = {"OPENAI_API_KEY": "k"}


def context(text: str) -> str:
    return f"{AGENT}context: {text}\n"


def test_the_seeds_example_reads_as_it_stands(tmp_path: Path) -> None:
    """Seed: an hour with no turn starts the model over, otherwise above 184,000 tokens it summarizes."""
    config = agent_of(
        tmp_path, context("{window: 200000, strategy: [{use: reset, idle_secs: 3600}, {use: summarize}]}")
    )
    reset, summarize = config.context.strategy
    assert (config.context.window, reset.use, reset.idle_secs) == (200000, "reset", 3600)
    assert (summarize.use, summarize.idle_secs, summarize.over_tokens, summarize.llm) == ("summarize", None, None, None)


@pytest.mark.parametrize("written", ["llm: cheap", "interface: cheap", "llm: llm://cheap", "interface: llm://cheap"])
def test_llm_and_interface_mean_the_same(tmp_path: Path, written: str) -> None:
    config = agent_of(tmp_path, context(f"{{window: 50000, strategy: [{{use: summarize, {written}}}]}}"))
    assert config.context.strategy[0].llm == "cheap"


def test_a_compaction_interface_may_be_written_as_a_reference(tmp_path: Path) -> None:
    config = agent_of(tmp_path, f"{AGENT}settings: {{compaction_interface: llm://cheap}}\n")
    assert config.settings.compaction_interface == "cheap"


def test_compaction_is_off_unless_both_numbers_are_given(tmp_path: Path) -> None:
    """Seed: it runs only when both are greater than 0; X7: 0 = off."""
    settings = agent_of(tmp_path, AGENT).settings
    assert (settings.compaction_threshold_fraction, settings.compaction_context_window_tokens) == (0, 0)
    assert settings.compaction_keep_recent_messages == 30
    off = "settings: {compaction_threshold_fraction: 0.8, compaction_context_window_tokens: 0}\n"
    assert agent_of(tmp_path, AGENT + off).settings.compaction_context_window_tokens == 0


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("context: {window: -1}", "4:19: context.window", "must be at least 0, not the number -1"),
        ("context: {window: 32k}", "4:19: context.window", "must be a whole number, not the text '32k'"),
        (
            "settings: {compaction_context_window_tokens: -5}",
            "4:46: settings.compaction_context_window_tokens",
            "must be at least 0",
        ),
        ("settings: {compaction_threshold_fraction: 80}", "4:43: settings.compaction_threshold_fraction", "at most 1"),
        (
            "settings: {compaction_interface: cheep}",
            "4:34: settings.compaction_interface",
            "no interface 'cheep', did you mean 'cheap'?",
        ),
        (
            "context: {window: 9000, strategy: [{use: summarize}]}",
            "4:19: context.window",
            "leaves no room: 16,000 tokens",
        ),
        (
            "context: {strategy: [{use: summarize, over_tokens: 9, llm: nope}]}",
            "4:60: context.strategy[0].llm",
            "no interface 'nope'",
        ),
        (
            "context: {strategy: [{use: summarize, over_tokens: 9, llm: cheap, interface: cheap}]}",
            "4:78: context.strategy[0].interface",
            "is given twice",
        ),
        (
            "context: {strategy: [{use: summarize, over_tokens: 9, model: 'llm://cheap'}]}",
            "4:62: context.strategy[0].model",
            "an interface is named by llm",
        ),
        ("context: {strategy: [{use: reset}]}", "4:22: context.strategy[0]", "never applies: give it idle_secs"),
    ],
)
def test_a_mistake_is_told_with_line_column_and_key(tmp_path: Path, text: str, place: str, said: str) -> None:
    """B25: a negative window or one that is no number is an error with file, line and key."""
    refusal = refusal_of(tmp_path, f"{AGENT}{text}\n")
    assert f"agent.yaml:{place}: " in refusal
    assert said in refusal


SHADOWED = [
    "{use: summarize}, {use: reset, over_tokens: 190000}",
    "{use: reset, idle_secs: 60}, {use: summarize, idle_secs: 61}",
    "{use: reset, idle_secs: 60}, {use: summarize, idle_secs: 60, over_tokens: 9}",
    "{use: summarize, over_tokens: 1000}, {use: summarize}",
    "{use: summarize, over_tokens: 1000}, {use: reset, idle_secs: 60, over_tokens: 1000}",
]
REACHED = [
    "{use: summarize}, {use: reset, idle_secs: 60}",
    "{use: summarize, over_tokens: 1000}, {use: summarize, over_tokens: 500}",
    "{use: reset, idle_secs: 60, over_tokens: 1000}, {use: summarize, over_tokens: 1000}",
    "{use: reset, idle_secs: 60}, {use: summarize, idle_secs: 30}",
]


@pytest.mark.parametrize("strategies", SHADOWED)
def test_a_strategy_that_an_earlier_one_always_precedes_is_an_error(tmp_path: Path, strategies: str) -> None:
    """A4."""
    refusal = refusal_of(tmp_path, context(f"{{window: 200000, strategy: [{strategies}]}}"))
    assert "context.strategy[1]: never applies: strategy[0] applies whenever this one would" in refusal


@pytest.mark.parametrize("strategies", REACHED)
def test_a_strategy_that_may_apply_is_accepted(tmp_path: Path, strategies: str) -> None:
    assert len(agent_of(tmp_path, context(f"{{window: 200000, strategy: [{strategies}]}}")).context.strategy) > 1


def test_a_summary_without_any_size_is_warned_of_and_accepted(tmp_path: Path) -> None:
    """Seed: without a window, only idle_secs, over_tokens and a provider's refusal apply."""
    path = tmp_path / "agent.yaml"
    path.write_text(context("{strategy: [{use: summarize}]}"))
    report = validate_agent(path, tmp_path, variables=KEY)
    assert report.errors == ()
    assert "context.strategy[0]: applies only when the provider refuses a call" in report.warnings[0]


def test_a_reset_with_a_prompt_is_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "agent.yaml"
    path.write_text(context("{strategy: [{use: reset, idle_secs: 60, prompt: Be short.}]}"))
    assert "context.strategy[0].prompt: has no effect" in validate_agent(path, tmp_path, variables=KEY).warnings[0]


def test_the_reserve_of_the_checks_is_the_one_of_the_strategies() -> None:
    assert _RESERVE_TOKENS == RESERVE_TOKENS
