"""A chat inside this process, typed by a test; and one on a terminal of its own, 80 columns by 24 lines."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from agentflow import ModelSwitch, Runtime
from cli.chat.chat import Chat
from cli.chat.conversation import Conversation
from cli.chat.screens.typed import Key, Line, Typed
from cli.chat.teller import Teller

SECS = 30  # until a test gives up
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

TALK = """replies:
- {when: {tool: ask_user}, text: "You said {{ last_tool }}.", repeat: true}
- {when: {tool: calculate}, text: "It is **{{ last_tool }}**.", repeat: true}
- when: {last_user: "^count"}
  tool_calls: [{name: calculate, arguments: {expression: "6 * 7"}}]
  repeat: true
- {when: {last_user: "^slow"}, text: one two three four five six eight, chunk_size: 4, delay_secs: 0.1, repeat: true}
- when: {last_user: "^ask"}
  tool_calls:
  - name: ask_user
    arguments:
      questions:
      - {header: Plan, question: "Which plan?", options: [{label: Pro, description: for teams}, {label: Free}]}
      - {header: Extras, question: "Which?", multi_select: true, options: [{label: Disk}, {label: Mail}]}
  repeat: true
at_end: echo
"""
ROOM = "tools: [calculate]\ncontext: {window: 8000, strategy: [{use: summarize, over_tokens: 4000}]}\n"
TOOLS = """tools:
- {name: show, handler: client, description: Show a chart., parameters: {type: object, properties: {n: {}}}}
- {name: pick, handler: client, description: Pick a file.}
"""
DOING = """replies:
- {when: {has_tool_result: true}, text: "It is {{ last_tool }}.", repeat: true}
- {tool_calls: [{name: show, arguments: {n: "a\\u200bb"}}, {name: pick}], repeat: true}
"""
AGENTS = {
    "talk": (ROOM, TALK),
    "doing": (TOOLS, DOING),
    "silent": ("settings: {observability: false}\n", "replies: []\nat_end: echo\n"),
}


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the history is kept."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "agentflow" / "chat.jsonl"


@pytest.fixture
def talking(project: Path, state: Path) -> Path:
    """The project, with an agent that counts, asks, takes its time, and otherwise says what was said."""
    for name, (keys, script) in AGENTS.items():
        folder = project / "agents" / name
        folder.mkdir()
        (folder / "agent.yaml").write_text(f"version: 1\nname: {name}\nmodel: scripted/replies.yaml\n{keys}")
        (folder / "replies.yaml").write_text(script)
    return project


class Typist:
    """A screen whose keys are pressed by a test."""

    moves = True
    columns = 80

    def __init__(self) -> None:
        self.live: Callable[[], Sequence[str]] = lambda: ()
        self.label = ""
        self.drafted = ""
        self.shown = ""
        self.runtime: Runtime
        self._keys: asyncio.Queue[Typed | Key | None] = asyncio.Queue()
        self._changed = asyncio.Event()
        self._seen = 0

    def taken(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def read(self, line: Line) -> Typed | Key | None:
        self.label = line.label
        self._changed.set()
        return await self._keys.get()

    def withdraw(self) -> None:
        self._keys.put_nowait(None)

    def press(self, key: Key) -> None:
        self._keys.put_nowait(key)

    def draft(self, text: str) -> None:
        self.drafted = text

    def write(self, text: str) -> None:
        self.shown += text
        self._changed.set()

    def refresh(self) -> None:
        self._changed.set()

    async def types(self, text: str, until: str, *, pasted: bool = False) -> str:
        """Type a text; what is shown from there on up to another, or a label that stands there."""
        self.types_now(text, pasted=pasted)
        return await self.until(until)

    def types_now(self, text: str, *, pasted: bool = False) -> None:
        self._seen, self.label = len(self.shown), ""
        self._keys.put_nowait(Typed(text, pasted))

    async def until(self, text: str) -> str:
        async with asyncio.timeout(SECS):
            while text not in self.shown[self._seen :] and text != self.label:
                self._changed.clear()
                await self._changed.wait()
        return self.shown[self._seen :]


Script = Callable[[Typist], Awaitable[None]]
InProcess = Callable[..., Typist]


@pytest.fixture
def chat(talking: Path) -> InProcess:
    """Runs a chat whose keys a coroutine presses; the exit code is in `typist.code`, what was shown in `shown`."""

    def run(script: Script, session: str = "s-1", agent: str = "talk") -> Typist:
        return asyncio.run(_run(talking, script, session, agent))

    return run


async def _run(project: Path, script: Script, session: str, agent: str) -> Typist:
    models, typist = ModelSwitch(), Typist()
    async with Runtime.open(project, open_model=models) as runtime:
        typist.runtime = runtime
        talk = Conversation(runtime, models, Teller(typist, colors=False), agent, session, (), "here")
        chatting = asyncio.create_task(Chat(talk, ()).run())
        await typist.until("/help lists the commands")
        try:
            await script(typist)
            typist.press(Key.LEAVE)
            await asyncio.wait_for(chatting, SECS)
        finally:
            chatting.cancel()
    return typist


class Terminal:
    """A command on a terminal that is its standard input, output and error."""

    def __init__(self, spawn: Callable[..., subprocess.Popen[str]], *args: str, **variables: str) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {"TERM": "xterm", "NO_COLOR": "1", **variables}
        self.process = spawn(*args, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        self.raw = ""
        self._seen = 0

    def until(self, *texts: str) -> str:
        """What is shown from the last typing on, without codes, once all of the texts are there in order."""
        while not self._has(texts):
            assert select.select([self._ours], [], [], SECS)[0], f"{texts} are not all in {self.shown[-2000:]!r}"
            self.raw += os.read(self._ours, 65536).decode("utf-8", "replace")
        return self.shown

    def _has(self, texts: Sequence[str]) -> bool:
        at = 0
        for text in texts:
            at = self.shown.find(text, at)
            if at < 0:
                return False
            at += len(text)
        return True

    @property
    def shown(self) -> str:
        return _CODES.sub("", self.raw[self._seen :]).replace("\r", "")

    def types(self, text: str) -> None:
        self._seen = len(self.raw)
        os.write(self._ours, text.encode())

    def end(self) -> int:
        """The exit code, with what was shown to the end."""
        try:
            while select.select([self._ours], [], [], SECS)[0] and (piece := os.read(self._ours, 65536)):
                self.raw += piece.decode("utf-8", "replace")
        except OSError:  # how Linux says that the other side is closed
            pass
        return self.process.wait(SECS)

    def is_cooked(self) -> bool:
        """Whether lines are edited and echoed by the terminal again."""
        flags = termios.tcgetattr(self._ours)[3]
        return bool(flags & termios.ICANON) and bool(flags & termios.ECHO)

    def hang_up(self) -> None:
        os.close(self._ours)
        self._ours = -1

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        if self._ours >= 0:
            os.close(self._ours)


@pytest.fixture
def terminal(talking: Path, spawn: Callable[..., subprocess.Popen[str]]) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def start(*args: str, **variables: str) -> Terminal:
        opened.append(Terminal(spawn, *args, **variables))
        return opened[-1]

    yield start
    for each in opened:
        each.close()
