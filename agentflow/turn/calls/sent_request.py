"""From what the exact request of a model call is made again later: references, never its messages again (R3, R5).

The messages are those of the path at the call's place, `current` of them this turn's, the rest read `lean` or whole by
`reader`; `texts` are keys of what stood between. What a hook changed of them stands as the part it changed:
`[first, count, key]`. A request that was made in another way is kept whole, under the key `messages`. `parameters` is
the key of what the model sent beside messages and tools, where it told; `passed_over` lists models that were not asked
with the reason (W5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentflow.models.protocol import Model, parameters_of
from agentflow.text import compact_json
from agentflow.turn.run.execution import Execution

_Wire = Sequence[Mapping[str, Any]]


def whole(execution: Execution, model: Model, messages: _Wire) -> dict[str, Any]:
    """A request that is no reading of the path."""
    blob = execution.staging.blob
    return {**_parameters(model, blob), "messages": blob(compact_json(list(messages)))}


def of_loop(
    execution: Execution, model: Model, verbatim: _Wire | None, built: _Wire, sent: _Wire, *, is_lean: bool
) -> dict[str, Any]:
    """A call of the loop, whose messages were `built` and then perhaps changed into those that are `sent`."""
    transcript, blob = execution.transcript, execution.staging.blob
    if verbatim is not None or not transcript.is_as_recorded:
        return whole(execution, model, sent)
    made: dict[str, Any] = {
        **_parameters(model, blob),
        "lean": is_lean,
        "current": len(transcript.messages),
        "texts": [blob(text) for text in transcript.step_texts if text.strip()],
        "reader": execution.agent.model.name,
    }
    if sent is built or sent == built:
        return made
    first = _same(built, sent)
    last = min(_same(built[::-1], sent[::-1]), min(len(built), len(sent)) - first)
    changed = blob(compact_json(list(sent[first : len(sent) - last])))
    return {**made, "changed": [first, len(built) - last - first, changed]}


def _parameters(model: Model, blob: Callable[[str], str]) -> dict[str, Any]:
    said = parameters_of(model)
    return {"parameters": blob(compact_json(said))} if said else {}


def _same(one: _Wire, other: _Wire) -> int:
    """How many messages both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(one), len(other)))
