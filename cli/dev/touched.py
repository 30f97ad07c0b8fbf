"""Whom a change concerns: the agents to check and the tests to run. Pure: told by what the files say of each other.

An agent is touched by a file in its folder, and by one whose words it names: functions of a flow file, the name of a
skill, an agent below it. Naming by chance touches too; that costs a test more, and none is missed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

_FUNCTION = re.compile(
    r"^[ \t]*(?:async[ \t]+)?def[ \t]+([A-Za-z]\w*)|\bname[ \t]*=[ \t]*[\"']([\w-]+)[\"']", re.MULTILINE
)
_WORD = re.compile(r"[\w-]+")
_AGENT_FILE = "agent.yaml"


def agents_of(texts: Iterable[Path], root: Path) -> dict[str, Path]:
    """The agents of a project by name, each with its file."""
    found = [path for path in texts if path.name == _AGENT_FILE and path.parent.parent == root / "agents"]
    return {path.parent.name: path for path in sorted(found)}


def touched_agents(changed: Collection[Path], texts: Mapping[Path, str], root: Path) -> list[str]:
    """Names of the agents to check; all of them after a change of agentflow.yaml."""
    agents = agents_of(texts, root)
    if root / "agentflow.yaml" in changed:
        return list(agents)
    words = {word for path in changed if not is_test(path) for word in _words(path, texts, agents)}
    touched = set[str]()
    while True:
        more = {
            name
            for name, file in agents.items()
            if any(path.is_relative_to(file.parent) for path in changed) or _says(texts[file], words | touched)
        }
        if more <= touched:
            return [name for name in agents if name in touched]
        touched |= more


def touched_tests(
    changed: Collection[Path], touched: Sequence[str], texts: Mapping[Path, str], root: Path
) -> list[Path]:
    """The tests to run: those that changed, that name a touched agent or a changed flow, and those a helper serves."""
    agents = agents_of(texts, root)
    words = {*touched, *(word for path in changed if not is_test(path) for word in _words(path, texts, agents))}
    shared = [path.parent for path in changed if path.name == "conftest.py"]
    return sorted(
        path
        for path, text in texts.items()
        if is_test(path)
        and (path in changed or _says(text, words) or any(path.is_relative_to(folder) for folder in shared))
    )


def is_test(path: Path) -> bool:
    """Whether pytest collects it."""
    return path.name.endswith((".test.yaml", "_test.py")) or (path.name.startswith("test_") and path.suffix == ".py")


def _words(path: Path, texts: Mapping[Path, str], agents: Mapping[str, Path]) -> set[str]:
    """What other files may call a file, or what is in it."""
    own = [name for name, file in agents.items() if path.is_relative_to(file.parent)]
    if own:
        return set(own)
    functions = {one or other for one, other in _FUNCTION.findall(texts.get(path, ""))} if path.suffix == ".py" else ()
    return {path.stem, *functions} - {"conftest"}


def _says(text: str, names: Collection[str]) -> bool:
    """Whether one of the names stands in the text, by its words."""
    said = set(_WORD.findall(text))
    return any(words and words <= said for words in map(set, map(_WORD.findall, names)))
