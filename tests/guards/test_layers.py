"""The arrows of DESIGN.md's house point one way, and each library has one door."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.guards.source import files, imports, module_name, module_names, tree

# Each row may import the rows above it; rooms of one row do not know each other. A room is a folder or a file: the
# longest name listed here that a module is in.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("secrets",),
    ("errors",),
    ("clock",),
    ("worker", "bounds"),
    ("text",),
    ("media",),
    ("message",),
    ("events", "result", "telemetry", "turn_table"),
    ("conversation", "config.document"),
    ("config.keys",),
    ("config",),
    ("context", "tools.flows"),
    ("models", "tools", "live"),
    ("store", "agents", "scenarios"),
    ("store.sql",),
    ("store.notices", "store.reads", "store.ended", "store.damage"),
    ("store.session",),
    ("store.ledger",),
    ("store.jobs",),
    ("store.sql_ledger",),
    ("store.sql_store", "turn.decide"),
    ("turn.rules",),
    ("turn.run",),
    ("turn.calls", "turn.worker"),
    ("turn.loop",),
    ("turn",),
    ("reading", "portable", "health"),
    ("records",),
    ("running",),
    ("runtime",),
    ("once", "evaluation"),
)
RANK = {room: rank for rank, rooms in enumerate(LAYERS) for room in rooms}

# On top of the house: these know `agentflow` by its public names only, and their own files.
LEAVES = ("agentflow.testing", "agentflow.server", "agentflow.__main__", "cli", "workflows")
# Flows too read the one wall clock (T38); `agentflow test` runs the kit, `agentflow serve` the server.
PUBLIC = ("agentflow", "agentflow.clock", "agentflow.server", "agentflow.testing")

# library -> the only files or folders that may import it
DOORS = {
    "yaml": ("agentflow/config/document/yamlfile.py", "agentflow/config/document/yaml_text.py"),
    "litellm": ("agentflow/models/wire/litellm_loading.py",),
    "sqlmodel": ("agentflow/store/",),
    "sqlalchemy": ("agentflow/store/",),
    "alembic": ("agentflow/store/",),
    "transitions": ("agentflow/turn/rules/machine.py",),
    "click": ("cli/",),
    "rich": ("cli/terminal/views.py",),
    "prompt_toolkit": ("cli/chat/screens/keyboard.py",),
    "regex": ("agentflow/bounds/patterns.py",),
    "opentelemetry": ("agentflow/telemetry/spans.py",),
    "fastapi": ("agentflow/server/",),
    "starlette": ("agentflow/server/",),
    "uvicorn": ("agentflow/server/listening.py",),
}

# Loaded on use only; the migrations, the classes a template is rendered with, and the screen of a chat are themselves
# loaded on use.
ON_USE = ("litellm", "alembic", "jinja2", "jsonschema", "rich", "prompt_toolkit", "regex", "opentelemetry")
LOADED_ON_USE = (
    "agentflow/store/sql/migrations/",
    "agentflow/config/keys/template_bounds.py",
    "cli/chat/screens/keyboard.py",
)


def _room(module: str) -> str:
    """The longest listed name that a module of the package is in; empty when it is in none."""
    parts = module.split(".")[1:]
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((name for name in names if name in RANK), "")


def _house() -> list[Path]:
    return [path for path in files("agentflow") if not _leaf(module_name(path)) and module_name(path) != "agentflow"]


def _leaf(module: str) -> str | None:
    return next((leaf for leaf in LEAVES if module == leaf or module.startswith(leaf + ".")), None)


def test_every_module_has_its_layer() -> None:
    homeless = [module_name(path) for path in _house() if not _room(module_name(path))]
    assert homeless == []


def test_every_layer_is_there() -> None:
    """A row about nothing would allow what nobody has thought of."""
    empty = [room for room in RANK if not any(_room(module_name(path)) == room for path in _house())]
    assert empty == []


def test_imports_point_down_the_layers_only() -> None:
    wrong = [
        f"{path}:{found.line} imports {found.module}"
        for path in _house()
        for found in imports(path)
        if found.module.split(".")[0] == "agentflow" and not _allowed(module_name(path), found.module)
    ]
    assert wrong == []


def _allowed(importer: str, imported: str) -> bool:
    ours, theirs = _room(importer), _room(imported)
    return ours == theirs or (theirs in RANK and RANK[theirs] < RANK[ours])


def test_leaves_use_public_names_only() -> None:
    wrong = [
        f"{path}:{found.line} imports {found.module}"
        for path in files("agentflow/testing", "agentflow/server", "cli", "workflows")
        for found in imports(path)
        if found.module.split(".")[0] in ("agentflow", "cli", "workflows")
        and found.module not in PUBLIC
        and _leaf(found.module) != _leaf(module_name(path))
    ]
    assert wrong == []


def test_no_file_imports_in_a_circle() -> None:
    """Modules that only import modules already taken out are taken out; what is left goes round in circles.

    Annotations count, and so do imports inside functions, but for the door that closes the circle of `agentflow`'s
    own public names.
    """
    graph = {
        module_name(path): {found.module for found in imports(path)} & module_names() - {"agentflow", "cli"}
        for path in files("agentflow", "cli", "workflows")
        if path.name != "__init__.py"
    }
    while free := [module for module, imported in graph.items() if not (imported - {module}) & graph.keys()]:
        for module in free:
            del graph[module]
    assert graph == {}


FOLDER_FILES = 12
DOORSTEPS = ("__init__.py", "__main__.py")  # how a folder is entered, not a subject of it


def test_a_folder_has_at_most_twelve_files() -> None:
    crowded = {
        folder.as_posix(): count
        for folder in _folders()
        if (count := sum(path.name not in DOORSTEPS for path in folder.glob("*.py"))) > FOLDER_FILES
    }
    assert crowded == {}


def test_every_folder_says_the_way_through_it() -> None:
    silent = [
        folder.as_posix()
        for folder in _folders()
        if any(path.name != "__init__.py" for path in folder.glob("*.py"))
        and not (ast.get_docstring(tree(folder / "__init__.py")) or "").partition("\n")[0].endswith((".", ":"))
    ]
    assert silent == []


def _folders() -> list[Path]:
    return sorted({path.parent for path in files("agentflow", "cli", "workflows")})


@pytest.mark.parametrize("library", DOORS)
def test_a_library_is_imported_through_its_door_only(library: str) -> None:
    intruders = [
        f"{path}:{found.line}"
        for path in files("agentflow", "cli")
        for found in imports(path)
        if found.module.split(".")[0] == library and not _inside(path, DOORS[library])
    ]
    assert intruders == []


def _inside(path: Path, doors: tuple[str, ...]) -> bool:
    return any(f"/{door}" in path.as_posix() for door in doors)


@pytest.mark.parametrize("library", ON_USE)
def test_a_heavy_library_is_imported_inside_functions_only(library: str) -> None:
    eager = [
        f"{path}:{found.line}"
        for path in files("agentflow", "cli")
        for found in imports(path)
        if found.module.split(".")[0] == library
        and not found.lazy
        and not any(place in path.as_posix() for place in LOADED_ON_USE)
    ]
    assert eager == []


def test_the_guard_reads_the_tree() -> None:
    """A guard over no files would pass for ever."""
    assert {"agentflow.errors", "cli.main"} <= module_names()
    assert any(found.module == "agentflow.clock" for path in _house() for found in imports(path))
    assert all(tree(path).body is not None for path in _house())
