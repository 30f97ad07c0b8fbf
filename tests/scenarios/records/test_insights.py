"""R6, R9, R11: what sessions have done and cost, summed by agent, day, model and tool."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import InvalidInput
from agentflow.testing import Kit
from tests.scenarios.support import call, rows


def look(place: str) -> str:
    """Look at a place."""
    return place


def breaks(place: str) -> str:
    """Fail."""
    raise RuntimeError(place)


def usage(input_: int, output: int) -> dict[str, int]:
    return {"input": input_, "output": output}


def insights(kit: Kit, **asked: Any) -> dict[str, Any]:
    return dict(kit.run(kit.runtime.records.insights(**asked)))


def one_each(kit: Kit) -> None:
    """A turn that is done, with two tools; one that fails; one that waits; all of session s-1 and agent `test`."""
    ask = call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])
    kit.agent(
        tools=[look, breaks],
        replies=[
            {"tool_calls": [call("look", place="a"), call("breaks", place="b")], "usage": usage(100, 10)},
            {"text": "done", "usage": usage(200, 20)},
            {"error": {"kind": "auth"}},
            {"tool_calls": [ask], "usage": usage(50, 5)},
        ],
    )
    for text in ("one", "two", "three"):
        kit.send(text)
        kit.advance(86_400)


def test_turns_are_summed_by_agent_with_outcomes_errors_tokens_and_tools(agentflow: Kit) -> None:
    one_each(agentflow)
    agentflow.run(agentflow.runtime.records.feedback("s-1", 1, "up"))
    agentflow.run(agentflow.runtime.records.feedback("s-1", 2, 2))
    found = insights(agentflow)
    (group,) = found["groups"]
    assert {**found["total"], "key": "test"} == group
    assert (found["by"], found["since"], found["tz"]) == ("agent", None, "UTC")
    assert (group["turns"], group["sessions"]) == (3, 1)
    assert group["outcomes"] == {"done": 1, "failed": 1, "aborted": 0, "paused": 1}
    assert list(group["errors"].values()) == [1]
    assert group["tokens"] == {"input": 350, "output": 35, "cache_read": 0, "cache_write": 0, "total": 385}
    assert group["cost"] is None
    assert group["tools"] == {"calls": 2, "failed": 1}
    assert group["feedback"] == {"up": 1, "down": 0, "marks": 1, "mean": 2.0}


def test_days_are_those_of_the_time_zone(agentflow: Kit) -> None:
    one_each(agentflow)
    by_day = {group["key"]: group["turns"] for group in insights(agentflow, by="day")["groups"]}
    assert by_day == {"2030-01-01": 1, "2030-01-02": 1, "2030-01-03": 1}
    earlier = insights(agentflow, by="day", tz="Pacific/Pago_Pago")["groups"]  # at nine it is ten the evening before
    assert [group["key"] for group in earlier] == ["2029-12-31", "2030-01-01", "2030-01-02"]


def test_only_turns_that_ended_since_then_count(agentflow: Kit) -> None:
    one_each(agentflow)
    assert insights(agentflow, since="36h")["total"]["turns"] == 1
    assert insights(agentflow, since="2030-01-02")["total"]["turns"] == 2
    assert insights(agentflow, since="2030-01-02T10:00:00+00:00")["total"]["turns"] == 1


def test_models_and_tools_have_their_own_calls(agentflow: Kit) -> None:
    one_each(agentflow)
    (model,) = insights(agentflow, by="model")["groups"]
    assert (model["calls"], model["failed"], model["tokens"]["total"]) == (4, 1, 385)
    tools = {group["key"]: group for group in insights(agentflow, by="tool")["groups"]}
    assert {name: (group["calls"], group["failed"], group["turns"]) for name, group in tools.items()} == {
        "breaks": (1, 1, 1), "look": (1, 0, 1),
    }  # fmt: skip


def test_a_resumed_turn_counts_once_with_all_its_steps(agentflow: Kit, agentflow_db: str) -> None:
    """R6: its row is replaced when it goes on."""
    ask = call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])
    agentflow.agent(replies=[{"tool_calls": [ask], "usage": usage(10, 1)}, {"text": "thanks", "usage": usage(20, 2)}])
    agentflow.send("one")
    agentflow.advance(3600)
    agentflow.answer({"Which": "this"})
    total = insights(agentflow)["total"]
    assert (total["turns"], total["outcomes"]["done"], total["outcomes"]["paused"]) == (1, 1, 0)
    assert total["tokens"]["total"] == 33
    assert rows(agentflow_db, "SELECT steps FROM session_stats") == [(2,)]
    assert total["duration_ms"]["p95"] < 3_600_000  # the hour it waited is nobody's work


def test_unobserved_turns_are_counted_too(agentflow: Kit) -> None:
    """R5: counts in session_stats stay."""
    agentflow.agent(tools=[look], replies=[{"text": "x", "usage": usage(7, 3)}], settings={"observability": False})
    agentflow.send("one")
    total = insights(agentflow)["total"]
    assert (total["turns"], total["tokens"]["total"], total["outcomes"]["done"]) == (1, 10, 1)


def test_title_calls_are_in_the_sums_and_in_no_turn(agentflow: Kit, agentflow_db: str) -> None:
    """B35, R7: a title call counts under its model, outside every turn."""

    def reply(request: Any) -> dict[str, Any]:
        return {"text": "A name" if request.purpose == "title" else "hello", "usage": usage(10, 1)}

    agentflow.agent(replies=reply, settings={"name_chats": True})
    agentflow.send("one")
    agentflow.until("session.named")
    assert rows(agentflow_db, "SELECT sum(input) FROM session_stats") == [(10,)]
    assert insights(agentflow)["total"]["tokens"]["input"] == 20
    (model,) = insights(agentflow, by="model")["groups"]
    assert (model["calls"], model["turns"]) == (2, 1)


def test_sessions_of_evaluations_stay_out(agentflow: Kit, agentflow_db: str) -> None:
    """R9."""
    one_each(agentflow)
    agentflow.restart()
    _set(agentflow_db, "UPDATE session SET environment = 'evaluation'")
    assert insights(agentflow)["groups"] == []


def _set(db: str, text: str) -> None:
    import sqlite3

    if not db.startswith("sqlite:///"):
        import psycopg

        with psycopg.connect(db.replace("postgresql+psycopg://", "postgresql://")) as server:
            server.execute(text)
        return
    connection = sqlite3.connect(db.removeprefix("sqlite:///"))
    with connection:
        connection.execute(text)
    connection.close()


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"by": "weather"}, "by"), ({"by": None}, "by"), ({"tz": "Mars/Olympus"}, "tz"), ({"tz": ""}, "tz"),
        ({"tz": "../../etc/passwd"}, "tz"), ({"tz": 3}, "tz"), ({"since": "soon"}, "since"), ({"since": "7y"}, "since"),
        ({"since": 7}, "since"), ({"since": "0001-01-01"}, None),
    ],
)  # fmt: skip
def test_what_is_no_key_time_or_zone_is_refused_by_name(agentflow: Kit, asked: Any, field: str | None) -> None:
    if field is None:
        assert insights(agentflow, **asked)["groups"] == []
        return
    with pytest.raises(InvalidInput) as refused:
        insights(agentflow, **asked)
    assert refused.value.detail["field"] == field
