"""Which model is called, and what it is given (Z4)."""

from __future__ import annotations

from tests.breaks.entry import Break

_FALLBACK = "scenarios/test_fallback.py"
_SWITCH = "unit/models/switching/test_switch.py"

BREAKS = (
    Break(
        "switch-keys", "config/interfaces.py",
        'if model.partition("/")[0] == interface.model.partition("/")[0]:',
        "if model:",
        (f"{_SWITCH}::test_another_provider_is_not_sent_what_the_first_one_was_given",),
        "A key goes to another provider than its own.",
    ),
    Break(
        "switch-back", "models/switching/switch.py",
        "        self._instead[model] = instead",
        "        self._instead.setdefault(model, instead)",
        (f"{_SWITCH}::test_another_model_is_called_until_it_is_taken_back",),
        "A model that was exchanged stays exchanged.",
    ),
    Break(
        "fallback-shown", "models/fallback/candidates.py",
        "passing = not shown and (",
        "passing = (",
        (f"{_FALLBACK}::test_nobody_else_is_asked_once_something_was_shown",),
        "Another model begins anew after something was shown.",
    ),
    Break(
        "fallback-cooling", "models/fallback/candidates.py",
        "            self._candidates.cool(model, error, now)",
        "            pass",
        (f"{_FALLBACK}::test_a_model_that_failed_is_passed_over_in_the_next_turn_and_the_trace_says_why",),
        "A model that failed is asked first again.",
    ),
)  # fmt: skip
