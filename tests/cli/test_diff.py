"""`diff`: what two turns sent, for people and for programs (R6)."""

from __future__ import annotations

import json

from tests.cli.conftest import Command


def test_the_first_difference_stands_on_top(agentflow: Command) -> None:
    agentflow("run", "echo", "-s", "one", "Hi.")
    agentflow("run", "echo", "-s", "one", "Ho.")
    done = agentflow("diff", "one:1", "2")
    lines = done.out.splitlines()
    assert (done.code, lines[:3]) == (
        0, ["- one:1, 1 model calls", "+ one:2, 1 model calls", "call 1: differs first in history"]
    )  # fmt: skip
    assert lines[4:8] == ["history of call 1", "  ... 1 the same", "+ [assistant] Hi.", "+ [user] Ho."]
    assert "the same: configuration, prompt, tools, model" in lines


def test_programs_get_one_object(agentflow: Command) -> None:
    agentflow("run", "echo", "-s", "one:two", "Hi.")
    done = agentflow("diff", "one:two:1", "-s", "one:two", "1", "--json")
    found = json.loads(done.out)
    assert (found["a"]["session_id"], found["first"], found["calls"]) == ("one:two", None, [None])


def test_what_is_not_there_has_its_exit_code(agentflow: Command) -> None:
    agentflow("run", "echo", "-s", "one", "Hi.")
    assert agentflow("diff", "one:1", "9").code == 3
    assert agentflow("diff", "no:1", "9").code == 3
    assert agentflow("diff", "1", "2").code == 2
    assert agentflow("diff", "one:", "2").code == 2
