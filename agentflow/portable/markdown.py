"""A session as Markdown that its texts cannot forge: each stands in a fence that it does not have (Z5, R12)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from agentflow.portable.shown import shown_text
from agentflow.portable.story import Said, story
from agentflow.store.portable import Portable

_TICKS = re.compile("`+")


def markdown(session: Portable) -> Iterator[str]:
    """The conversation as it stands, then what else is in its tree."""
    told = story(session)
    yield f"# Session {_code(told.facts[0][1])}\n\n"
    for name, value in told.facts[1:]:
        yield f"- {name}: {_code(value)}\n"
    yield "\n## Conversation\n"
    yield from _messages(told.path)
    for strand in told.others:
        whose = f" of {_code(strand.agent)}" if strand.agent else ""
        yield f"\n## Branch {strand.number}{whose}\n"
        yield f"\nIt forks after {_code(strand.after)}.\n" if strand.after else ""
        yield from _messages(strand.messages)


def _messages(messages: Iterable[Said]) -> Iterator[str]:
    for said in messages:
        yield f"\n### {said.role}\n\n{_code(said.id)} {said.at}{' ' + _code(said.note) if said.note else ''}\n"
        if said.text:
            yield f"\n{_fenced(said.text)}"
        for call in said.calls:
            yield f"\nCalls {_code(call.name)} {_code(call.id)} {call.outcome}\n\n{_fenced(call.arguments)}"


def _fenced(text: str) -> str:
    shown = shown_text(text)
    fence = "`" * max(3, _longest(shown) + 1)
    return f"{fence}text\n{shown}\n{fence}\n"


def _code(text: str) -> str:
    """A text on one line, between more backticks than it has."""
    shown = " ".join(shown_text(text).split())
    ticks = "`" * (_longest(shown) + 1)
    return f"{ticks} {shown} {ticks}" if "`" in shown else f"`{shown}`"


def _longest(text: str) -> int:
    return max((len(found) for found in _TICKS.findall(text)), default=0)
