"""What the schema of an agent.yaml cannot check: that everything it names is there and makes sense together (A4)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentflow.agents.advisories import advisories, unknown_providers
from agentflow.agents.parts import find_parts
from agentflow.agents.sub_agent_checks import sub_agent_problems, sub_agent_warnings
from agentflow.config.agent_config import AgentConfig, Interface
from agentflow.config.document.problems import Problem, invalid
from agentflow.config.keys.references import SCRIPTED
from agentflow.config.project import find_home, home_of, open_project
from agentflow.errors import InvalidConfig
from agentflow.models.protocol import Model
from agentflow.models.scripted_model import ScriptedModel
from agentflow.tools.flows.library import FlowLibrary


@dataclass(frozen=True, slots=True)
class Validation:
    """Errors keep an agent from running, warnings do not; each reads `path:line:col: key: sentence`.

    `as_data` has the same for programs: `{"errors", "warnings"}`, lists of `{"file", "line", "column", "key", "code",
    "message", "fixable"}`; `complaints` tells the codes, `mend_agent` mends what is fixable.
    """

    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    as_data: Mapping[str, Sequence[Mapping[str, Any]]]


def validate_agent(
    agent: str | Path,
    project: str | Path = ".",
    *,
    variables: Mapping[str, str] | None = None,
    static: bool = False,
    text: bytes | str | None = None,
) -> Validation:
    """Check one agent, given by name or path, without running anything of it but the import of its flow files.

    All that is wrong is told at once, in the order of the file. `variables` stand for the environment. With `static`
    nothing is imported either, and what only an import tells is not checked: parameters of flows, a worker's module
    (Z1). A `text` stands in place of the file's, which need not be there; `agent` is its path then. Raises
    `AgentNotFound`.
    """
    path, home = find_home(project, agent) if text is None else home_of(project, Path(agent).resolve())
    environment = os.environ if variables is None else variables
    try:
        opened = open_project(home, variables=variables)
        config, problems = opened.read(path, environment, text)
    except InvalidConfig as error:
        return _validation(error, None)
    library = FlowLibrary.of_project(home)
    told = {problem.key for problem in problems}
    found = own_problems(config, library, static=static)
    found += sub_agent_problems(
        config, opened, environment, lambda child: list(map(str, own_problems(child, library, static=static)))
    )
    warnings = [*advisories(config, environment), *sub_agent_warnings(config, opened, environment)]
    return _validation(
        _together([*problems, *(each for each in found if each.key not in told)]),
        _together([each for each in warnings if each.key not in told]),
    )


def own_problems(config: AgentConfig, library: FlowLibrary, *, static: bool) -> list[Problem]:
    """What an agent names and is not there, its sub-agents apart."""

    def script(interface: Interface) -> Model | None:
        """A model string of a provider is only tried when it is called; a script is read."""
        scripted = interface.model.startswith(SCRIPTED)
        return ScriptedModel.from_file(interface.model, config.folder) if scripted else None

    return [*find_parts(config, library, script, flows={}, imports=not static).problems, *unknown_providers(config)]


def _validation(errors: InvalidConfig | None, warnings: InvalidConfig | None) -> Validation:
    data = {"errors": _problems(errors), "warnings": _problems(warnings)}
    return Validation(tuple(_entries(errors)), tuple(_entries(warnings)), data)


def _together(problems: Sequence[Problem]) -> InvalidConfig | None:
    """Each problem once, in the order of the file."""
    return invalid(problems) if problems else None


def _problems(error: InvalidConfig | None) -> list[dict[str, Any]]:
    return [] if error is None else error.detail.get("problems", [{"message": error.message}])


def _entries(error: InvalidConfig | None) -> list[str]:
    """The complaints of one error apart: each begins with its place, the source line and caret follow it."""
    if error is None:
        return []
    places = [f"{each['file']}:{each['line']}:{each['column']}: " for each in error.detail.get("problems", ())]
    entries: list[str] = []
    for line in error.message.splitlines():
        if places and line.startswith(places[0]):
            places.pop(0)
            entries.append(line)
        elif entries:
            entries[-1] += f"\n{line}"
        else:
            entries.append(line)
    return entries
