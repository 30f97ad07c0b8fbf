"""In every scenario what was told live is what the log says, and the statistics are what the rows say (R6)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentflow.live.event_feed import Feed
from tests.scenarios.live_view import LiveView
from tests.scenarios.statistics import differences
from tests.scenarios.support import reading


@pytest.fixture(autouse=True)
def live_view(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if "agentflow_db" not in request.fixturenames:
        yield
        return
    db, view = str(request.getfixturevalue("agentflow_db")), LiveView()
    monkeypatch.setattr(Feed, "publish", lambda feed, *told: view.publish(feed, *told))
    yield
    view.check(db)
    if view.told:
        with reading(db) as select:
            assert differences(select) == []
