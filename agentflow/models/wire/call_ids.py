"""Ids of tool calls as a provider takes them (T14). Pure.

A conversation outlives the model it began with, and not every provider takes the ids that another one gave, or ours:
those are rewritten where a request leaves, by what they are, so that the same id is the same text in every request.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from string import ascii_letters, digits
from typing import Any

_ALPHABET = digits + ascii_letters


@dataclass(frozen=True, slots=True)
class _Form:
    taken: re.Pattern[str]
    length: int


_MISTRAL = _Form(re.compile(r"[A-Za-z0-9]{9}"), 9)
_ANTHROPIC = _Form(re.compile(r"[A-Za-z0-9_-]{1,64}"), 24)
_OPENAI = _Form(re.compile(r"[\x21-\x7e]{1,40}"), 24)
_OTHER = _Form(re.compile(r"[\x21-\x7e]{1,64}"), 24)
_OF_MISTRAL = re.compile(r"(mi|mini|magi)stral|mixtral|codestral|devstral|pixtral|voxtral", re.IGNORECASE)
_OF_ANTHROPIC = frozenset({"anthropic", "bedrock", "bedrock_converse"})
_OF_OPENAI = frozenset({"openai", "azure", "azure_ai"})
_VERBATIM = frozenset({"gemini", "vertex_ai", "vertex_ai_beta"})  # its ids carry what it must get back


def _form(model: str, provider: str) -> _Form | None:
    if provider == "mistral" or _OF_MISTRAL.search(model):
        return _MISTRAL
    if provider in _OF_ANTHROPIC or "claude" in model.lower():
        return _ANTHROPIC
    if provider in _VERBATIM:
        return None
    return _OPENAI if provider in _OF_OPENAI else _OTHER


def accepted_ids(call_ids: Iterable[str], model: str, provider: str) -> dict[str, str]:
    """Those ids the model's provider would refuse, each with the one it is sent as: no two are the same."""
    form = _form(model, provider)
    if form is None:
        return {}
    given = dict.fromkeys(call_ids)
    used = {each for each in given if form.taken.fullmatch(each)}
    rewritten: dict[str, str] = {}
    for each in given:
        if each not in used:
            rewritten[each] = _digest(each, form.length, used)
            used.add(rewritten[each])
    return rewritten


def _digest(call_id: str, length: int, used: set[str]) -> str:
    number = 0
    while True:
        value = int.from_bytes(hashlib.sha256(f"{number or ''}{call_id}".encode("utf-8", "replace")).digest())
        text = ""
        for _ in range(length):
            value, rest = divmod(value, len(_ALPHABET))
            text += _ALPHABET[rest]
        if text not in used:
            return text
        number += 1


def ids_of(messages: Iterable[dict[str, Any]]) -> list[str]:
    """Every call id of a request, in the order of its messages."""
    found: list[str] = []
    for message in messages:
        found += [call["id"] for call in message.get("tool_calls") or ()]
        if (answered := message.get("tool_call_id")) is not None:
            found.append(answered)
    return found


def rewrite_ids(messages: Iterable[dict[str, Any]], rewritten: dict[str, str]) -> None:
    """Put the rewritten ids into messages that may be changed."""
    for message in messages:
        for call in message.get("tool_calls") or ():
            call["id"] = rewritten.get(call["id"], call["id"])
        if "tool_call_id" in message:
            message["tool_call_id"] = rewritten.get(message["tool_call_id"], message["tool_call_id"])
