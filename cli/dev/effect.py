"""What a change of the files does to the next request of a session, without a call. Pure: two requests are compared.

A provider caches what a request begins with: model, tools, system prompt, then the messages. What differs early costs
all that comes after it once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any


@dataclass(frozen=True, slots=True)
class Effect:
    """`lost` says from where on the cached prefix is lost, null when it is kept. Tokens are estimates."""

    lost: str | None
    before: int
    after: int

    def __str__(self) -> str:
        prefix = "prefix kept" if self.lost is None else f"prefix lost from {self.lost}"
        if self.before == self.after:
            return f"{prefix}, {self.after} tokens as before"
        return f"{prefix}, {self.before} -> {self.after} tokens ({self.after - self.before:+})"


def effect(before: Mapping[str, Any], after: Mapping[str, Any]) -> Effect | None:
    """What the change did to a request, as `runtime.explain` gives it; null when it is the same."""
    parts = ("model", "tools", "messages")
    if all(before[part] == after[part] for part in parts):
        return None
    return Effect(_lost(before, after), before["tokens"], after["tokens"])


def _lost(before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    if before["model"] != after["model"]:
        return f"the start: the model is {after['model']}"
    if before["tools"] != after["tools"]:
        return f"the start: {_tool(before['tools'], after['tools'])}"
    for number, (one, other) in enumerate(zip_longest(before["messages"], after["messages"])):
        if one is None:  # only more follows
            return None
        if one != other:
            return _message(number, one, other)
    return None


def _tool(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> str:
    names = [[tool["function"]["name"] for tool in tools] for tools in (before, after)]
    for one, other in zip_longest(*names):
        if one != other:
            if other is not None and other not in names[0]:
                return f"the tool {other} is new"
            return f"the tool {one} is gone" if one not in names[1] else "the tools are in another order"
    different = next(one for one, other in zip(before, after, strict=True) if one != other)
    return f"the tool {different['function']['name']} is described differently"


def _message(number: int, one: Mapping[str, Any], other: Mapping[str, Any] | None) -> str:
    if other is None or one["role"] != "system" or other["role"] != "system":
        return f"message {number + 1}"
    texts = str(one["content"]), str(other["content"])
    shorter = min(map(len, texts))
    at = next((n for n in range(shorter) if texts[0][n] != texts[1][n]), shorter)
    return f"character {at + 1} of the system prompt"
