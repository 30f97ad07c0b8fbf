"""The JSON Schema of `*.test.yaml` and its reference page, both made from the classes of keys (A5).

`python -m agentflow.scenarios.schema FOLDER` writes them to a folder; a test compares the ones we ship.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from agentflow.config.keys.schema import DRAFT, schema_of, sections
from agentflow.scenarios.keys import Scenario

SCHEMA_FILE, REFERENCE_FILE = "test.schema.json", "TEST_REFERENCE.md"

_INTRODUCTION = """# *.test.yaml: every key

This page is made from the program's own declarations; change those, not this page. What the keys are for is shown in
[testing](../docs/testing.md), and the replies in [the scripted model](../docs/scripted-model.md).

Keys that are not listed here are errors, except `x-*` keys, which are yours at any level."""


def scenario_schema() -> dict[str, Any]:
    """The JSON Schema, draft-07, of a `*.test.yaml`."""
    return {"$schema": DRAFT, "title": "agentflow *.test.yaml", **schema_of(Scenario, variables=False)}


def schema_text() -> str:
    """The schema as the file that we ship."""
    return json.dumps(scenario_schema(), indent=2, ensure_ascii=False) + "\n"


def reference_text() -> str:
    """The reference page: every key with its type, default and meaning."""
    return "\n\n".join([_INTRODUCTION, *sections(Scenario, "", set())]) + "\n"


def write(folder: Path) -> None:
    """Write both files into a folder."""
    (folder / SCHEMA_FILE).write_text(schema_text(), encoding="utf-8")
    (folder / REFERENCE_FILE).write_text(reference_text(), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
