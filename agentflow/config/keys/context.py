"""The keys of `context:`: how big the model's window is and what is done when it fills up (X11)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from agentflow.config.keys.base import Items, Keys
from agentflow.config.keys.references import interface_name


class StrategyKeys(Keys):
    """One way to make room. They are tried in order before each model call; the first that applies is taken."""

    use: Literal["reset", "summarize"] = Field(
        description="reset: go on with the current turn alone; summarize: put a summary in place of earlier turns."
    )
    idle_secs: float | None = Field(
        default=None,
        ge=0,
        description="Applies at a turn's first model call when the session was idle for so long; with over_tokens "
        "both must hold.",
    )
    over_tokens: int | None = Field(
        default=None,
        ge=1,
        description="Applies when the model would read more tokens than this, or than the window less 16,000.",
    )
    prompt: str | None = Field(default=None, min_length=1, description="Instructions for the summary; unset: ours.")
    llm: str | None = Field(
        default=None, min_length=1, description="The interface that writes the summary; unset: main."
    )
    interface: str | None = Field(default=None, min_length=1, description="Another word for llm.")
    model: str | None = Field(
        default=None, min_length=1, description="The model string of the summary call, in place of the interface's."
    )

    @classmethod
    def completed(cls, values: dict[str, Any]) -> dict[str, Any]:
        """`interface` becomes `llm`, and `llm://NAME` the plain name."""
        named = values.get("llm", values.get("interface"))
        if not isinstance(named, str):
            return values
        kept = {key: value for key, value in values.items() if key != "interface"}
        return {**kept, "llm": interface_name(named)}


class ContextKeys(Keys):
    """Making room for the model before its window is full."""

    window: int | None = Field(
        default=None,
        ge=0,
        description="The model's context window in tokens, as the model is run; unset or 0: unknown.",
    )
    strategy: Items[StrategyKeys] = Field(default=(), description="What to do, in the order it is tried.")
