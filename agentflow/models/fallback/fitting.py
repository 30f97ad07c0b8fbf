"""Whether a request suits a model, by what litellm's table says of it; what the table does not know suits (W5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentflow.context.tokens import estimate
from agentflow.media.provider import kinds_in
from agentflow.models.protocol import Model, parameters_of, reads_of
from agentflow.models.providers import listed

if TYPE_CHECKING:
    from agentflow.config.keys.agent import Interface

_WORDS = {"image": "pictures", "audio": "sound", "pdf": "files"}


@dataclass(frozen=True, slots=True)
class Need:
    """What a request needs of its model: `tokens` to read, tools to call, and kinds of files to read (`image`)."""

    tokens: int
    with_tools: bool
    kinds: frozenset[str]

    @classmethod
    def of(cls, messages: Sequence[Mapping[str, Any]], chars: int, *, with_tools: bool) -> Need:
        return cls(estimate(chars), with_tools, kinds_in(messages))


def misfit(model: Model, need: Need) -> str | None:
    """Why the model cannot take the request at all, null when it can."""
    known, reads = listed(model.name), reads_of(model)
    window = known.get("max_input_tokens")
    if window and need.tokens > window:
        return f"reads {window:,} tokens at most, the request has about {need.tokens:,}"
    if need.with_tools and known and not known.get("supports_function_calling"):
        return "calls no tools"
    lacking = [] if reads is None else [word for kind, word in _WORDS.items() if kind in need.kinds - reads]
    return f"reads no {' and no '.join(lacking)}" if lacking else None


def short_output(model: Model, wanted: Model) -> str | None:
    """Why the model's replies are shorter than is asked of `wanted`, null when they are not."""
    asked, most = parameters_of(wanted).get("max_tokens"), listed(model.name).get("max_output_tokens")
    return f"writes {most:,} tokens at most, {asked:,} are asked for" if asked and most and asked > most else None


def fitted(interface: Interface) -> Interface:
    """A fallback's interface with what the table says its model cannot take left out or cut."""
    known = listed(interface.model)
    most, asked = known.get("max_output_tokens"), interface.max_output_tokens
    changes: dict[str, Any] = {"max_output_tokens": most} if most and asked and asked > most else {}
    if known and interface.reasoning_effort and not known.get("supports_reasoning"):
        changes["reasoning_effort"] = None
    return interface.model_copy(update=changes) if changes else interface
