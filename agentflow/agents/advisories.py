"""What keeps nobody from running an agent and is hardly meant: warnings, some told at the turn too (A4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentflow.agents.worker import OPEN_TO_READING, is_open_to_reading
from agentflow.config.agent_config import AgentConfig
from agentflow.config.document.codes import Code
from agentflow.config.document.problems import Path as KeyPath
from agentflow.config.document.problems import Problem, did_you_mean
from agentflow.config.keys.references import MAIN, SCRIPTED
from agentflow.models.providers import PROVIDERS, has_price, missing_keys, provider_of

_OF_SUMMARIES = ("prompt", "llm", "model")
_FRACTION, _WINDOW = "compaction_threshold_fraction", "compaction_context_window_tokens"


def advisories(config: AgentConfig, variables: Mapping[str, str]) -> Iterator[Problem]:
    """All of an agent; `variables` stand for the environment."""
    yield from _settings(config)
    yield from _compaction(config)
    yield from _context(config)
    yield from open_worker(config)
    yield from _keys(config, variables)
    yield from unknown_prices(config)


def _settings(config: AgentConfig) -> Iterator[Problem]:
    settings = config.settings
    if settings.memory:
        yield config.problem(
            ("settings", "memory"), Code.NO_EFFECT, "is reserved and has no effect; use the memory flows as tools"
        )
    if not settings.observability:
        stays = (
            "; a chat's name is made from the words before they are erased, and stays" if settings.name_chats else ""
        )
        said = f"is off: earlier turns are not replayed to the model and leave no trace{stays}"
        yield config.problem(("settings", "observability"), Code.NOT_KEPT, said)
    mode = settings.snap_session_mode
    if mode != "none" and not settings.observability:
        yield config.problem(("settings", "snap_session_mode"), Code.NO_EFFECT, "has no effect: observability is off")
    if mode != "sample" and config.names(("settings", "snap_session_rate")):
        yield config.problem(
            ("settings", "snap_session_rate"), Code.NO_EFFECT, "has no effect without snap_session_mode: sample"
        )
    calls, per_reply = settings.max_tool_calls, settings.max_tool_calls_per_reply
    if calls and per_reply > calls and config.names(("settings", "max_tool_calls_per_reply")):
        yield config.problem(
            ("settings", "max_tool_calls_per_reply"),
            Code.NEVER_BINDS,
            f"never binds: max_tool_calls ({calls}) is reached before it",
        )
    turn, call = settings.turn_timeout_secs, settings.llm_timeout_secs
    if turn and call > turn and config.names(("settings", "llm_timeout_secs")):
        yield config.problem(
            ("settings", "llm_timeout_secs"),
            Code.NEVER_BINDS,
            f"never binds: turn_timeout_secs ({turn:g}) is over before it",
        )
    for name, interface in config.interfaces.items():
        own = interface.timeout_secs
        if turn and own is not None and own > turn and config.names(("interfaces", name, "timeout_secs")):
            said = f"never binds: settings.turn_timeout_secs ({turn:g}) is over before it"
            yield config.problem(("interfaces", name, "timeout_secs"), Code.NEVER_BINDS, said)


def _compaction(config: AgentConfig) -> Iterator[Problem]:
    """A half of it alone does nothing: the turn runs without (D44)."""
    settings = config.settings
    fraction, window = settings.compaction_threshold_fraction, settings.compaction_context_window_tokens
    if fraction and not window:
        yield config.problem(
            ("settings", _FRACTION),
            Code.HALF_COMPACTION,
            f"nothing is compacted without {_WINDOW}; give the model's window",
        )
    elif window and not fraction:
        yield config.problem(
            ("settings", _WINDOW),
            Code.HALF_COMPACTION,
            f"nothing is compacted without {_FRACTION}; give 0.8, for example",
        )


def _context(config: AgentConfig) -> Iterator[Problem]:
    window = config.context.window
    for index, strategy in enumerate(config.context.strategy):
        if strategy is None:  # it could not be read
            continue
        if strategy.use == "summarize" and not (window or strategy.idle_secs is not None or strategy.over_tokens):
            yield config.problem(
                ("context", "strategy", index),
                Code.NEVER_APPLIES,
                "applies only when the provider refuses a call: no window, no size",
            )
        elif strategy.use == "reset" and (given := [key for key in _OF_SUMMARIES if getattr(strategy, key)]):
            yield config.problem(
                ("context", "strategy", index, given[0]), Code.NO_EFFECT, "has no effect: a reset writes no summary"
            )


def open_worker(config: AgentConfig) -> Iterator[Problem]:
    """A worker whose signed requests can be read on the way."""
    if config.worker is not None and is_open_to_reading(config.worker, config.worker_secret):
        yield config.problem(("worker",), Code.OPEN_WORKER, OPEN_TO_READING)


def unknown_prices(config: AgentConfig) -> Iterator[Problem]:
    """A limit of the cost with a model whose cost nobody knows (D48)."""
    main = config.interfaces.get(MAIN)
    if config.settings.max_cost and main and not main.model.startswith(SCRIPTED) and not has_price(main.model):
        yield config.problem(
            ("settings", "max_cost"), Code.UNKNOWN_PRICE, f"never binds: the price of {main.model} is not known"
        )


def unknown_providers(config: AgentConfig) -> Iterator[Problem]:
    """Model strings that litellm can do nothing with; an error of `validate`."""
    for name, interface in config.interfaces.items():
        model = interface.model
        if model.startswith(SCRIPTED) or provider_of(model) is not None:
            continue
        prefix, slash, _ = model.partition("/")
        before, colon, after = model.partition(":")
        if colon and not slash and before in PROVIDERS:
            hint = f"; write {before}/{after}"
        elif slash:
            hint = did_you_mean(prefix, sorted(PROVIDERS)) or "; an own server with OpenAI's API is openai/MODEL with "
            hint += "" if "?" in hint else "api_base"
        else:
            hint = "; write PROVIDER/MODEL, as anthropic/claude-sonnet-4-5 or openai/gpt-4o"
        yield config.problem(
            model_key(config, name), Code.UNKNOWN_PROVIDER, f"{model!r} is of no provider that litellm knows{hint}"
        )


def _keys(config: AgentConfig, variables: Mapping[str, str]) -> Iterator[Problem]:
    for name, interface in config.interfaces.items():
        if interface.model.startswith(SCRIPTED) or interface.api_key or interface.api_base:
            continue
        provider = provider_of(interface.model)
        if provider is not None and (missing := missing_keys(provider, variables)):
            said = f"no key for {provider}: set {' or '.join(missing)}, or give the interface an api_key"
            yield config.problem(model_key(config, name), Code.NO_API_KEY, said)


def model_key(config: AgentConfig, name: str) -> KeyPath:
    """Where the model string of an interface stands."""
    return ("model",) if name == MAIN and config.model else ("interfaces", name, "model")
