"""An agent's files with what is certain about their mistakes mended (A2, A4)."""

from __future__ import annotations

import codecs
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentflow.agents.validate import own_problems
from agentflow.config.document import yamlfile
from agentflow.config.document.codes import Code
from agentflow.config.document.problems import Problem
from agentflow.config.keys.checking import checked
from agentflow.config.keys.project import ProjectKeys
from agentflow.config.mending import Look, mended
from agentflow.config.places import PROJECT_FILE
from agentflow.config.project import find_home, open_project, shown
from agentflow.errors import InvalidConfig
from agentflow.tools.flows.library import FlowLibrary


def mend_agent(
    agent: str | Path, project: str | Path = ".", *, variables: Mapping[str, str] | None = None
) -> Sequence[Mapping[str, Any]]:
    """Mend the files of an agent, given by name or path, and of its project, where it is certain what was meant.

    What was mended comes back, as `Validation.as_data` has it, by its place at the time. Comments and all the rest
    of a file stay byte for byte; nothing is imported. `variables` stand for the environment. Raises `AgentNotFound`,
    and `OSError` for a file that cannot be written.
    """
    path, home = find_home(project, agent)
    environment = os.environ if variables is None else variables
    done = _mend(home / PROJECT_FILE, lambda text: _of_project(home / PROJECT_FILE, text, environment))
    try:
        opened = open_project(home, variables=variables)
    except InvalidConfig:  # what it shares with its agents is not known
        return [each.as_dict() for each in done]

    def look(text: str) -> Sequence[Problem]:
        config, problems = opened.read(path, environment, text)
        return [*problems, *own_problems(config, FlowLibrary.of_project(home), static=True)]

    return [each.as_dict() for each in [*done, *_mend(path, look)]]


def _of_project(file: Path, text: str, variables: Mapping[str, str]) -> Sequence[Problem]:
    return checked(yamlfile.parse(text, shown(file), variables=variables), ProjectKeys)[1]


def _mend(file: Path, look: Look) -> Sequence[Problem]:
    """Mend one file; nothing is done about one that is not there, or that is no YAML."""
    try:
        content = file.read_bytes() if file.is_file() else b""
        text = content.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError:
        return ()
    whole, gone = mended(text, lambda tried: _looked(file, tried, look))
    if gone:
        mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
        _replace(file.resolve(), mark + whole.encode("utf-8"))
    return gone


def _looked(file: Path, text: str, look: Look) -> Sequence[Problem]:
    """What is wrong with a text, one thing that nothing mends where it cannot be read at all."""
    try:
        return look(text)
    except InvalidConfig as error:
        return [Problem(shown(file), 1, 1, "", Code.YAML_SYNTAX, error.message)]


def _replace(file: Path, content: bytes) -> None:
    """Whole or not at all, with the rights that the file has."""
    rights = file.stat().st_mode
    descriptor, beside = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        os.chmod(beside, rights)
        os.replace(beside, file)
    except BaseException:
        os.unlink(beside)
        raise
