"""A kit with everything around it: the clock frozen, the network closed, and nothing left behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentflow.testing import network
from agentflow.testing.frozen import frozen
from agentflow.testing.kit import Kit

START = "2030-01-01T09:00:00Z"


@contextmanager
def opened(folder: Path, db: str | None = None, start: str = START) -> Iterator[Kit]:
    """A kit whose project is a new folder in this one; its database is a file there unless one is given."""
    project = folder / "project"
    project.mkdir()
    with pytest.MonkeyPatch.context() as patch, frozen(start) as clock:
        network.close(patch)
        kit = Kit(project, db or f"sqlite:///{folder / 'agentflow.db'}", clock)
        kit.stalls.start()
        try:
            yield kit
        finally:
            kit.stalls.stop()
            kit.close()
