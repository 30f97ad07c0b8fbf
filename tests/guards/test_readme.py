"""What README and docs show is true: read from top to bottom they run, and their pictures are drawn from us."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from agentflow import Runtime, TurnResult, Usage, errors, with_runtime
from agentflow.conversation.inbox import KINDS, Input
from agentflow.models.script import ERROR_KINDS, FINISH_REASONS, ScriptedReply
from agentflow.tools.hook_calls import GIVEN
from agentflow.turn.calls.hooks import _ALLOWED
from agentflow.turn_table import diagram
from cli.authoring.templates.hello import FILES
from cli.main import COMMANDS, run
from tests.benchmarks.__main__ import PARTS
from tests.guards.source import FOLDERS, ROOT
from tests.guards.test_layers import LAYERS

README = (ROOT / "README.md").read_text("utf-8")
# The pages whose blocks go on where the README ends, in the order a reader would take them.
READ_ON = (
    "command-line", "conversations", "agents", "inputs-and-results", "scripted-model", "testing", "records",
    "evaluation", "operating", "changing",
)  # fmt: skip
PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in READ_ON}
BOOK = "\n".join([README, *PAGES.values()])
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", BOOK, re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)\)")
SET_UP = ("python3 -m venv", "./check")  # what CI runs from nothing
NEEDS_A_KEY = "export"
OF_THIS_CHECKOUT = ".venv/bin/"
FILE = re.compile(r"(?:---\n)?# (\S+\.(?:yaml|py|md))\n")
EXITS = re.compile(r"#.* exits with (\d)")


def _blocks(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


class Reader:
    """A person who does what the page says, in its order, in a folder of their own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.ran: list[str] = []
        self.written: list[str] = []
        self.printed = ""

    def does(self, language: str, text: str) -> None:
        named = FILE.match(text)
        if named is not None:
            self._write(named[1], text)
        elif language == "sh":
            for line in text.splitlines():
                self._command(line)
        elif language == "python":
            self.printed += _python("-c", text)
        elif language == "yaml":
            self._tries(text)

    def _write(self, name: str, text: str) -> None:
        """A file that `init` wrote is shown as it is, but for its name."""
        if name in FILES:
            assert text == f"# {name}\n{FILES[name]}"
            return
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        self.written.append(name)

    def _command(self, line: str) -> None:
        words = [_message_id("first") if word == "MESSAGE" else word for word in shlex.split(line, comments=True)]
        if words[0] == "cd":
            self._monkeypatch.chdir(words[1])
        elif words[0] == "pytest":
            assert " passed" in _python("-W", "error", "-m", "pytest", "-p", "agentflow.testing.plugin", *words[1:])
            self.ran.append("pytest")
        else:
            exits = EXITS.search(line)
            assert (words[0], run(words[1:])) == ("agentflow", int(exits[1]) if exits else 0), line
            self.ran.append(" ".join(words[1:3] if words[1] == "sessions" else words[1:2]))

    def _tries(self, keys: str) -> None:
        """Keys for an agent.yaml, put into the guide's one after the other."""
        file = Path("agents/guide/agent.yaml")
        whole = file.read_text("utf-8")
        file.write_text(whole + keys, "utf-8")
        session = f"with {keys.split(':')[0]}"
        assert run(["validate", "guide"]) == 0, keys
        assert run(["run", "guide", "-s", session, "How long is this text?"]) == 0, keys
        assert run(["trace", session]) == 0
        self.ran.append(session)
        file.write_text(whole, "utf-8")


def _python(*arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _message_id(session: str) -> str:
    """The first answer of a session."""
    nodes = with_runtime(lambda runtime: runtime.tree(session))["nodes"]
    answers = [node["message"] for node in nodes if node["message"]["role"] == "assistant"]
    return next(answer["id"] for answer in answers if "tool_calls" not in answer)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Somebody who has read the page to its end, in the folder where that left them."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(tmp_path_factory.mktemp("reader"))
        monkeypatch.setattr("sys.stdin", None)
        for name in ("AGENTFLOW_DB", "AGENTFLOW_MODEL"):
            monkeypatch.delenv(name, raising=False)
        reader = Reader(monkeypatch)
        for language, text in BLOCKS:
            if not text.startswith((*SET_UP, NEEDS_A_KEY, OF_THIS_CHECKOUT)):
                reader.does(language, text)
        yield reader


def test_everything_shown_works_in_the_order_shown(reader: Reader) -> None:
    untold = {"submit", "serve", "chat", "dev"}  # what only programs need, what does not end, or needs a terminal
    told = {words.split()[0] for words in reader.ran}
    assert set(COMMANDS) - told - untold == set()
    assert {"sessions ls", "sessions show", "sessions tree", "sessions checkout", "pytest"} <= set(reader.ran)
    assert {"workflows/accounts.py", "tests/test_time.py", "tests/test_refund.py"} <= set(reader.written)
    assert "has 5 words" in reader.printed
    assert "branched: That text has 5 words." in reader.printed
    assert "once: That text has 5 words.\nagain: True" in reader.printed


def test_what_the_keys_shown_do_can_be_seen(reader: Reader) -> None:
    async def read(runtime: Runtime) -> tuple[list[dict[str, Any]], str]:
        sessions = [await runtime.session(session) for session in ("with worker", "desk-1")]
        return sessions, json.dumps(await runtime.trace("with hooks", None))

    (worked, handed), hooked = with_runtime(read)
    assert worked["state"] == {"messages": 1}
    assert handed["messages"][-1]["content"] == "Invoice 1001 is paid on 3 May."
    assert "load_account" in hooked
    assert "short_texts_only" in hooked


def test_the_files_shown_are_the_ones_init_writes() -> None:
    shown = [found[1] for _, text in BLOCKS if (found := FILE.match(text)) and found[1] in FILES]
    assert shown == ["agents/guide/agent.yaml", "workflows/texts.py"]
    assert {name for name in FILES if f"`{name}`" in BOOK} == {"tests/test_guide.py"}


@pytest.mark.parametrize("command", [block.strip() for block in _blocks("sh") if block.startswith(SET_UP)])
def test_ci_runs_the_set_up_commands_as_they_are_shown(command: str) -> None:
    assert command in (ROOT / ".ci" / "run").read_text("utf-8")


def test_the_commands_of_this_checkout_name_what_is_there() -> None:
    commands = re.findall(rf"{re.escape(OF_THIS_CHECKOUT)}python -m (\S+)([^`\n]*)", BOOK)
    modules = {
        "tests.benchmarks", "agentflow.config.keys.schema", "agentflow.scenarios.schema",
        "agentflow.agents.complaints.page", "pytest",
    }  # fmt: skip
    assert {module for module, _ in commands} == modules
    assert all(find_spec(module) for module, _ in commands)
    parts = next(rest for module, rest in commands if module == "tests.benchmarks").split(" --")[0].split()
    assert parts == list(PARTS)


def test_every_path_that_is_named_is_there() -> None:
    named = re.findall(r"`((?:[\w.]+/)+[\w.]*)`", BOOK)
    named += [word for command in re.findall(r"`\.venv/bin/python ([^`]*)`", BOOK) for word in command.split()]
    paths = {name for name in named if "/" in name and not name.startswith((".venv", "agents/", "agentflow.result/"))}
    paths -= FILES.keys()
    assert {"tests/guards/test_layers.py", "agentflow/turn_table.py"} <= paths
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/**/*.md")))
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    folder = (ROOT / page).parent
    links = [link for link in LINK.findall((ROOT / page).read_text("utf-8")) if "://" not in link]
    assert [link for link in links if not (folder / link).exists()] == []


def test_the_readme_leads_to_every_page() -> None:
    linked = {link for link in LINK.findall(README) if "://" not in link}
    assert [link for link in linked if not (ROOT / link).exists()] == []
    pages = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/*.md")}
    assert pages - linked == set()


def test_the_tables_of_shapes_are_the_code_s() -> None:
    page = PAGES["inputs-and-results"]
    common = {part.name for part in fields(Input)}
    for name, kind in KINDS.items():
        own = ", ".join(f"`{part.name}`" for part in fields(kind) if part.name not in common)
        assert f"| `{name}` | {own} |" in page
    result = TurnResult("", "", 1, "done", None, Usage()).as_dict()
    assert re.findall(r"^\| `(\w+)` \|", page.partition("## Results")[2].partition("## Errors")[0], re.M) == list(
        result
    )
    classes = {each.code: name for name, each in vars(errors).items() if name[0].isupper() and hasattr(each, "code")}
    del classes["agentflow_error"]
    assert dict(re.findall(r"^\| `(\w+)` \| `(\w+)` \|$", page, re.MULTILINE)) == classes


def test_the_script_format_shown_is_the_one_that_is_read() -> None:
    page = PAGES["scripted-model"]
    assert ", ".join(ERROR_KINDS) in page
    assert ", ".join(FINISH_REASONS) in page
    told = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (.*?) \|", page, re.MULTILINE))))
    assert {part.name for part in fields(ScriptedReply)} - {"template"} == told


def test_the_state_diagram_is_the_machine_s() -> None:
    assert _blocks("mermaid") == [diagram()]
    assert diagram() in README


def test_the_points_of_hooks_are_the_ones_there_are() -> None:
    rows = [f"| {point} | {', '.join(told)} | {', '.join(_ALLOWED[point])} |" for point, told in GIVEN.items()]
    assert "\n".join(rows) in BOOK


def test_the_layers_shown_are_the_ones_that_are_held() -> None:
    arrows = next(block for block in _blocks("") if block.startswith("secrets"))
    assert " ".join(arrows.split()) == " → ".join(", ".join(rooms) for rooms in LAYERS)


def test_the_house_shows_every_room() -> None:
    house = next(block for block in _blocks("") if block.startswith("agentflow/"))
    inside = {path.name for path in (ROOT / "agentflow").iterdir()} - {"py.typed"}
    rooms = {name for name in inside if not name.startswith("_")} | set(FOLDERS) | {"agent_yaml", "tests"}
    assert {room for room in rooms if not re.search(rf"\b{re.escape(room)}\b", house)} == set()
    shown = set(re.findall(r"([\w]+\.py)\b", house))
    assert shown <= rooms


def test_the_page_can_be_read_in_one_go() -> None:
    assert README.count("\n") < 250
