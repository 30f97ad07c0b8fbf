"""`agentflow test`: what came of tests without Python, and with which exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command

GOOD = (
    "agent: echo\ndescription: It greets.\nreplies: [{text: Hello.}]\nsteps: [{send: Hi., expect: {answer: Hello.}}]\n"
)
BAD = GOOD.replace("answer: Hello.", "answer: Bye.")


@pytest.fixture
def tests(project: Path) -> Path:
    (project / "tests").mkdir()
    (project / "tests" / "good.test.yaml").write_text(GOOD)
    return project / "tests"


def test_what_passes_is_listed_and_exits_with_0(agentflow: Command, tests: Path) -> None:
    done = agentflow("test")
    assert (done.code, done.out, done.err) == (0, "passed   tests/good.test.yaml  It greets.\n", "1 passed\n")


def test_what_fails_is_shown_with_its_place_and_trace(agentflow: Command, tests: Path) -> None:
    (tests / "bad.test.yaml").write_text(BAD)
    done = agentflow("test", "tests")
    assert done.code == 1
    assert "failed   tests/bad.test.yaml" in done.out
    assert "    tests/bad.test.yaml:4:30: steps[0].expect.answer: must be 'Bye.', is 'Hello.'" in done.out
    assert "message.new          assistant: Hello." in done.out
    assert agentflow("test", "-k", "GOOD").code == 0
    told = json.loads(agentflow("test", "--json").out)["tests"]
    assert [(each["path"], each["state"]) for each in told] == [
        ("tests/bad.test.yaml", "failed"), ("tests/good.test.yaml", "passed"),
    ]  # fmt: skip


def test_a_file_with_mistakes_exits_with_2_and_the_others_run(agentflow: Command, tests: Path) -> None:
    (tests / "wrong.test.yaml").write_text("agent: echo\nsteps: [{sned: Hi.}]\n")
    done = agentflow("test")
    assert done.code == 2
    assert "invalid  tests/wrong.test.yaml" in done.out
    assert "did you mean 'send'?" in done.out
    assert done.err == "1 passed, 1 invalid\n"


@pytest.mark.parametrize("args", [("-k", "nothing"), ("agents",), ("nowhere",), ("agents/echo/agent.yaml",)])
def test_no_test_is_a_mistake_of_the_command_line(agentflow: Command, tests: Path, args: tuple[str, ...]) -> None:
    assert agentflow("test", *args).code == 2


def test_a_crash_at_every_commit_is_a_table(agentflow: Command, tests: Path) -> None:
    done = agentflow("test", "--crash", "every")
    assert (done.code, done.out.splitlines()[1]) == (0, "    died after each of 3 commits: 0 ended otherwise")
    question = '{tool_calls: [{name: ask_user, arguments: {questions: [{header: Plan, question: "Which one?"}]}}]}'
    (tests / "good.test.yaml").write_text(
        f"agent: echo\nreplies: [{question}, {{text: Fine.}}]\nsteps: [{{send: A plan.}}, {{answer: Pro}}]\n"
    )
    otherwise = agentflow("test", "--crash", "every")
    assert otherwise.code == 1
    assert "    step 2, commit 1 of 3: session s-1: aborted" in otherwise.out
    (told,) = json.loads(agentflow("test", "--crash", "every", "--json").out)["tests"]
    assert [each["otherwise"] is not None for each in told["crashes"]] == [False, False, True, False, False]


def test_the_schema_for_editors_is_printed(agentflow: Command) -> None:
    assert json.loads(agentflow("schema", "--test").out)["title"] == "agentflow *.test.yaml"


def test_a_test_is_written_from_a_session_and_passes(agentflow: Command, project: Path) -> None:
    agentflow("run", "echo", "-s", "s-1", "Hi.")
    agentflow("run", "echo", "-s", "s-1", "Again.")
    done = agentflow("test", "--from-session", "s-1", "-o", "tests/talk.test.yaml")
    assert (done.code, done.out, done.err) == (0, "", "wrote tests/talk.test.yaml\n")
    assert (project / "tests" / "talk.test.yaml").stat().st_mode & 0o077 == 0
    assert agentflow("test").code == 0
    assert "history:" in agentflow("test", "--from-session", "s-1", "--turn", "2").out
    assert agentflow("test", "--from-session", "s-1", "-o", "tests/talk.test.yaml").code == 2
    assert agentflow("test", "--from-session", "nowhere").code == 3
    assert agentflow("test", "--turn", "2").code == 2


def test_the_inputs_of_a_session_are_part_of_its_test(agentflow: Command, project: Path) -> None:
    agentflow("run", "informed", "-s", "s-1", "--input", "city=Rome", "Hi.")
    done = agentflow("test", "--from-session", "s-1")
    assert (done.code, "city: Rome" in done.out) == (0, True)
