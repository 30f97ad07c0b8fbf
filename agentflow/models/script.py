"""The script of a scripted model: what a file or a list says, read strictly into frozen replies."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal, get_args

from agentflow.bounds import patterns
from agentflow.config.document.codes import Code
from agentflow.config.document.document import Document
from agentflow.config.document.problems import Path, did_you_mean
from agentflow.errors import ModelErrorKind
from agentflow.message import Purpose, Usage
from agentflow.models.assembly import RawCall
from agentflow.text import sanitise, sanitise_json

AtEnd = Literal["error", "repeat", "echo"]

ERROR_KINDS: tuple[ModelErrorKind, ...] = (
    "rate_limited", "timeout", "unavailable", "auth", "bad_request", "context_overflow", "cut", "bad_reply",
    "output_limit", "content_filter",
)  # fmt: skip
FINISH_REASONS = ("stop", "tool_calls", "length", "refusal", "content_filter")
CHUNK_SIZE = 64

PLACEHOLDER = re.compile(r"\{\{([^{}]*)\}\}")
PLACEHOLDERS = ("last_tool", "last_user")  # and the named groups of the guard's `last_user`


@dataclass(frozen=True, slots=True)
class Guard:
    """When a reply may be taken; every condition that is given must hold.

    `last_user`: found in the last user message. `has_tool_result`: whether the last message is a tool result.
    `tool`: it is one of this tool. `turn`: the number of the turn in its session. `purpose`: what the call is for.
    """

    last_user: patterns.Pattern | None = None
    has_tool_result: bool | None = None
    tool: str | None = None
    turn: int | None = None
    purpose: Purpose | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """The call fails after `after` characters of text and arguments; a cut without it after all of them."""

    kind: ModelErrorKind
    after: int | None = None
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """One reply; `delay_secs` goes before each delta.

    `usage` null = counted by characters / 4, an empty one = none is reported. `template`: there are placeholders.
    """

    text: str = ""
    template: bool = False
    reasoning: str = ""
    tool_calls: tuple[RawCall, ...] = ()
    usage: Usage | None = None
    finish_reason: str | None = None
    error: Failure | None = None
    provider: dict[str, Any] | None = None
    when: Guard = field(default_factory=Guard)
    repeat: bool = False
    chunk_size: int = CHUNK_SIZE
    delay_secs: float = 0.0


@dataclass(frozen=True, slots=True)
class Script:
    """The replies in order, and what a call gets when none of them is left for it."""

    replies: tuple[ScriptedReply, ...]
    at_end: AtEnd = "error"


def read_script(document: Document) -> Script:
    """The script in a file. Raises `InvalidConfig` with every problem, by line and column."""
    top = _Spot(document, (), document.data)
    given = top.mapping({"replies": lambda spot: spot.items(_reply), "at_end": _one_of(*get_args(AtEnd))})
    if "replies" not in given:
        top.wrong("replies: is required, a list of replies")
    document.checked()
    return Script(given["replies"], given.get("at_end", "error"))


def read_reply(data: Any) -> ScriptedReply:
    """One reply given as a dict. Raises `InvalidConfig` with every problem."""
    document = Document("scripted reply", [], data)
    reply = _reply(_Spot(document, (), data))
    document.checked()
    return reply


def check_replies(document: Document, path: Path) -> None:
    """Add to the document's problems what is wrong with the list of replies at `path`, if there is one."""
    if path in document.places:
        _Spot(document, path, document.at(path, ())).items(_reply)


def read_recorded_reply(data: Any) -> ScriptedReply:
    """One reply that a model gave, as a dict: nothing in it is a placeholder. Raises `InvalidConfig`."""
    document = Document("recorded reply", [], data)
    reply = ScriptedReply(**_Spot(document, (), data).mapping(_REPLY))
    document.checked()
    return reply


@dataclass(slots=True)
class _Spot:
    """A value and where it stands, with a place to complain."""

    document: Document
    path: Path
    value: Any

    def wrong(self, message: str) -> None:
        self.document.problems.append(self.document.problem(self.path, Code.SCRIPT, message))

    def at(self, key: str | int, value: Any) -> _Spot:
        return _Spot(self.document, (*self.path, key), value)

    def mapping(self, readers: Mapping[str, Callable[[_Spot], Any]]) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            self.wrong(f"must be a mapping with some of {', '.join(readers)}")
            return {}
        read = {}
        for key, value in self.value.items():
            if key in readers:
                read[key] = readers[key](self.at(key, value))
            elif not str(key).startswith("x-"):
                self.at(key, value).wrong(f"unknown key{did_you_mean(str(key), list(readers))}")
        return read

    def items(self, reader: Callable[[_Spot], Any]) -> tuple[Any, ...]:
        if not isinstance(self.value, list | tuple):
            self.wrong("must be a list")
            return ()
        return tuple(reader(self.at(index, value)) for index, value in enumerate(self.value))


def _reply(spot: _Spot) -> ScriptedReply:
    reply = ScriptedReply(**spot.mapping(_REPLY))
    texts = "\n".join((reply.text, *(call.arguments for call in reply.tool_calls)))
    used = [name.strip() for name in PLACEHOLDER.findall(texts)]
    known = [*PLACEHOLDERS, *(reply.when.last_user.groups if reply.when.last_user else ())]
    for name in used:
        if name not in known:
            spot.wrong(f"{{{{ {name} }}}} is not known; there are {' and '.join(known)}")
    return replace(reply, template=bool(used))


def _text(spot: _Spot) -> str:
    if isinstance(spot.value, str):
        return sanitise(spot.value)
    spot.wrong("must be a text; put it in quotes")
    return ""


def _flag(spot: _Spot) -> bool:
    if not isinstance(spot.value, bool):
        spot.wrong("must be true or false")
    return spot.value is True


def _whole(least: int) -> Callable[[_Spot], int]:
    def read(spot: _Spot) -> int:
        if isinstance(spot.value, int) and not isinstance(spot.value, bool) and spot.value >= least:
            return spot.value
        spot.wrong(f"must be a whole number, at least {least}")
        return least

    return read


def _seconds(spot: _Spot) -> float:
    if isinstance(spot.value, int | float) and not isinstance(spot.value, bool) and spot.value >= 0:
        return float(spot.value)
    spot.wrong("must be a number, at least 0")
    return 0.0


def _one_of(*choices: str) -> Callable[[_Spot], Any]:
    def read(spot: _Spot) -> Any:
        if spot.value not in choices:
            spot.wrong(f"must be one of {', '.join(choices)}{did_you_mean(str(spot.value), choices)}")
        return spot.value

    return read


def _pattern(spot: _Spot) -> patterns.Pattern | None:
    try:
        return patterns.compiled(_text(spot))
    except ValueError as error:
        spot.wrong(f"is not a regular expression: {error}")
        return None


def _call(spot: _Spot) -> RawCall:
    given = spot.mapping({"name": _text, "arguments": _arguments, "id": _text})
    return RawCall(given.get("id"), given.get("name"), given.get("arguments", "{}"))


def _arguments(spot: _Spot) -> str:
    """Raw text as it is, so that broken arguments can be scripted; a mapping as JSON."""
    if isinstance(spot.value, str):
        return sanitise(spot.value)
    try:
        return json.dumps(sanitise_json(spot.value), ensure_ascii=False)
    except (TypeError, ValueError) as error:
        spot.wrong(f"cannot be written as JSON: {error}")
        return "{}"


def _cost(spot: _Spot) -> Decimal:
    _seconds(spot)
    return Decimal(str(spot.value)) if isinstance(spot.value, int | float) else Decimal(0)


def _provider(spot: _Spot) -> dict[str, Any]:
    if isinstance(spot.value, dict):
        return dict(spot.value)
    spot.wrong("must be a mapping")
    return {}


def _failure(spot: _Spot) -> Failure | None:
    given = spot.mapping({"kind": _one_of(*ERROR_KINDS), "after": _whole(0), "retry_after": _seconds})
    if "kind" not in given and isinstance(spot.value, dict):
        spot.wrong(f"needs a kind, one of {', '.join(ERROR_KINDS)}")
    return Failure(**given) if "kind" in given else None


_USAGE: dict[str, Callable[[_Spot], Any]] = {
    "input": _whole(0), "output": _whole(0), "cache_read": _whole(0), "cache_write": _whole(0), "cost": _cost,
}  # fmt: skip
_GUARD: dict[str, Callable[[_Spot], Any]] = {
    "last_user": _pattern,
    "has_tool_result": _flag,
    "tool": _text,
    "turn": _whole(1),
    "purpose": _one_of(*get_args(Purpose)),
}
_REPLY: dict[str, Callable[[_Spot], Any]] = {
    "text": _text,
    "reasoning": _text,
    "tool_calls": lambda spot: spot.items(_call),
    "usage": lambda spot: Usage(**spot.mapping(_USAGE)),
    "finish_reason": _one_of(*FINISH_REASONS),
    "error": _failure,
    "provider": _provider,
    "when": lambda spot: Guard(**spot.mapping(_GUARD)),
    "repeat": _flag,
    "chunk_size": _whole(1),
    "delay_secs": _seconds,
}
