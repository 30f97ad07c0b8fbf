"""What a chat shows of a session, as lines. Pure: from what the runtime's reads give."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ..terminal.plain import one_line, shortened, visible

Read = dict[str, Any]

_BAR = 30
_SHOWN_CHARS = 60


def first_words(content: Any, most: int = _SHOWN_CHARS) -> str:
    """The beginning of a message's text, on one line."""
    if isinstance(content, list):
        from agentflow import part_text

        content = " ".join(map(part_text, content))
    return shortened(" ".join(one_line((content or "")[: 10 * most]).split()), most)


def user_messages(messages: Sequence[Read]) -> list[int]:
    """Where on the path the messages of its user stand, the first as number 1 of `/edit`."""
    return [at for at, each in enumerate(messages) if each["role"] == "user" and not each.get("hidden")]


def branches(tree: Read) -> list[Read]:
    """The last message of every branch, the oldest first: `{id, is_head, messages, words}`.

    `words` are those of the first message that the branch has for itself, `messages` how many it has.
    """
    nodes = {node["message"]["id"]: node for node in tree["nodes"]}
    children: dict[str | None, int] = {}
    for node in nodes.values():
        children[node["parent_id"]] = children.get(node["parent_id"], 0) + 1
    heads = [each for each in nodes if each not in children or each == tree["head_id"]]
    return [_branch(each, nodes, children, tree["head_id"]) for each in heads]


def _branch(leaf: str, nodes: dict[str, Read], children: dict[str | None, int], head: str | None) -> Read:
    own, at = [nodes[leaf]["message"]], nodes[leaf]["parent_id"]
    while at is not None and children[at] == 1:
        own.append(nodes[at]["message"])
        at = nodes[at]["parent_id"]
    told = next((each for each in reversed(own) if each["content"]), own[-1])
    return {
        "id": leaf,
        "is_head": leaf == head,
        "messages": len(own),
        "words": f"{told['role']}: {first_words(told['content'])}",
    }


def branch_lines(found: Sequence[Read]) -> Iterator[str]:
    for number, each in enumerate(found, 1):
        mark = "*" if each["is_head"] else " "
        size = "1 message" if each["messages"] == 1 else f"{each['messages']} messages"
        yield f"{mark} {number}. {size}, {each['words']}"
    yield "/branch N goes to one of them" if len(found) > 1 else "there is no other; /edit and /retry make one"


def context_lines(found: Read) -> Iterator[str]:
    """How full the model's window is, what fills it, when room is made, and what would go then."""
    window, tokens = found["window"], found["tokens"]
    if window:
        filled = min(_BAR, round(_BAR * tokens / window))
        share = f"[{'#' * filled}{'.' * (_BAR - filled)}] {100 * tokens / window:.0f} %"
        yield f"{tokens:,} of {window:,} tokens {share}"
    else:
        yield f"{tokens:,} tokens; how many the model can read is not known (context.window says it)"
    for each in found["sections"]:
        yield f"  {each['name']:<14} {each['tokens']:>9,} tokens (estimate)"
    yield from map(_room, found["room"])
    if not found["room"]:
        yield "no way to make room is configured; a request refused as too long is summarized"


def _room(way: Read) -> str:
    """`strategy[0]: summarize above 100,000 tokens, now 4,200; 12 messages would go and 5 stay (about 900 tokens)`."""
    when = [f"above {way['threshold']:,} tokens"] if way["threshold"] is not None else []
    when += [f"after {way['idle_secs']:g} s without a message"] if way["idle_secs"] is not None else []
    due = "due before the next call" if way["due"] else f"now {way['tokens']:,}"
    if not way["summarized"]:
        goes = "nothing would go yet"
    else:
        goes = f"{way['summarized']} messages would go and {way['kept']} stay (about {way['tokens_after']:,} tokens)"
    return f"{way['by']}: {way['use']} {' and '.join(when) or 'when a call is refused'}, {due}; {goes}"


def queue_lines(status: Read) -> Iterator[str]:
    for number, each in enumerate(status["queue"], 1):
        yield f"  {number}. {first_words(' / '.join(each['texts'])) or each['kind']}"
    waits = len(status["queue"])
    if not waits:
        yield "nothing waits"
    elif status["status"] == "running" or status["pending"]:
        yield "they run when the turn has ended; /queue drop N takes one back"
    else:
        yield "/queue run runs them; /queue drop N takes one back"


def session_lines(found: Sequence[Read], current: str) -> Iterator[str]:
    for each in found:
        mark = "*" if each["session_id"] == current else " "
        state = each["outcome"] if each["status"] == "idle" and each["outcome"] else each["status"]
        name = f"  {each['name']}" if each["name"] else ""
        yield f"{mark} {each['session_id']}  {state}, {each['turns']} turns, {each['updated_at'][:16]}{name}"
    yield "/sessions ID goes to one of them" if found else "there are no sessions here yet"


def question_lines(question: Read) -> Iterator[str]:
    yield f"{question['header']}: {question['question']}"
    for number, option in enumerate(question["options"], 1):
        described = f": {option['description']}" if option.get("description") else ""
        yield f"  {number}. {one_line(option['label'])}{one_line(described)}"
    if question["options"]:
        several = "numbers (1,2)" if question["multi_select"] else "a number"
        yield f"{several}, or your own words"


def call_lines(call: Read) -> Iterator[str]:
    """A call that the client performs: its arguments in full, with everything invisible in them escaped (F42)."""
    text = visible(json.dumps(call["arguments"], ensure_ascii=False, indent=2))
    yield f"{call['name']} is to be done here, with {len(text):,} characters of arguments:"
    yield f"  {text}"
    yield "type its result (JSON or text), or /decline WHY"


def tool_line(name: str, arguments: str, result: str, *, failed: bool) -> str:
    """One call and what came of it, on one line."""
    return f"{name}({first_words(arguments, 40)}) {'failed: ' if failed else '= '}{first_words(result)}"
