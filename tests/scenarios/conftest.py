"""In every scenario what was told live is what the log says, the statistics are what the rows say
(R6), and every request is made again as it was (R5)."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from agentflow import ScriptedModel
from agentflow.live.event_feed import Feed
from tests.scenarios.live_view import LiveView
from tests.scenarios.sent_requests import SentRequests
from tests.scenarios.statistics import differences
from tests.scenarios.support import reading

# Installed with the extra `dev`; an older environment runs all other scenarios.
collect_ignore = [] if find_spec("opentelemetry") else ["test_telemetry.py"]


@pytest.fixture(autouse=True)
def live_view(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if "agentflow_db" not in request.fixturenames:
        yield
        return
    db, view = str(request.getfixturevalue("agentflow_db")), LiveView()
    monkeypatch.setattr(Feed, "publish", lambda feed, *told: view.publish(feed, *told))
    sent = SentRequests()
    monkeypatch.setattr(ScriptedModel, "stream", lambda model, request: sent.stream(model, request))
    yield
    view.check(db)
    if view.told:
        sent.check(db)
        with reading(db) as select:
            assert differences(select) == []
