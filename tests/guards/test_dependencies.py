"""Z9: what is installed is pinned with hashes, and what each package of ours is for stands in one table."""

from __future__ import annotations

import re
import tomllib

from tests.guards.source import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PINNED = [line for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if not line.startswith("#")]


def names(requirements: list[str]) -> set[str]:
    found = {re.match(r"[\w.-]+", each) for each in requirements}
    return {name[0].lower() for name in found if name is not None} - {PROJECT["name"]}


def test_a_deployment_is_pinned_by_hashes_and_names_no_place() -> None:
    assert all(re.fullmatch(r"[a-z0-9._-]+==[\w.!+]+ --hash=sha256:[0-9a-f]{64}", line) for line in PINNED)
    wanted = names(PROJECT["dependencies"]) | names(PROJECT["optional-dependencies"]["postgres"])
    assert wanted <= {line.partition("==")[0] for line in PINNED}


def test_the_table_says_what_each_dependency_is_for() -> None:
    page = (ROOT / "docs" / "trust.md").read_text("utf-8")
    told = {
        name for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for name in re.findall(r"`([\w.-]+)`", row)
    }
    optional = PROJECT["optional-dependencies"]
    extras = [each for name, group in optional.items() if name != "dev" for each in group]
    assert names(PROJECT["dependencies"]) | names(extras) <= told
