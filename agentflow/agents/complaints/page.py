"""The page of every complaint, with what an example of each is told (A2).

`python -m agentflow.agents.complaints.page docs/complaints.md` writes it; a test compares the one we have.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from agentflow.agents.complaints.about import AGENT, About
from agentflow.agents.complaints.of_files import OF_FILES
from agentflow.agents.complaints.of_parts import OF_PARTS
from agentflow.agents.validate import validate_agent
from agentflow.config.document.codes import Code
from agentflow.config.places import shared_folder

COMPLAINTS: Mapping[Code, About] = MappingProxyType({**OF_FILES, **OF_PARTS})

_INTRODUCTION = """# Complaints

What `agentflow validate` says about an agent. The code stands at the end of each complaint, and in `--format json`,
`github` and `sarif`. An error keeps an agent from running, a warning does not; `--fix` mends what is certain.

The page is made from the program's own table, `.venv/bin/python -m agentflow.agents.complaints.page FILE` writes it,
and a test holds that every example gives its complaint."""


def complaints() -> dict[str, str]:
    """What every complaint means, by its code."""
    return {code.value: about.means for code, about in COMPLAINTS.items()}


def found_in(about: About) -> tuple[list[tuple[str, str]], set[str]]:
    """What is found in the files of an example, each as `(error or warning, what people read)`, and the codes of it.

    Paths are those in the project's folder.
    """
    with tempfile.TemporaryDirectory() as given, contextlib.chdir(given):
        places = {
            f"{Path(given).resolve()}/": "",
            str(Path(given).resolve()): ".",
            str(shared_folder("workflows")): "(ours)",
        }
        for name, text in about.project.items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
        found = validate_agent(Path(AGENT).parent, variables={})
    told = [("error", each) for each in found.errors] + [("warning", each) for each in found.warnings]
    codes = {each["code"] for level in found.as_data.values() for each in level}
    return [(level, _elsewhere(said, places)) for level, said in told], codes


def _elsewhere(said: str, places: Mapping[str, str]) -> str:
    """The same on every machine: without where the project and what we ship lie on this one."""
    for place, name in places.items():
        said = said.replace(place, name)
    return said


def page_text() -> str:
    """The whole page."""
    rows = [f"| [{code}](#{code}) | {about.means} |" for code, about in COMPLAINTS.items()]
    table = "\n".join(["| code | meaning |", "|---|---|", *rows])
    return "\n\n".join([_INTRODUCTION, table, *(_section(*each) for each in COMPLAINTS.items())]) + "\n"


def _section(code: Code, about: About) -> str:
    parts = [f"## {code}", f"{about.means} {about.mend}"]
    parts += [_block(_language(name), f"# {name}\n{text}") for name, text in about.shown.items()]
    if about.shown:
        parts += [_block("", f"{level}: {said}") for level, said in found_in(about)[0]]
    return "\n\n".join(parts)


def _language(name: str) -> str:
    return {".py": "python", ".md": "markdown"}.get(Path(name).suffix, "yaml")


def _block(language: str, text: str) -> str:
    shown = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace").rstrip("\n")
    return f"```{language}\n{shown}\n```"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page_text(), encoding="utf-8")
