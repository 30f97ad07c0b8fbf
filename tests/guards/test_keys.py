"""No documented key is without effect: the program reads it, and a test of behaviour sets it (A2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

from agentflow.config.keys.agent import AgentKeys
from agentflow.config.keys.base import Keys
from agentflow.config.keys.project import ProjectKeys
from tests.guards.source import ROOT, files

RESERVED = {"memory": "reserved; validate says that it does nothing"}
BEHAVIOUR = ("scenarios", "cli", "flows", "contract", "unit/agents", "unit/context", "unit/models", "unit/tools")


def test_every_key_is_read_by_the_program_and_set_by_a_test_of_behaviour() -> None:
    code = _text(path for path in files("agentflow") if "config/keys" not in path.as_posix())
    tests = _text(path for name in BEHAVIOUR for path in (ROOT / "tests" / name).rglob("*.py"))
    keys = {key for model in (AgentKeys, ProjectKeys) for key in _keys(model)} - RESERVED.keys()
    assert len(keys) > 80
    assert {key for key in keys if not re.search(rf"\.{key}\b|[\"']{key}[\"']", code)} == set(), "nobody reads it"
    assert {key for key in keys if not re.search(rf"\b{key}[\"']?\s*[:=]", tests)} == set(), "no test sets it"


def test_a_key_that_is_a_list_takes_one_from_a_file() -> None:
    """`Items` does; a plain tuple takes none."""
    for path in files("agentflow/config/keys"):
        assert re.findall(r"^    \w+: .*(?<!\w)tuple\[.*= Field\($", path.read_text(), re.MULTILINE) == [], path


def test_what_is_reserved_is_read_by_nobody_and_said_to_do_nothing() -> None:
    for key in RESERVED:
        assert "reserved" in str(_descriptions()[key]).lower()


def _descriptions() -> dict[str, str | None]:
    settings = AgentKeys.model_fields["settings"].annotation
    assert settings is not None
    return {name: field.description for name, field in settings.model_fields.items()}  # type: ignore[attr-defined]


def _keys(model: type[Keys], seen: frozenset[type] = frozenset()) -> Iterator[str]:
    """The names of all keys, as the program calls them."""
    for name, field in model.model_fields.items():
        yield name
        for kind in _models(field.annotation):
            if kind not in seen:
                yield from _keys(kind, seen | {kind})


def _models(annotation: Any) -> Iterator[type[Keys]]:
    if isinstance(annotation, type) and issubclass(annotation, Keys):
        yield annotation
    for each in get_args(annotation):
        yield from _models(each)


def _text(paths: Any) -> str:
    return "\n".join(path.read_text("utf-8") for path in paths)
