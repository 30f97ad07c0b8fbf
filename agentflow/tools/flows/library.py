"""Flows: plain functions of `workflows/*.py`, found by name and handed out with all a tool or a hook needs (A6)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, overload

from agentflow.errors import InvalidConfig
from agentflow.tools.flows.docstrings import description as described
from agentflow.tools.flows.files import Definition, FlowFolder
from agentflow.tools.flows.portable_schema import JsonSchema
from agentflow.tools.flows.reserved import BUILTIN_NAMES
from agentflow.tools.flows.signature import Signature, context_parameter, describe

F = TypeVar("F", bound=Callable[..., Any])

_MARK = "__agentflow_flow__"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}$")


@dataclass(frozen=True, slots=True)
class _Mark:
    name: str | None
    description: str | None
    hook_points: tuple[str, ...]


@overload
def flow(function: F, /) -> F: ...
@overload
def flow(
    *, name: str | None = None, description: str | None = None, hook_points: Sequence[str] = ()
) -> Callable[[F], F]: ...
def flow(
    function: F | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    hook_points: Sequence[str] = (),
) -> Any:
    """Give a function of a flow file another name or description than its own; it stays a plain function (A6).

    `name` must be written as a literal: flows are found in the text of their file, without running it. With
    `hook_points` it is a hook at these alone, and no tool.
    """

    def mark(marked: F) -> F:
        setattr(marked, _MARK, _Mark(name, description, tuple(hook_points)))
        return marked

    return mark if function is None else mark(function)


@dataclass(frozen=True)
class Flow:
    """A found function. What a model would see of it is worked out on first use, a hook never needs it."""

    name: str
    function: Callable[..., Any]
    path: Path
    line: int

    @property
    def where(self) -> str:
        """`path:line` of the function."""
        return f"{self.path}:{self.line}"

    @cached_property
    def is_async(self) -> bool:
        """Whether calling it gives an awaitable; a wrapper counts as what it wraps."""
        return any(map(inspect.iscoroutinefunction, (self.function, inspect.unwrap(self.function))))

    @cached_property
    def description(self) -> str:
        """The decorator's description, or the docstring up to its parameters."""
        mark: _Mark | None = getattr(self.function, _MARK, None)
        return (mark and mark.description) or described(self.function.__doc__)

    @property
    def hook_points(self) -> tuple[str, ...]:
        """Where alone it may stand, as a hook; empty: anywhere, also among the tools."""
        mark: _Mark | None = getattr(self.function, _MARK, None)
        return () if mark is None else mark.hook_points

    @cached_property
    def context(self) -> str | None:
        """The name of the parameter that takes the `FlowContext`."""
        return context_parameter(self.function, self._title)

    @cached_property
    def signature(self) -> Signature:
        """The parameters as a model sees them; raises `InvalidConfig` for one that cannot be described."""
        return describe(self.function, self._title)

    @property
    def parameters(self) -> JsonSchema:
        """The JSON Schema of the arguments; raises `InvalidConfig` as `signature` does."""
        return self.signature.parameters

    @property
    def _title(self) -> str:
        return f"{self.where}: flow '{self.name}'"


def make_flow(function: Callable[..., Any], name: str | None = None) -> Flow:
    """The flow a function is; raises `InvalidConfig` for what is no plain function or has a name that is taken."""
    plain = inspect.unwrap(function) if callable(function) else function
    if not inspect.isfunction(plain):
        raise InvalidConfig(f"'{name or function!r}' is not a flow: a flow is a plain function, this is {plain!r}")
    mark: _Mark | None = getattr(function, _MARK, None)
    made = Flow(
        name or (mark and mark.name) or plain.__name__,
        function,
        Path(plain.__code__.co_filename),
        plain.__code__.co_firstlineno,
    )
    if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
        raise InvalidConfig(f"{made.where}: flow '{made.name}' yields; a flow returns its result")
    check_name(made.name, made.where)
    return made


def check_name(name: str, where: str) -> None:
    """Raise `InvalidConfig` for a tool name that is reserved (A4) or that providers refuse."""
    if name in BUILTIN_NAMES:
        raise InvalidConfig(f"{where}: '{name}' is the name of a built-in tool; give the flow another name")
    if not _NAME.match(name):
        raise InvalidConfig(f"{where}: '{name}' cannot be a tool's name: letters, digits, _ and -, at most 64")


def shipped_folder() -> Path:
    """The flows that come with agentflow: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[2]
    installed = package / "_shared" / "workflows"
    return installed if installed.is_dir() else package.parent / "workflows"


class FlowLibrary:
    """Finds flows in folders, the first folder that has the name wins; imports only the file it needs.

    A changed file is noticed at the next `get`. Contract: every error is an `InvalidConfig` that says where.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        self._folders = [FlowFolder(folder.resolve()) for folder in folders]
        self._by_path: dict[Path, FlowFolder] = {folder.folder: folder for folder in self._folders}
        self._found: dict[tuple[str, str], Flow] = {}

    @classmethod
    def of_project(cls, project: Path | None) -> FlowLibrary:
        """A project's `workflows/` first, then the flows we ship."""
        return cls([*([project / "workflows"] if project else []), shipped_folder()])

    def get(self, reference: str, *, base: Path | None = None) -> Flow:
        """The flow that `name`, `file:function` or `path.py:function` names; a relative path starts at `base`."""
        return self._load(*self._place(reference, base))

    def locate(self, reference: str, *, base: Path | None = None) -> None:
        """Find the file of that flow without importing anything; what it defines is only read for a plain name."""
        self._place(reference, base)

    def _place(self, reference: str, base: Path | None) -> tuple[FlowFolder, str, str]:
        """The folder, file and function of a reference, by the texts of the files."""
        place, colon, function = reference.rpartition(":")
        if not colon:
            return self._by_name(reference)
        if not place.endswith(".py"):
            return self._by_module(place, function)
        path = (base or Path()).joinpath(place).resolve()
        if not path.is_file():
            raise InvalidConfig(f"'{reference}' names no flow: there is no file {path}")
        if path.parent not in self._by_path:
            self._by_path[path.parent] = FlowFolder(path.parent)
        self._by_path[path.parent].refresh()
        return self._by_path[path.parent], path.stem, function

    def version(self) -> tuple[str, ...]:
        """Equal to an earlier one exactly when no flow file has changed since: what was got then is still right."""
        return tuple(folder.refresh() for folder in self._by_path.values())

    def definitions(self) -> dict[str, Definition]:
        """Every flow that can be had by name, without importing any."""
        found: dict[str, Definition] = {}
        for folder in self._folders:
            folder.refresh()
            found = {**{definition.name: definition for definition in folder.definitions()}, **found}
        return found

    def _by_name(self, name: str) -> tuple[FlowFolder, str, str]:
        for folder in self._folders:
            folder.refresh()
            definitions = folder.named(name)
            if len(definitions) > 1:
                places = " and ".join(definition.where for definition in definitions)
                raise InvalidConfig(f"Two flows are called '{name}': {places}. Rename one of them.")
            for definition in definitions:
                check_name(name, definition.where)
                return folder, definition.path.stem, definition.function
        raise self._unknown(name)

    def _by_module(self, module: str, function: str) -> tuple[FlowFolder, str, str]:
        for folder in self._folders:
            if (folder.folder / f"{module}.py").is_file():
                folder.refresh()
                return folder, module, function
        looked = ", ".join(str(folder.folder / f"{module}.py") for folder in self._folders)
        raise InvalidConfig(f"'{module}:{function}' names no flow: there is no file {looked}")

    def _load(self, folder: FlowFolder, stem: str, function: str) -> Flow:
        module = folder.module(stem)
        key = (module.__name__, function)
        if key not in self._found:
            found = getattr(module, function, None)
            if found is None:
                have = sorted(d.function for d in folder.definitions() if d.path.stem == stem)
                raise InvalidConfig(f"{module.__file__} has no function '{function}'{_suggestion(function, have)}")
            self._found[key] = make_flow(found)
        return self._found[key]

    def _unknown(self, name: str) -> InvalidConfig:
        if name in BUILTIN_NAMES:
            return InvalidConfig(f"'{name}' is a built-in tool: it is there by itself and cannot be listed as a flow.")
        existing = sorted(self.definitions())
        looked = ", ".join(str(folder.folder) for folder in self._folders)
        broken = "".join(f" Not readable: {fault}." for folder in self._folders for fault in folder.broken())
        return InvalidConfig(
            f"There is no flow '{name}'{_suggestion(name, existing)} Looked in {looked}.{broken}",
            detail={"name": name, "existing": existing},
        )


def _suggestion(name: str, existing: list[str]) -> str:
    """`, did you mean 'x'? There are: ...` as far as there is something to say."""
    by_lower = {candidate.replace("_", "").lower(): candidate for candidate in existing}
    close = get_close_matches(name.replace("_", "").lower(), by_lower, 1)
    meant = f", did you mean '{by_lower[close[0]]}'?" if close else "."
    return f"{meant} There are: {', '.join(existing)}." if existing else f"{meant} There are none."
