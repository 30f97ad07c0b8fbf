"""Z3: the guards of a script are searched in the users' words, which nobody has chosen."""

import pytest

from agentflow.testing import Kit


def test_a_guard_that_takes_too_long_fails_the_turn_and_holds_nobody(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"when": {"last_user": "(a+)+$"}, "text": "yes", "repeat": True}])
    assert agentflow.send("aaa").answer == "yes"
    agentflow.stalls.limit = 0.25  # seconds; without a bound it would be years
    failed = agentflow.send("a" * 1_000_000 + "!", "another")
    assert failed.error is not None
    assert failed.error["code"] == "model_error.script"
    assert "takes too long" in failed.error["message"]


@pytest.mark.parametrize("text", ["{{" * 200_000, "{{ " + " " * 500_000, "{{ a" * 100_000 + "}"])
def test_looking_for_placeholders_is_linear(agentflow: Kit, text: str) -> None:
    agentflow.agent(replies=[{"text": text, "chunk_size": 1_000_000}])
    agentflow.stalls.limit = 0.25
    assert agentflow.send("hi").answer == text.rstrip() or agentflow.path()[-1]["content"] == text
