"""`agentflow insights` (R6): a table, bars on a terminal only, JSON when asked."""

from __future__ import annotations

import json

from cli.reading.insights import table
from tests.cli.conftest import Command


def test_turns_are_summed_by_agent_unless_asked_otherwise(agentflow: Command) -> None:
    for session in ("s-1", "s-2"):
        assert agentflow("run", "echo", "Hello", "--session", session).code == 0
    done = agentflow("insights")
    assert done.code == 0
    head, line = done.out.splitlines()
    assert head.split()[:7] == ["AGENT", "TURNS", "SESSIONS", "DONE", "FAILED", "ABORTED", "PAUSED"]
    assert line.split()[:7] == ["echo", "2", "2", "2", "0", "0", "0"]
    assert "█" not in done.out  # no bars off a terminal
    (model,) = json.loads(agentflow("insights", "--by", "model", "--json").out)["groups"]
    assert model["calls"] == 2
    assert "no turns" in agentflow("insights", "--since", "2999-01-01").err


def test_a_time_or_zone_that_is_none_is_refused_with_its_option(agentflow: Command) -> None:
    agentflow("run", "echo", "Hello")
    for option, value in (("--since", "soon"), ("--tz", "Mars/Olympus")):
        done = agentflow("insights", option, value)
        assert (done.code, done.out) == (2, "")
        assert value in done.err


def test_bars_show_the_share_of_the_longest() -> None:
    common = {"sessions": 1, "turns": 1, "tokens": {"total": 1000}, "cost": "0.5", "failed": 0}
    groups = [{"key": "a", "calls": 8, **common}, {"key": "b", "calls": 4, **common}]
    first, second = table({"by": "model", "groups": groups}, bars=True).splitlines()[1:]
    assert (first.count("█"), second.count("█")) == (20, 10)
    assert "1,000" in first
