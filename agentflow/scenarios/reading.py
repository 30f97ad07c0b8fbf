"""A `*.test.yaml` read whole: typed, or every mistake with its line, column and caret (A2)."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

from agentflow.config.document import yamlfile
from agentflow.config.document.codes import Code
from agentflow.config.document.document import Document
from agentflow.config.document.problems import Path
from agentflow.config.keys.checking import validate
from agentflow.config.places import AGENTS, PROJECT_FILE
from agentflow.models.script import check_replies
from agentflow.scenarios.checked import Seen, differences
from agentflow.scenarios.expected import ExpectKeys
from agentflow.scenarios.keys import Scenario

SUFFIX = ".test.yaml"


@dataclass(frozen=True, slots=True)
class ScenarioFile:
    """A test as its file says it, and the folder of the project that it is about."""

    path: pathlib.Path
    project: pathlib.Path
    scenario: Scenario
    document: Document

    def at(self, path: Path, message: str) -> str:
        """A sentence about what stands at `path`, with its line, column and caret as complaints have them."""
        return str(self.document.problem(path, Code.WRONG_FORM, message))

    def failures(self, index: int, seen: Seen) -> list[str]:
        """What the step of this index (from 0) has not come to, each with its place in the file.

        A turn that failed fails its step unless that is expected.
        """
        at = ("steps", index)
        expected = self.scenario.steps[index].expect or ExpectKeys()
        found = [self.at((*at, "expect", *path), said) for path, said in differences(expected, seen)]
        if seen.error is not None and expected.error is None:
            found.insert(0, self.at(at, f"raised {seen.error}: {seen.sentence}"))
        elif seen.result is not None and seen.result.error and expected.state is None and expected.error is None:
            error = seen.result.error
            found.insert(0, self.at(at, f"the turn {seen.result.state}: {error['code']}: {error['message']}"))
        return found


def read_scenario(path: str | pathlib.Path, *, text: str | None = None) -> ScenarioFile:
    """The test in a file, or in a text that is to become it. Raises `InvalidConfig` with every problem.

    Its project is the nearest folder above that has agents/ or an agentflow.yaml.
    """
    file = pathlib.Path(path)
    document = yamlfile.read(file) if text is None else yamlfile.parse(text, str(file))
    data = document.data if isinstance(document.data, dict) else {}
    check_replies(document, ("replies",))
    named = data.get("replies_of")
    for name in named if isinstance(named, dict) else ():
        check_replies(document, ("replies_of", name))
    steps = data.get("steps")
    for index, _ in enumerate(steps if isinstance(steps, list) else ()):
        check_replies(document, ("steps", index, "replies"))
    return ScenarioFile(file, _project_above(file), validate(document, Scenario), document)


def _project_above(file: pathlib.Path) -> pathlib.Path:
    folder = file.resolve().parent
    for above in (folder, *folder.parents):
        if (above / AGENTS).is_dir() or (above / PROJECT_FILE).is_file():
            return above
    return folder
