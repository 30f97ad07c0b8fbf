"""A session's tree in lines of text, for people. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentflow.media.files import part_text

_CHARS = 60


def drawn_tree(tree: dict[str, Any]) -> Iterator[str]:
    """One line for each message of what `Runtime.tree` gives: branches are indented under the message they fork from,
    the path is marked with |, its head with *.
    """
    children: dict[str | None, list[dict[str, Any]]] = {}
    compactions = {each["summary_id"]: each for each in tree["compactions"]}
    for node in tree["nodes"]:
        children.setdefault(node["parent_id"], []).append(node)
    path = _path(tree)
    waiting = [(node, 0) for node in reversed(children.get(None, []))]
    while waiting:
        node, level = waiting.pop()
        identifier = node["message"]["id"]
        if identifier is None:
            raise LookupError("a message has no id")  # it would hang below itself
        mark = "*" if identifier == tree["head_id"] else "|" if identifier in path else " "
        if identifier in compactions:
            yield f"  {'  ' * level}{_compaction(compactions[identifier])}"
        yield f"{mark} {'  ' * level}{identifier}  {_shown(node)}"
        below = children.get(identifier, [])
        waiting += [(child, level + (len(below) > 1)) for child in reversed(below)]


def _compaction(told: dict[str, Any]) -> str:
    sizes = f"{told['tokens_before']} to {told['tokens_after']} tokens, {told['kept']} messages kept"
    return f"-- compacted: {sizes}; before it the head was {told['previous_head_id']} --"


def _path(tree: dict[str, Any]) -> set[str]:
    parents = {node["message"]["id"]: node["parent_id"] for node in tree["nodes"]}
    path, at = set(), tree["head_id"]
    while at is not None:
        path.add(at)
        at = parents[at]
    return path


def _shown(node: dict[str, Any]) -> str:
    message = node["message"]
    content = message["content"]
    text = " ".join(map(part_text, content)) if isinstance(content, list) else content or ""
    line = " ".join([text, *(f"{call['name']}()" for call in message.get("tool_calls", ()))]).split()
    said = " ".join(line)
    copied = f" (copy of {node['copied_from']})" if node["copied_from"] else ""
    return f"{message['role']}: {said if len(said) <= _CHARS else said[:_CHARS] + '…'}{copied}"
