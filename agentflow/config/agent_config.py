"""An agent.yaml as the rest of the program gets it: complete, checked, frozen."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn, Self

from pydantic import ConfigDict, PrivateAttr, ValidationError

from agentflow.config.document import yamlfile
from agentflow.config.document.codes import Code
from agentflow.config.document.credentials import unexpanded
from agentflow.config.document.document import Document
from agentflow.config.document.problems import Problem, did_you_mean, invalid
from agentflow.config.interfaces import moved, resolved
from agentflow.config.keys.agent import AgentKeys, InputSpec, Interface, Settings, ToolEntry
from agentflow.config.keys.base import Complaint, plain
from agentflow.config.keys.checking import checked, complained, place_of
from agentflow.config.keys.references import MAIN, REFERENCE
from agentflow.config.salvage import salvaged
from agentflow.errors import InvalidConfig, InvalidInput

__all__ = ["AgentConfig", "InputSpec", "Interface", "Settings", "ToolEntry", "load_agent"]

CHANGEABLE = ("prompt", "response_guidelines", "constraints", "settings", "model", "tools")
"""What a worker may change within a session (C33)."""
LIMITS = (
    "max_iterations", "max_tool_calls", "max_parallel_tools", "max_tool_calls_per_reply",
    "max_consecutive_tool_errors", "max_repeated_calls", "max_continuations", "max_subagent_depth",
    "turn_timeout_secs", "llm_timeout_secs", "llm_retries", "max_input_tokens", "max_output_tokens", "max_cost",
    "on_limit", "ask_user_expiry_secs",
)  # fmt: skip
"""The settings that a request may change for its turn (C8); the others are read when the agent is made ready."""
NO_INTERFACES: Mapping[str, Interface] = MappingProxyType({})


class AgentConfig(AgentKeys):
    """Every key of the file with its default; `interfaces` are resolved and always have `main`.

    It keeps the positions of its file, so that whoever finds something wrong later can say where.
    """

    model_config = ConfigDict(defer_build=True)  # never validated: it is made of keys that were

    _path: Path = PrivateAttr()
    _document: Document = PrivateAttr()

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def folder(self) -> Path:
        """Where relative paths in the file start."""
        return self._path.parent

    @cached_property
    def hash(self) -> str:
        """The sha256 of the effective configuration without its secrets (A7)."""
        text = json.dumps(self.public(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def public(self) -> dict[str, Any]:
        """The effective configuration as JSON, credentials as the file writes them or masked (A3, Z4)."""
        values = {name: plain(getattr(self, name)) for name in AgentKeys.model_fields}
        shown: dict[str, Any] = unexpanded(values)
        return shown

    def problem(self, path: tuple[str | int, ...], code: Code, message: str, *, line: int = 0) -> Problem:
        """A problem of the value at `path`, such as `("tools", 2)`; `line` counts the lines of a block text from 1."""
        return complained(self._document, path, Complaint(code, message, line=line))

    def names(self, path: tuple[str | int, ...]) -> bool:
        """Whether the file itself gives the value at `path`."""
        return path in self._document.places

    def invalid(self, path: tuple[str | int, ...], code: Code, message: str, *, line: int = 0) -> InvalidConfig:
        """The same as an error to raise."""
        return invalid([self.problem(path, code, message, line=line)])

    def position(self, *path: str | int) -> str:
        """`path:line:col` of the value at a path, as `position("tools", 2)`."""
        mark = place_of(self._document, path)
        return f"{self._document.file}:{mark.line + 1}:{mark.column + 1}"

    def with_limits(self, limits: Mapping[str, Any]) -> Self:
        """The configuration of one turn, with the limits its request set (C8). Raises `InvalidInput`."""
        for name in limits:
            if name not in LIMITS:
                raise InvalidInput(
                    f"limits.{name}: is not a limit of a turn{did_you_mean(name, LIMITS)}; they are "
                    f"{', '.join(LIMITS)}.",
                    detail={"field": f"limits.{name}"},
                )
        return self.with_settings(limits)

    def with_settings(self, changes: Mapping[str, Any]) -> Self:
        """The configuration with some settings changed for one turn. Raises `InvalidInput`."""
        try:
            settings = Settings.model_validate(plain(self.settings) | dict(changes))
        except ValidationError as error:
            said = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
            raise InvalidInput(f"These settings cannot be used: {said}.") from None
        values = {name: getattr(self, name) for name in AgentKeys.model_fields} | {"settings": settings}
        return self._made(values, self._path, self._document)

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """The configuration with `CHANGEABLE` keys changed, settings one by one. Raises `InvalidInput`.

        `model` names an interface, `tools` those of the file that are offered, each as a name or with other options.
        """
        if fixed := sorted(changes.keys() - set(CHANGEABLE)):
            _refuse(fixed[0], f"cannot be changed in a session; {', '.join(CHANGEABLE)} can.")
        given = {name: value for name, value in changes.items() if name not in ("settings", "model", "tools")}
        config = self.with_settings(changes["settings"]) if changes.get("settings") else self
        values = {name: getattr(config, name) for name in AgentKeys.model_fields}
        try:
            checked = AgentKeys.model_validate({"name": self.name, **given})
        except ValidationError as error:
            said = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
            raise InvalidInput(f"This configuration cannot be used: {said}.") from None
        values |= {name: getattr(checked, name) for name in given}
        if changes.get("model") is not None:
            values |= self._run_with(changes["model"])
        if changes.get("tools") is not None:
            values["tools"] = tools = tuple(self._offered(entry, index) for index, entry in enumerate(changes["tools"]))
            if len({tool.name for tool in tools}) < len(tools):
                _refuse("tools", "has a tool twice.")
        return self._made(values, self._path, self._document)

    def _run_with(self, interface: str) -> dict[str, Any]:
        name = interface.removeprefix("llm://")
        if name not in self.interfaces:
            _refuse("model", f"{name!r} is no interface of the agent; {', '.join(self.interfaces)} are.")
        interfaces = MappingProxyType({**self.interfaces, MAIN: self.interfaces[name]})
        return {"model": f"llm://{name}", "interfaces": interfaces}

    def _offered(self, entry: Any, index: int) -> ToolEntry:
        """A tool of the file as it is offered from now on."""
        field = f"tools[{index}]"
        options = {"name": entry} if isinstance(entry, str) else entry
        if not isinstance(options, Mapping):
            _refuse(field, "must be the name of a tool of the file, or an object with its name.")
        known = {tool.name: tool for tool in self.tools}
        tool = known.get(options.get("name") or options.get("flow", ""))
        if tool is None or options.get("flow", tool.flow) != tool.flow:
            _refuse(field, f"is no tool of the agent's file; {', '.join(known) or 'it has none'}.")
        try:
            return ToolEntry.model_validate({**plain(tool), **options})
        except ValidationError as error:
            said = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
            _refuse(field, f"cannot be offered like that: {said}.")

    @classmethod
    def _made(cls, values: Mapping[str, Any], path: Path, document: Document) -> Self:
        """A configuration of values that are checked already."""
        config = cls.model_construct(**values)
        config._path, config._document = path, document
        return config


def _refuse(field: str, what: str) -> NoReturn:
    raise InvalidInput(f"{field}: {what}", detail={"field": field})


def load_agent(
    path: Path,
    *,
    name: str | None = None,
    variables: Mapping[str, str],
    shared: Mapping[str, Interface] = NO_INTERFACES,
    shared_from: Path | None = None,
) -> AgentConfig:
    """Read one agent.yaml; messages call it `name`.

    `shared` are the interfaces of the project in folder `shared_from`; the agent's own win. Raises `InvalidConfig`
    with everything that is wrong.
    """
    config, problems = read_agent(path, name=name, variables=variables, shared=shared, shared_from=shared_from)
    if problems:
        raise invalid(problems)
    return config


def read_agent(
    path: Path,
    *,
    name: str | None = None,
    variables: Mapping[str, str],
    shared: Mapping[str, Interface] = NO_INTERFACES,
    shared_from: Path | None = None,
    text: bytes | str | None = None,
) -> tuple[AgentConfig, list[Problem]]:
    """The same, with all that is wrong as problems and a configuration of what could be read in spite of them; `text`
    stands in place of the file's.

    Raises `InvalidConfig` when nothing could.
    """
    document = yamlfile.read(path, name=name, variables=variables, text=text)
    around = {key: moved(each, shared_from or path.parent, path.parent) for key, each in shared.items()}
    _check_folder(document, path)
    keys, problems = checked(document, AgentKeys, {key: each.model for key, each in around.items()})
    if not isinstance(document.data, dict):
        raise invalid(problems)
    if keys is None:
        keys = AgentKeys.model_construct(**salvaged(AgentKeys, document.data, {"name": "agent"}))
    known = around | dict(keys.interfaces) | ({MAIN: Interface(model=keys.model)} if keys.model else {})
    if problems:  # a reference may lead nowhere
        known = {key: each for key, each in known.items() if not each.model.startswith(REFERENCE)}
    interfaces = MappingProxyType({key: resolved(known, key) for key in known})
    values = {field: getattr(keys, field) for field in AgentKeys.model_fields}
    return AgentConfig._made(values | {"interfaces": interfaces}, path, document), problems


def _check_folder(document: Document, path: Path) -> None:
    """An agent in a project's `agents/` is found by its folder, so its name must be the folder's."""
    folder = path.resolve().parent
    name = document.data.get("name") if isinstance(document.data, dict) else None
    if folder.parent.name == "agents" and isinstance(name, str) and name != folder.name:
        message = f"is {name!r}, but the folder is {folder.name!r}; both must be the same"
        document.problems.append(document.problem(("name",), Code.FOLDER_NAME, message))
