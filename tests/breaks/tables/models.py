"""Which model is called, and what it is given (Z4)."""

from __future__ import annotations

from tests.breaks.entry import Break

_SWITCH = "unit/models/switching/test_switch.py"

BREAKS = (
    Break(
        "switch-keys", "models/switching/switch.py",
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
)  # fmt: skip
