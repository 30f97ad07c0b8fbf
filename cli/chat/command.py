"""`agentflow chat`: a conversation on a terminal."""

from __future__ import annotations

import os
import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import click

from ..engine import color_option, engine_options, place, project_of, with_runtime
from ..terminal.colors import COLOR, has_colors
from ..terminal.output import Output
from ..terminal.plain import block

if TYPE_CHECKING:
    from agentflow import ModelSwitch, Runtime


@click.command("chat", short_help="Talk with an agent on a terminal.")
@click.argument("agent", required=False)
@click.option("-s", "--session", metavar="ID", help="Session to go on with, or to begin under this id.")
@click.option("--input", "inputs", metavar="KEY=VALUE", multiple=True, help="An input the agent declares; repeatable.")
@color_option
@engine_options
@click.pass_obj
def command(
    output: Output, agent: str | None, session: str | None, inputs: tuple[str, ...], project: Path, db: str | None
) -> int:
    """Talk with AGENT (a path or a name) in a session, which stays and can be gone on with.

    AGENT is left out where --session names a session that is there, or the project has one agent. /help lists what
    can be done beside talking.
    """
    if not sys.stdin or not sys.stdin.isatty() or output.terminal is None:
        raise click.UsageError("chat needs a terminal to read from and to write to; `agentflow run` takes any text")
    project = project if agent is None else project_of(agent, project)
    asked = _Asked(agent, session, inputs, project, db)
    from agentflow import ModelSwitch

    models = ModelSwitch()
    return with_runtime(project, db, lambda runtime: _chat(runtime, models, output, asked), models, serve_queues=True)


class _Asked:
    """What the command line said."""

    def __init__(
        self, agent: str | None, session: str | None, inputs: tuple[str, ...], project: Path, db: str | None
    ) -> None:
        self.agent, self.session, self.inputs = agent, session, inputs
        self.project, self.place = project, place(project, db)
        kept_in = (str(project.resolve()), db or "", os.environ.get("AGENTFLOW_DB", ""))
        self.key = sha256("\n".join(kept_in).encode()).hexdigest()[:16]


def _agents(project: Path) -> list[str]:
    """The names of the project's own agents."""
    return sorted(file.parent.name for file in project.glob("agents/*/agent.yaml"))


async def _chat(runtime: Runtime, models: ModelSwitch, output: Output, asked: _Asked) -> int:
    from . import history
    from .chat import Chat
    from .commands import COMMANDS
    from .conversation import Conversation
    from .screens.captured import Captured
    from .screens.screen import LineScreen, Screen
    from .screens.typed import completions
    from .teller import Teller

    agent = asked.agent or await _agent_of(runtime, asked)
    stream = output.terminal
    assert stream is not None
    colors = has_colors(COLOR.choice, os.environ, is_terminal=True)
    screen: Screen
    if os.environ.get("TERM", "dumb") == "dumb":
        screen = LineScreen(stream, sys.stdin.fileno())
    else:
        from .screens.keyboard import keyboard_screen

        recalled = await _recalled(runtime, history.history_file(), asked.key)
        names = [*COMMANDS, "decline"]
        screen = keyboard_screen(
            stream, colors=colors, recalled=recalled, completions=lambda text: completions(text, names, talk.names)
        )
    teller = Teller(screen, colors=colors)
    talk = Conversation(runtime, models, teller, agent, asked.session or str(uuid4()), asked.inputs, asked.key)
    async with Captured(lambda text: screen.write(f"{block(text)}\n")):
        return await Chat(talk, asked.place).run()


async def _agent_of(runtime: Runtime, asked: _Asked) -> str:
    """The agent of the session that is named, otherwise the only one of the project."""
    from agentflow import SessionNotFound

    if asked.session is not None:
        try:
            return str((await runtime.status(asked.session))["agent_id"])
        except SessionNotFound:
            pass
    agents = _agents(asked.project)
    if len(agents) == 1:
        return agents[0]
    known = ", ".join(agents) or "the project has none"
    raise click.UsageError(f"name the AGENT to talk with ({known}), or with --session a session that is there")


async def _recalled(runtime: Runtime, file: Path | None, key: str) -> list[str]:
    """What was typed here before, without what was typed in sessions that are gone (Z8)."""
    from agentflow import SessionNotFound

    from . import history

    entries = [each for each in history.read(file) if each.place == key]
    gone = set()
    for session in {each.session for each in entries}:
        try:
            await runtime.status(session)
        except SessionNotFound:
            gone.add(session)
    history.forget(file, gone, key)
    return [each.text for each in entries if each.session not in gone]
