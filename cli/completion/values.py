"""What may stand for an argument: agents of the project and sessions of its database, read without the engine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

import click
from click.shell_completion import CompletionItem

from ..terminal.plain import one_line

_HARMLESS = re.compile(r"[\w.:@%+,/=][\w.:@%+,/=-]*", re.ASCII)
"""What a shell takes as it stands: ids are chosen by clients, and what is completed is run by whoever presses Enter."""

Values = Callable[[click.Context, str], Iterable[CompletionItem]]
"""`(context, what is typed so far) -> what it may become`."""


def agents(ctx: click.Context, typed: str) -> Iterable[CompletionItem]:
    """Names of agents, of the project first; a path is completed by the shell."""
    from agentflow import agent_names

    names = [name for name in agent_names(_project(ctx)) if name.startswith(typed) and _HARMLESS.fullmatch(name)]
    return [CompletionItem(name) for name in names] or [CompletionItem(typed, type="plain" if not typed else "file")]


def sessions(ctx: click.Context, typed: str) -> Iterable[CompletionItem]:
    """Ids of the newest sessions that begin with what is typed, then of those whose name has it."""
    from agentflow import recent_sessions

    recent = recent_sessions(_project(ctx), db=ctx.params.get("db"))
    found = [each for each in recent if _HARMLESS.fullmatch(each[0])]
    by_id = [each for each in found if each[0].startswith(typed)]
    by_name = [each for each in found if each not in by_id and typed.lower() in (each[1] or "").lower()]
    return [CompletionItem(id_, help=one_line(name) if name else None) for id_, name in (*by_id, *by_name)]


def _project(ctx: click.Context) -> Path:
    return Path(ctx.params.get("project") or ".")


VALUES: Mapping[str, Values] = MappingProxyType(
    {"agent": agents, "paths": agents, "session": sessions, "sessions": sessions}
)
"""By the name of the parameter."""
