"""Tools that answer without being run."""

from __future__ import annotations

from agentflow.testing.agents.stubs import Stubs


def test_stubs_that_fit_answer_one_after_the_other_and_the_last_for_good() -> None:
    stubs = Stubs()
    for given in (1, 2):
        stubs.add("add", {"a": 1}, {"result": given})
    stubs.add("add", {}, {"error": "no"})
    assert [stubs.answer("add", {"a": 1, "b": 2}) for _ in range(4)] == [
        {"result": 1}, {"result": 2}, {"error": "no"}, {"error": "no"},
    ]  # fmt: skip
    assert stubs.answer("add", {"a": 2}) == {"error": "no"}
    assert stubs.answer("pay", {"a": 1}) is None


def test_what_is_left_can_be_gone_back_to() -> None:
    stubs = Stubs()
    stubs.add("add", {}, {"result": 1})
    stubs.add("add", {}, {"result": 2})
    go_back = stubs.mark()
    assert [stubs.answer("add", {}), stubs.answer("add", {})] == [{"result": 1}, {"result": 2}]
    go_back()
    assert stubs.answer("add", {}) == {"result": 1}
