"""Two requests side by side: what differs in configuration, prompt, tools, history and model (R6). Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentflow.text import compact_json

SECTIONS = ("configuration", "prompt", "tools", "history", "model")
"""In the order of what causes what: the first that differs is where to look."""

Request = Mapping[str, Any]
"""`{configuration, messages, tools, model, parameters}`: what a model call was sent, and under which configuration."""

_ABSENT = object()


def differences(a: Request, b: Request) -> dict[str, Any]:
    """What differs, by section, empty lists where nothing does; `first` is the first section that differs, or null.

    `configuration`, `tools` and `model` are lists of `{key, a, b}`, dotted keys, null for what one of them has not.
    `prompt` is a list of lines that begin with `-`, `+` or a blank, `...` between those that are far apart. `history`
    is a list of blocks: `{same: N}` messages, or `{a: [messages], b: [messages]}` that stand in each other's place.
    """
    (prompt_a, history_a), (prompt_b, history_b) = _parted(a["messages"]), _parted(b["messages"])
    found: dict[str, Any] = {
        "configuration": changed(a["configuration"], b["configuration"]),
        "prompt": _lines(prompt_a, prompt_b),
        "tools": changed(_by_name(a["tools"]), _by_name(b["tools"])) or _order(a["tools"], b["tools"]),
        "history": aligned(history_a, history_b),
        "model": changed(_called(a), _called(b)),
    }
    return {"first": next((name for name in SECTIONS if found[name]), None), **found}


def changed(a: Any, b: Any) -> list[dict[str, Any]]:
    """The values that differ between two JSON values, by dotted keys, as deep as both have objects."""
    return [
        {"key": key, "a": None if left is _ABSENT else left, "b": None if right is _ABSENT else right}
        for key, left, right in _changed(a, b, "")
    ]


def _changed(a: Any, b: Any, at: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in dict.fromkeys([*a, *b]):
            yield from _changed(a.get(key, _ABSENT), b.get(key, _ABSENT), f"{at}.{key}" if at else key)
    elif a is _ABSENT or b is _ABSENT or compact_json(a) != compact_json(b):
        yield at, a, b


def aligned(a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Two histories as blocks, empty when they are the same."""
    left, right = list(map(compact_json, a)), list(map(compact_json, b))
    if left == right:
        return []
    before = _common(left, right)
    after = _common(left[before:][::-1], right[before:][::-1])
    middle = difflib.SequenceMatcher(
        None, left[before : len(left) - after], right[before : len(right) - after], autojunk=False
    )
    blocks: list[dict[str, Any]] = [{"same": before}] if before else []
    for kind, begin_a, end_a, begin_b, end_b in middle.get_opcodes():
        if kind == "equal":
            blocks.append({"same": end_a - begin_a})
        else:
            own = a[before + begin_a : before + end_a], b[before + begin_b : before + end_b]
            blocks.append({"a": list(own[0]), "b": list(own[1])})
    return [*blocks, *([{"same": after}] if after else [])]


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """How many items both begin with."""
    return next((n for n, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))


def _parted(messages: Sequence[Mapping[str, Any]]) -> tuple[str, Sequence[Mapping[str, Any]]]:
    """The system prompt, and what is read after it."""
    if messages and messages[0].get("role") == "system":
        content = messages[0].get("content")
        return content if isinstance(content, str) else compact_json(content), messages[1:]
    return "", messages


def _lines(a: str, b: str) -> list[str]:
    """Changed lines with two unchanged ones around."""
    found = difflib.unified_diff(a.splitlines(), b.splitlines(), n=2, lineterm="")
    lines = ["..." if line.startswith("@@") else line for line in list(found)[2:]]
    if not lines and a != b:  # they differ in the ends of their lines only
        return [f"-{a!r}", f"+{b!r}"]
    return lines[1:]


def _by_name(tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {str(tool["function"]["name"]): tool["function"] for tool in tools}


def _order(a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Tools that are the same and stand in another order, which a provider's cache notices."""
    return changed({"(order)": list(_by_name(a))}, {"(order)": list(_by_name(b))})


def _called(request: Request) -> dict[str, Any]:
    return {"model": request["model"], "parameters": request["parameters"]}
