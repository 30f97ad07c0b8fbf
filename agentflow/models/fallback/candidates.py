"""Who is asked when an interface is called: its own model first, and its fallbacks in order (W5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

from agentflow.errors import ModelError
from agentflow.models.fallback.fitting import Need, misfit, short_output
from agentflow.models.protocol import Model
from agentflow.models.retry import RETRYABLE

_cooling: WeakKeyDictionary[Model, float] = WeakKeyDictionary()
"""Until when a model of this process is passed over, by the loop's clock."""


class PassedOver(NamedTuple):
    """A model that was not asked, and why."""

    model: str
    reason: str


@dataclass(frozen=True, slots=True)
class Candidates:
    """`models` of one interface, its own first. A model that fails is passed over for `cool_down_secs`."""

    models: tuple[Model, ...]
    cool_down_secs: float = 0.0

    def asked(self, need: Need, now: float) -> Asked:
        """The order in which they are asked for this request, at `now` by the loop's clock in seconds.

        Those that are cooling or that the request does not suit are left out; of replies that would be cut shorter
        than is asked for, only when nobody else is left. When all are cooling, the one due soonest is asked.
        """
        if len(self.models) == 1:
            return Asked(self, self.models, ())
        own, passed = self.models[0], []
        whole: list[Model] = []
        short: list[Model] = []
        cooling: list[Model] = []
        for model in self.models:
            reason = None if model is own else misfit(model, need)
            cut = None if model is own else short_output(model, own)
            due = _cooling.get(model, now) - now
            if reason is None and due > 0:
                cooling.append(model)
                reason = f"failed before, passed over for {due:.0f} s more"
            elif reason is None and cut is not None:
                short.append(model)
                reason = cut
            elif reason is None:
                whole.append(model)
            if reason is not None:
                passed.append(PassedOver(model.name, reason))
        if not whole:
            whole = short or [min(cooling, key=lambda each: _cooling[each])]
        chosen = {model.name for model in whole}
        return Asked(self, tuple(whole), tuple(each for each in passed if each.model not in chosen))

    def cool(self, model: Model, error: ModelError, now: float) -> None:
        """Pass the model over until the provider's own wait is over, at most `cool_down_secs`; the later end holds."""
        wait = self.cool_down_secs if error.retry_after is None else min(error.retry_after, self.cool_down_secs)
        _cooling[model] = max(_cooling.get(model, now), now + wait)


class Asked:
    """The models asked for one request, one after the other: `for model in asked`."""

    def __init__(self, candidates: Candidates, models: tuple[Model, ...], passed_over: tuple[PassedOver, ...]) -> None:
        self._candidates = candidates
        self._models = models
        self._failures: list[tuple[Model, ModelError]] = []
        self.passed_over = passed_over

    def __iter__(self) -> Iterator[Model]:
        return iter(self._models)

    @property
    def first(self) -> Model:
        return self._models[0]

    def retries(self, retries: int) -> int:
        """How often the model of the moment is asked again: nobody, as long as another one can be asked instead."""
        return retries if len(self._failures) == len(self._models) - 1 else 0

    def failed(self, error: ModelError, now: float, *, shown: bool) -> ModelError | None:
        """Take down that the model of the moment failed; null when the next one is asked, else what it came to.

        Nobody else is asked once something was shown, nor for what another model would refuse as well; of a fallback
        every failure counts, since it says nothing about the interface's own model.
        """
        model = self._models[len(self._failures)]
        is_own = model is self._candidates.models[0]
        if len(self._candidates.models) > 1 and error.kind in RETRYABLE and not shown:
            self._candidates.cool(model, error, now)
        self._failures.append((model, error))
        passing = not shown and (error.kind in RETRYABLE or not is_own)
        if passing and len(self._failures) < len(self._models):
            return None
        return self._all_failed() if passing else error

    def _all_failed(self) -> ModelError:
        """The first failure, with who failed after it.

        A fallback for which the request is too long says nothing of the conversation: no room is made for it (X16).
        """
        (model, first), *others = self._failures
        is_foreign = first.kind == "context_overflow" and model is not self._candidates.models[0]
        if not (others or is_foreign):
            return first
        too = "; ".join(f"{other.name} ({error.code})" for other, error in others)
        said = f"{first.message} Asked after {model.name}, and failed too: {too}." if too else first.message
        kind = "bad_request" if is_foreign else first.kind
        return ModelError(kind, said, retry_after=first.retry_after, status=first.status)
