"""What the wheel holds is what the folders hold."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from tests.guards.source import FOLDERS, ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SETUPTOOLS: dict[str, Any] = PROJECT["tool"]["setuptools"]


def _folder(package: str) -> Path:
    """The folder a package is built from: the longest prefix in `package-dir`, and the rest below it."""
    prefixes = [name for name in SETUPTOOLS["package-dir"] if package == name or package.startswith(name + ".")]
    prefix = max(prefixes, key=len)
    return ROOT.joinpath(SETUPTOOLS["package-dir"][prefix], *package[len(prefix) :].split(".")[1:])


def _listed() -> dict[Path, str]:
    return {_folder(package): package for package in SETUPTOOLS["packages"]}


def test_the_package_list_is_the_folders() -> None:
    with_code = {path.parent for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    assert set(_listed()) - {ROOT / "agent_yaml"} == with_code


def test_only_our_two_names_land_in_site_packages() -> None:
    """`cli` and `workflows` are other people's names there."""
    assert {package.split(".")[0] for package in SETUPTOOLS["packages"]} == {"agentflow", "agentflow_cli"}


@pytest.mark.parametrize("folder", sorted(folder.relative_to(ROOT).as_posix() for folder in _listed()))
def test_every_data_file_is_packaged(folder: str) -> None:
    package = _listed()[ROOT / folder]
    patterns = SETUPTOOLS["package-data"].get(package, [])
    deep = any(pattern.startswith("**/") for pattern in patterns)
    found = (ROOT / folder).rglob("*") if deep else (ROOT / folder).iterdir()
    forgotten = [
        path.relative_to(ROOT / folder).as_posix()
        for path in found
        if path.is_file()
        and path.suffix not in (".py", ".pyc")
        and not any(fnmatch(path.name, pattern.removeprefix("**/")) for pattern in patterns)
    ]
    assert forgotten == []


def test_every_entry_point_leads_somewhere() -> None:
    """A plugin that is announced and missing would end every run of pytest it is installed beside."""
    groups = [PROJECT["project"]["scripts"], *PROJECT["project"].get("entry-points", {}).values()]
    for target in (target for group in groups for target in group.values()):
        package, _, module = target.partition(":")[0].rpartition(".")
        assert (_folder(package) / f"{module}.py").is_file(), target


def test_every_imported_library_is_declared() -> None:
    """What is imported anywhere comes with the project or with an extra of it."""
    extras = PROJECT["project"]["optional-dependencies"]
    declared = " ".join([*PROJECT["project"]["dependencies"], *extras["testing"], *extras["postgres"]])
    names = {"yaml": "pyyaml"}
    for library in ("transitions", "sqlmodel", "sqlalchemy", "alembic", "litellm", "yaml", "click", "jinja2"):
        assert names.get(library, library) in declared
