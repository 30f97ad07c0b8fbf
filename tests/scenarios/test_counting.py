"""What a turn has used: usage of every call, characters of every request (X5, X6)."""

from __future__ import annotations

import pytest

from agentflow.message import Usage
from agentflow.models.protocol import Delta, FinishReason, TextDelta, UsageReport
from agentflow.testing import Kit
from tests.scenarios.support import Deltas, call, rows


def look(place: str) -> str:
    """Look at a place."""
    return f"{place} is quiet"


def used(read: int, written: int, cached: int | None = None, stored: int | None = None) -> dict[str, int]:
    given = {"input": read, "output": written, "cache_read": cached, "cache_write": stored}
    return {key: value for key, value in given.items() if value is not None}


def test_a_turn_sums_its_calls_and_a_session_its_turns(agentflow: Kit) -> None:
    """B33: exact sums for input, output, cache read and cache write."""
    agentflow.agent(
        tools=[look],
        replies=[
            {"tool_calls": [call("look", place="north")], "usage": used(100, 10, 0, 90)},
            {"tool_calls": [call("look", place="south")], "usage": used(120, 11, 90, 10)},
            {"text": "quiet", "usage": used(140, 12, 100, 5)},
            {"text": "yes", "usage": used(50, 5)},
        ],
    )
    assert agentflow.send("Is it quiet?").usage.as_dict() == {
        "input": 360, "output": 33, "cache_read": 190, "cache_write": 105, "total": 393,
    }  # fmt: skip
    agentflow.send("Sure?")
    assert agentflow.usage() == {
        "input": 410, "output": 38, "cache_read": 190, "cache_write": 105, "total": 448, "cost": None, "turns": 2,
    }  # fmt: skip


def test_each_call_has_a_row_with_what_the_provider_reported(agentflow: Kit, agentflow_db: str) -> None:
    """X6: one row per model call; unknown is null, never 0."""
    agentflow.agent(
        tools=[look],
        replies=[
            {"tool_calls": [call("look", place="north")], "usage": used(100, 10, 90)},
            {"text": "ok", "usage": {}},
        ],
    )
    result = agentflow.send("hi")
    query = "SELECT purpose, status, input, output, cache_read, cache_write FROM llm_call"
    assert rows(agentflow_db, f"{query} ORDER BY iteration") == [
        ("main", "completed", 100, 10, 90, None),
        ("main", "completed", None, None, None, None),
    ]
    assert (result.usage.input, result.usage.cache_write) == (100, None)


def test_of_cumulative_reports_the_last_one_counts(agentflow: Kit) -> None:
    """B33: 10/1, 10/40, 10/47 is 10/47."""
    reports: list[Delta] = [UsageReport(Usage(10, 1)), TextDelta("o"), UsageReport(Usage(10, 40)), TextDelta("k")]
    agentflow.agent(model=Deltas([*reports, FinishReason("stop"), UsageReport(Usage(10, 47))]))
    result = agentflow.send("hi")
    assert (result.answer, result.usage.input, result.usage.output) == ("ok", 10, 47)


def test_a_failed_call_counts_what_it_reported(agentflow: Kit, agentflow_db: str) -> None:
    """X6: sums include failed calls that reported."""
    agentflow.agent(model=Deltas([TextDelta("o"), UsageReport(Usage(10, 1))]))
    result = agentflow.send("hi")
    assert (result.state, result.usage.total) == ("failed", 11)
    assert rows(agentflow_db, "SELECT status, input FROM llm_call") == [("errored", 10)]


def test_an_unknown_price_is_null_and_a_known_one_a_decimal(agentflow: Kit) -> None:
    """B36: cost is unknown, not 0 and not an error."""
    agentflow.agent(replies=[{"text": "a"}, {"text": "b", "usage": {"input": 1, "output": 1, "cost": 0.0125}}])
    assert agentflow.send("one").as_dict()["cost"] is None
    assert agentflow.send("two").as_dict()["cost"] == "0.0125"
    assert agentflow.usage()["cost"] == "0.0125"


def test_the_characters_of_each_request_are_stored(agentflow: Kit, agentflow_db: str) -> None:
    """X5: `request_chars` is stored per call, prompt and tool schemas included."""
    agentflow.agent(
        prompt="p" * 100, tools=[look], replies=[{"tool_calls": [call("look", place="north")]}, {"text": "ok"}]
    )
    agentflow.send("u" * 10)
    first, second = (chars for (chars,) in rows(agentflow_db, "SELECT request_chars FROM llm_call ORDER BY iteration"))
    assert [first, second] == [request.chars for request in agentflow.requests]
    assert second - first == len("look") + len('{"place": "north"}') + len("north is quiet")
    assert first > 110


def test_the_text_of_prompt_and_tools_is_stored_once(agentflow: Kit, agentflow_db: str) -> None:
    """R3: blobs by hash, however many turns use them."""
    agentflow.agent(tools=[look], replies=lambda request: {"text": "ok"}, prompt="A prompt nobody else has.")
    for _ in range(5):
        agentflow.send("hi")
    agentflow.restart()
    agentflow.send("hi")
    assert rows(agentflow_db, "SELECT count(*) FROM blob WHERE body = 'A prompt nobody else has.'") == [(1,)]
    assert rows(agentflow_db, "SELECT count(DISTINCT prompt_hash), count(DISTINCT tools_hash) FROM llm_call") == [
        (1, 1)
    ]


@pytest.mark.parametrize("event", ["llm.call.completed", "turn.completed"])
def test_events_tell_usage_and_cost(agentflow: Kit, event: str) -> None:
    """T41."""
    agentflow.agent(replies=[{"text": "ok", "usage": {"input": 7, "output": 1, "cost": 0.5}}])
    agentflow.send("hi")
    (told,) = agentflow.events(event)
    assert told.data["usage"]["input"] == 7
    assert told.data["cost"] == "0.5"
