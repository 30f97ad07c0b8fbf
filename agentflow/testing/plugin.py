"""The pytest plugin: the fixture `agentflow`, whose scripts must be used up, and tests without Python."""

from __future__ import annotations

import inspect
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from agentflow.testing.kit import Kit

_KIT: pytest.StashKey[Kit] = pytest.StashKey()


@pytest.fixture
def agentflow_db(tmp_path: Path) -> Iterator[str]:
    """The database of the kit: a SQLite file, or a schema of its own where `AGENTFLOW_TEST_POSTGRES` says.

    Override it to choose another one.
    """
    server = os.environ.get("AGENTFLOW_TEST_POSTGRES")
    if server is None:
        yield f"sqlite:///{tmp_path / 'agentflow.db'}"
        return
    from agentflow.testing.postgres import schema

    with schema(server) as url:
        yield url


@pytest.fixture
def agentflow(request: pytest.FixtureRequest, tmp_path: Path, agentflow_db: str) -> Iterator[Kit]:
    """A `Kit`: a runtime on a temporary project with scripted models, frozen time, fixed ids and no network."""
    from agentflow.testing.opening import opened

    with opened(tmp_path, agentflow_db) as kit:
        request.node.stash[_KIT] = kit
        yield kit


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A `*.test.yaml` is a test."""
    if not file_path.name.endswith(".test.yaml"):
        return None
    from agentflow.testing.scenarios.collecting import ScenarioModule

    return ScenarioModule.from_parent(parent, path=file_path)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """A test that passed fails when its scripts had more to say, or when something held the event loop."""
    outcome = yield
    kit = item.stash.get(_KIT, None)
    if kit is not None and (wrong := [*kit.leftovers(), *map(str, kit.stalls.stalls)]):
        pytest.fail("; ".join(wrong), pytrace=False)
    return outcome


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object:
    """An async test that has a kit runs on the kit's loop, unless another plugin runs it on a loop of its own."""
    kit = pyfuncitem.stash.get(_KIT, None)
    if kit is None or not inspect.iscoroutinefunction(pyfuncitem.obj) or "anyio_backend" in pyfuncitem.fixturenames:
        return None
    kit.run(
        pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters})
    )
    return True
