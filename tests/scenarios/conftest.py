"""In every scenario what was told live is what the log says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentflow.live.event_feed import Feed
from tests.scenarios.live_view import LiveView


@pytest.fixture(autouse=True)
def live_view(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if "agentflow_db" not in request.fixturenames:
        yield
        return
    db, view = str(request.getfixturevalue("agentflow_db")), LiveView()
    monkeypatch.setattr(Feed, "publish", lambda feed, *told: view.publish(feed, *told))
    yield
    view.check(db)
