"""What a step may spend, checked in one place before each model call (limits table of turns.md; 0 = no limit)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from agentflow.config.agent_config import Settings
from agentflow.message import ToolCall, Usage


@dataclass(slots=True)
class Spent:
    """Counters of one step of one execution. `before` is usage of the turn that counts no more: the user has agreed
    to go on after it (T39).
    """

    iterations: int = 0
    continuations: int = 0
    tool_calls: int = 0
    consecutive_errors: int = 0
    repeated: int = 0
    last_call: tuple[str, str] | None = None
    before: Usage = field(default_factory=Usage)

    def called(self) -> None:
        """Count a call of the model."""
        self.iterations += 1

    def taken_back(self) -> None:
        """The last call of the model is made once more, so it counts once (X16)."""
        self.iterations -= 1

    def continued(self) -> None:
        """Count a continuation of the step (T9)."""
        self.continuations += 1

    def allow_again(self, used: Usage) -> None:
        """What was used so far counts no more (T39)."""
        self.before = used

    def asked(self, call: ToolCall) -> None:
        """Count a call the model asked for; the same name and arguments in a row are repeats."""
        self.tool_calls += 1
        same = (call.name, call.arguments) == self.last_call
        self.repeated = self.repeated + 1 if same else 1
        self.last_call = (call.name, call.arguments)

    def answered(self, *, ok: bool) -> None:
        """Count a result."""
        self.consecutive_errors = 0 if ok else self.consecutive_errors + 1


@dataclass(slots=True)
class Tried:
    """What was done for room in one step of one execution (X17).

    `since_last_call`: room was made by size, or tried, since the last call of the loop. `gave_up`: it did not help or
    was refused, so sizes are left alone for the rest of the turn. `promised`: the most tokens the next call of the
    loop may report if the last attempt helped. `is_first`: no call of the loop has been looked at yet. `limited` is
    what `context.limited` said, as long as nothing has closed its phase (X20).
    """

    since_last_call: bool = False
    gave_up: bool = False
    promised: int | None = None
    is_first: bool = True
    limited: int | None = None


_Count = Callable[[Spent, Usage], float]

_COUNTED: tuple[tuple[str, _Count], ...] = (
    ("max_iterations", lambda spent, usage: spent.iterations),
    ("max_tool_calls", lambda spent, usage: spent.tool_calls),
    ("max_consecutive_tool_errors", lambda spent, usage: spent.consecutive_errors),
    ("max_repeated_calls", lambda spent, usage: spent.repeated),
    ("max_input_tokens", lambda spent, usage: (usage.input or 0) - (spent.before.input or 0)),
    ("max_output_tokens", lambda spent, usage: (usage.output or 0) - (spent.before.output or 0)),
    ("max_cost", lambda spent, usage: float((usage.cost or 0) - (spent.before.cost or 0))),
)


def reached(settings: Settings, spent: Spent, usage: Usage) -> str | None:
    """The name of the first limit that is used up, null when the model may be called again."""
    for name, count in _COUNTED:
        allowed = getattr(settings, name)
        if allowed and count(spent, usage) >= allowed:
            return name
    return None
