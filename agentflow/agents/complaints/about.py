"""What is told of a kind of complaint, and the files that give it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

AGENT = "agents/example/agent.yaml"
SCRIPT = "agents/example/replies.yaml"
START = "name: example\nmodel: scripted/replies.yaml\n"
"""The agent that an example's keys are added to."""
BASE: Mapping[str, str] = MappingProxyType({AGENT: START, SCRIPT: "replies: [{text: Hello.}]\n"})

NO_FILES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class About:
    """One kind: what it means, how to mend it, and an example.

    `keys` are added to `START`; `files` are beside them or stand in the place of those of `BASE`, by their path in the
    project, a byte that is no text as a lone surrogate. An example that no files can make has neither.
    """

    means: str
    mend: str
    keys: str = ""
    files: Mapping[str, str] = field(default_factory=lambda: NO_FILES)

    @property
    def shown(self) -> dict[str, str]:
        """The files of the example that are worth looking at."""
        return ({AGENT: START + self.keys} if self.keys else {}) | dict(self.files)

    @property
    def project(self) -> dict[str, str]:
        """All files of the example, empty where there is none."""
        return dict(BASE) | self.shown if self.shown else {}
