"""Folders of flow files: what they define, read without running them, and their import under a name of their own.

A folder becomes one synthetic package, so that its files can import each other with a dot, two folders may have
files of one name, and nothing is put on `sys.path`. When a file of the folder changes, the next look-up imports
the folder afresh under a new package name: calls that still run keep the modules they began with.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import os
import re
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

from agentflow.errors import InvalidConfig

_PREFIX = "_agentflow_flows_"
_generations = itertools.count(1)

_Stamp = tuple[int, int]  # modification time in ns, size in bytes


@dataclass(frozen=True, slots=True)
class Definition:
    """A flow as the text of its file shows it: its public name, its function, and where it is written."""

    name: str
    function: str
    path: Path
    line: int

    @property
    def where(self) -> str:
        return f"{self.path}:{self.line}"


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles from the text each time: cached bytecode misses an edit within the same second, and litters projects."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of the synthetic packages, and nothing else."""

    def __init__(self) -> None:
        self.folders: dict[str, Path] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, *parts = fullname.split(".")
        if package not in self.folders:
            return None
        place = self.folders[package].joinpath(*parts)
        for file, inside in ((place / "__init__.py", [str(place)]), (place.with_name(place.name + ".py"), None)):
            if file.is_file() and (parts or inside):
                loader = _Loader(fullname, str(file))
                return importlib.util.spec_from_file_location(
                    fullname, file, loader=loader, submodule_search_locations=inside
                )
        if not place.is_dir():
            return None
        spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
        spec.submodule_search_locations = [str(place)]
        return spec


_finder = _Finder()


def _new_package(folder: Path) -> str:
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    package = f"{_PREFIX}{next(_generations)}"
    _finder.folders[package] = folder
    return package


class FlowFolder:
    """One folder's flow files, as they were when `refresh` last looked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stamps: dict[str, _Stamp] | None = None
        self._package = ""
        self._scans: dict[str, list[Definition] | SyntaxError] = {}
        self._named: dict[str, list[Definition]] = {}

    def refresh(self) -> str:
        """Look at the files; when one of them changed, everything is found and imported afresh.

        Returns the name of the package that this generation of modules is imported into.
        """
        stamps = self._look()
        if stamps == self._stamps:
            return self._package
        known = self._stamps or {}
        self._scans = {name: scan for name, scan in self._scans.items() if stamps.get(name) == known.get(name)}
        self._named = {}
        self._stamps = stamps
        self._package = _new_package(self.folder)
        return self._package

    def _look(self) -> dict[str, _Stamp]:
        try:
            with os.scandir(self.folder) as entries:
                files = [(entry.name, entry.stat()) for entry in entries if _is_flow_file(entry)]
        except (FileNotFoundError, NotADirectoryError):
            return {}
        return {name: (stat.st_mtime_ns, stat.st_size) for name, stat in files}

    def named(self, name: str) -> list[Definition]:
        """The flows with this name; only files that mention it are read closely.

        Raises `InvalidConfig` when a file that cannot be parsed seems to define it.
        """
        if name not in self._named:
            self._named[name] = [
                definition
                for path in self._paths()
                if path.name in self._scans or name in _text(path)
                for definition in self._scan(path, name)
                if definition.name == name
            ]
        return self._named[name]

    def definitions(self) -> list[Definition]:
        """All flows of the files that can be parsed; see `broken` for the others."""
        return [definition for path in self._paths() for definition in self._scan(path)]

    def _paths(self) -> list[Path]:
        return [self.folder / name for name in sorted(self._stamps or ()) if name != "__init__.py"]

    def _scan(self, path: Path, wanted: str | None = None) -> list[Definition]:
        if path.name not in self._scans:
            self._scans[path.name] = _definitions(path)
        scan = self._scans[path.name]
        if not isinstance(scan, SyntaxError):
            return scan
        if wanted is not None and _seems_to_define(path, wanted):
            raise _broken(path, scan.lineno, scan)
        return []

    def broken(self) -> list[str]:
        """`path:line: reason` of each file that cannot be parsed."""
        return [
            f"{self.folder / name}:{scan.lineno}: {scan.msg}"
            for name, scan in self._scans.items()
            if isinstance(scan, SyntaxError)
        ]

    def module(self, stem: str) -> ModuleType:
        """The module of one file, imported when it is not yet; raises `InvalidConfig` with the line of the fault."""
        path = self.folder / f"{stem}.py"
        try:
            return importlib.import_module(f"{self._package}.{stem}")
        except SyntaxError as error:
            raise _broken(Path(error.filename or path), error.lineno, error) from error
        except (Exception, SystemExit) as error:  # a file that is imported can fail in any way
            raise _broken(*_fault_place(error, path), error, hint=self._hint(error)) from error

    def _hint(self, error: BaseException) -> str:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and (self.folder / f"{missing}.py").is_file():
            return f" (flow files import each other with a dot: from .{missing} import ...)"
        return ""


def _is_flow_file(entry: os.DirEntry[str]) -> bool:
    """Editors leave dangling links and hidden copies beside the file they have open."""
    return entry.name.endswith(".py") and not entry.name.startswith(".") and entry.is_file()


def _definitions(path: Path) -> list[Definition] | SyntaxError:
    """The public functions at the top of a file under their public names; of one function written twice the last."""
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except SyntaxError as error:
        return error
    except ValueError as error:  # a NUL byte
        return SyntaxError(str(error), (str(path), 1, 0, None))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    named = [(function, node, _flow_name(node)) for function, node in functions.items()]
    return [
        Definition(name or function, function, path, node.lineno)
        for function, node, name in named
        if name or not function.startswith("_")
    ]


def _flow_name(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    """The literal `name=` of a `@flow(...)` decorator."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).split(".")[-1] == "flow":
            for keyword in decorator.keywords:
                if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                    return str(keyword.value.value)
    return None


def _seems_to_define(path: Path, name: str) -> bool:
    escaped = re.escape(name)
    return re.search(rf"def\s+{escaped}\b|name\s*=\s*['\"]{escaped}['\"]", _text(path)) is not None


def _text(path: Path) -> str:
    return path.read_text("utf-8", errors="replace")


def _fault_place(error: BaseException, path: Path) -> tuple[Path, int | None]:
    """The deepest line of the project's own files that the error passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).parent == path.parent]
    return (Path(own[-1].filename), own[-1].lineno) if own else (path, 1)


def _broken(path: Path, line: int | None, error: BaseException, hint: str = "") -> InvalidConfig:
    reason = error.msg if isinstance(error, SyntaxError) else f"{type(error).__name__}: {error}"
    return InvalidConfig(
        f"{path}:{line or 1}: this flow file cannot be imported: {reason}{hint}",
        detail={"path": str(path), "line": line or 1},
    )
