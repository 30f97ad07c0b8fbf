"""The source tree as the guards see it: modules by name, and what each imports when it runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("agentflow", "cli", "workflows")


@dataclass(frozen=True)
class Import:
    """One imported module, as written out in full; `lazy` when it stands inside a function, or for annotations only."""

    module: str
    line: int
    lazy: bool


def files(*folders: str) -> list[Path]:
    """Every Python file under the folders."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def module_name(path: Path) -> str:
    """`agentflow/turn/step_runner.py` is `agentflow.turn.step_runner`, a package's `__init__.py` the package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def module_names() -> frozenset[str]:
    return frozenset(module_name(path) for path in files(*FOLDERS))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def imports(path: Path) -> list[Import]:
    """What a file imports, for annotations too."""
    package = module_name(path) if path.name == "__init__.py" else module_name(path).rpartition(".")[0]
    return list(_imports(tree(path), package, lazy=False))


def _imports(node: ast.AST, package: str, *, lazy: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, child.lineno, lazy) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from (Import(name, child.lineno, lazy) for name in _from(child, package))
        else:
            is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            is_lazy = is_function or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test))
            yield from _imports(child, package, lazy=lazy or is_lazy)


def _from(node: ast.ImportFrom, package: str) -> Iterator[str]:
    """`from x import y` imports the module `x.y` when there is one, else `x`."""
    above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
    base = ".".join([*above, node.module] if node.module else above)
    for alias in node.names:
        full = f"{base}.{alias.name}"
        yield full if full in module_names() else base
