"""A test without Python as it runs: every action, what it fails with, and the same with a process that dies."""

from __future__ import annotations

import inspect
import logging
from pathlib import Path

import pytest

from agentflow import read_scenario
from agentflow.testing import Kit, Outcome, at_every_crash, crashed_everywhere, run_scenario, scenario_files
from tests.pictures import png

QUESTION = '{tool_calls: [{name: ask_user, arguments: {questions: [{header: Plan, question: "Which one?"}]}}]}'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows" / "bank.py").write_text(
        'def pay(amount: int) -> str:\n    """Pay."""\n    raise RuntimeError("a test must not pay")\n\n\n'
        'def add(a: int, b: int) -> int:\n    """Add."""\n    return a + b\n'
    )
    for name, keys in {
        "clerk": "tools: [pay, add]\nsettings: {ask_user_expiry_secs: 3600, retention_days: 30}\n",
        "desk": "sub_agents: [clerk]\ncontext: {strategy: [{use: reset, idle_secs: 3600}]}\n",
        "weigher": "tools: [{handler: client, name: weigh, description: Weigh., parameters: {type: object}}]\n",
    }.items():
        (tmp_path / "agents" / name).mkdir(parents=True)
        file = tmp_path / "agents" / name / "agent.yaml"
        file.write_text(
            f"version: 1\nname: {name}\ndescription: {name}.\nmodel: openai/gpt-4o\nprompt: Be kind.\n{keys}"
        )
    return tmp_path


def passes(project: Path, text: str) -> None:
    assert "\n".join(ran(project, text).failures) == ""


def ran(project: Path, text: str) -> Outcome:
    return run_scenario(read_scenario(project / "x.test.yaml", text=text))


def test_a_message_takes_files_of_the_tests_folder_along(project: Path) -> None:
    """W4"""
    (project / "cat.png").write_bytes(png())
    step = "steps: [{{send: look, attach: [{}], expect: {{answer: a cat}}}}]\n"
    passes(project, "agent: clerk\nreplies: [{text: a cat}]\n" + step.format("cat.png"))
    failures = ran(project, "agent: clerk\nreplies: [{text: a cat}]\n" + step.format("dog.png")).failures
    assert "attach: dog.png" in failures[0]


def test_a_conversation_is_sent_answered_stopped_and_branched(project: Path) -> None:
    passes(project, f"""\
agent: clerk
replies: [{{text: a1}}, {{text: a2}}, {{text: a3}}, {{text: a4}}, {QUESTION},
  {{text: "{{{{ last_tool }}}}"}}, {QUESTION}]
steps:
  - {{send: u1, id: first, expect: {{answer: a1}}}}
  - {{send: u2, id: second, expect: {{answer: a2}}}}
  - {{regenerate: true, expect: {{answer: a3}}}}
  - {{edit: {{step: first, text: u1 instead}}, expect: {{answer: a4, path: [{{user: u1 instead}}, {{assistant: a4}}]}}}}
  - {{switch: second, expect: {{path: [{{user: u1}}, {{assistant: a1}}, {{user: u2}}, {{assistant: a2}}]}}}}
  - {{send: A plan., expect: {{state: paused_ask_user, question: {{contains: [Which one]}}, tools: []}}}}
  - {{restart: true}}
  - {{answers: {{Plan: Pro}}, expect: {{answer: "Plan: Pro", status: idle}}}}
  - {{send: Another., expect: {{state: paused_ask_user}}}}
  - {{stop: true, expect: {{state: aborted}}}}
  - {{answer: late, expect: {{error: no_pending_question}}}}
  - {{send: A second one., session: s-2, wait: false, replies: [{{text: b1}}, {{text: b2}}]}}
  - {{session: s-2, wait: false, expect: {{status: running}}}}
  - {{send: Behind., session: s-2, queue: true, wait: false, expect: {{queued: 1}}}}
  - {{run_all: true, session: s-2, expect: {{answer: b2, queued: 0}}}}
""")  # fmt: skip


def test_tools_answer_from_stubs_and_the_others_are_run(project: Path) -> None:
    passes(project, """\
agent: clerk
tools:
  - {name: pay, when: {amount: 1}, result: {paid: 1}}
  - {name: pay, error: The bank is closed.}
  - {name: pay, result: later}
replies:
  - tool_calls:
      - {name: pay, arguments: {amount: 1}}
      - {name: pay, arguments: {amount: 2}}
      - {name: pay, arguments: {amount: 3}}
      - {name: add, arguments: {a: 1, b: 2}}
  - text: Done.
steps:
  - send: Pay.
    expect:
      tools:
        - {name: pay, arguments: {amount: 1}, result: '{"paid":1}'}
        - {name: pay, result: {contains: [The bank is closed.]}}
        - {name: pay, result: later}
        - {name: add, result: "3"}
      requests: [{system: Be kind., tools: [add, ask_user, pay]}, {last: "3"}]
""")  # fmt: skip


def test_time_passes_and_does_what_it_does(project: Path) -> None:
    """T21, X11, R12: a question expires, an idle session begins afresh, an unused one is deleted."""
    passes(project, f"agent: clerk\nreplies: [{QUESTION}, {{text: anew}}]\n" + """\
steps:
  - {send: A plan.}
  - {advance: next_timer, expect: {status: idle}}
  - {answer: Pro, expect: {error: question_expired}}
  - {send: Anything new, expect: {answer: anew}}
  - {advance: 31d, expect: {gone: true}}
""")  # fmt: skip
    passes(project, """\
agent: desk
history: [{role: user, content: earlier}, {role: assistant, content: indeed}]
replies: [{text: a1}, {text: a2}]
steps:
  - {send: u1, expect: {requests: [{messages: [{user: earlier}, {assistant: indeed}, {user: u1}]}]}}
  - {advance: 1h}
  - {send: u2, expect: {requests: [{messages: [{user: u2}]}]}}
""")  # fmt: skip


def test_a_sub_agent_has_replies_of_its_own_and_a_client_its_results(project: Path) -> None:
    passes(project, """\
agent: desk
replies: [{tool_calls: [{name: task, arguments: {agent: clerk, prompt: Add.}}]}, {text: "It is {{ last_tool }}."}]
replies_of: {clerk: [{text: three}]}
steps: [{send: 1 + 2, expect: {answer: It is three., requests: [{agent: desk}, {agent: clerk}, {agent: desk}]}}]
""")  # fmt: skip
    passes(project, """\
agent: weigher
replies: [{tool_calls: [{name: weigh}]}, {text: "{{ last_tool }} kg"}]
steps: [{send: How heavy, expect: {state: paused_ask_user}}, {result: 3, expect: {answer: 3 kg}}]
""")  # fmt: skip


def test_a_process_dies_where_the_step_says_and_the_next_one_goes_on(project: Path) -> None:
    text = """\
agent: clerk
replies: [{text: a1}, {text: a2}]
steps:
  - {send: u1, crash_after: 1, expect: {status: aborted, events: [turn.started]}}
  - {send: u2, expect: {answer: a2}}
"""  # the model is a new one in the new process only by what it is asked
    assert ran(project, text.replace("answer: a2", "state: done")).failures == ()
    (late,) = ran(project, text.replace("crash_after: 1", "crash_after: 9")).failures[:1]
    assert "steps[0].crash_after: the step was over after 3 commits" in late


@pytest.mark.parametrize(
    ("text", "where", "said"),
    [
        ("agent: nobody\nsteps: [{send: a}]", "1:1: agent", "there is no agents/nobody/agent.yaml in"),
        ("agent: clerk\nreplies_of: {x: []}\nsteps: [{send: a}]", "replies_of.x", "there is no agents/x/agent.yaml in"),
        ("agent: clerk\ntools: [{name: py, result: 1}]\nsteps: [{send: a}]", "tools[0].name", "there are pay, add"),
        (
            "agent: clerk\nreplies: [{text: a}, {text: b}]\nsteps: [{send: a}]",
            "2:1: replies",
            "1 scripted replies were",
        ),
        ("agent: clerk\nreplies: []\nsteps: [{send: a}]", "1:1: agent", "this agent's is openai/gpt-4o"),
        ("agent: clerk\nreplies: [{error: {kind: auth}}]\nsteps: [{send: a}]", "steps[0]", "failed: model_error.auth"),
        (
            "agent: clerk\nreplies: [{text: a}]\nsteps: [{answer: a, session: new}]",
            "steps[0]",
            "raised session_not_found",
        ),
    ],
)
def test_a_test_that_cannot_pass_says_why_and_where(project: Path, text: str, where: str, said: str) -> None:
    (failure,) = ran(project, text).failures
    assert where in failure
    assert said in failure
    assert "/agentflow-test-" not in failure


def test_a_failure_shows_the_short_trace_of_its_step(project: Path) -> None:
    outcome = ran(project, "agent: clerk\nreplies: [{text: Hello.}]\nsteps: [{send: Hi., expect: {answer: Bye.}}]")
    assert "   3  message.new          user: Hi." in outcome.trace.splitlines()
    assert outcome.trace.endswith("done                 Hello.")


# -- a crash at every commit ------------------------------------------------------------------------------------------


def test_every_commit_is_died_after_and_what_is_done_again_is_told(
    project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    call = "{tool_calls: [{name: add, arguments: {a: 1, b: 2}}]}"
    file = read_scenario(
        project / "x.test.yaml",
        text=f"agent: clerk\nreplies: [{call}, {{text: Three.}}]\nsteps: [{{send: 1 + 2}}, {{advance: 1s}}]",
    )
    crashes = list(crashed_everywhere(file, run_scenario(file)))
    assert [(each.step, each.commit, each.of, each.otherwise) for each in crashes] == [
        (1, commit, 5, None) for commit in range(1, 6)
    ]
    assert [len(each.again) for each in crashes] == [0, 1, 1, 0, 0]


def test_a_run_that_ends_otherwise_says_how(project: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The answer is kept by the process that died; nobody goes on with its turn."""
    caplog.set_level(logging.CRITICAL)
    text = f"agent: clerk\nreplies: [{QUESTION}, {{text: Fine.}}]\nsteps: [{{send: A plan.}}, {{answer: Pro}}]"
    file = read_scenario(project / "x.test.yaml", text=text)
    otherwise = [each for each in crashed_everywhere(file, run_scenario(file)) if each.otherwise]
    assert [(each.step, each.commit) for each in otherwise] == [(2, 1)]
    assert "session s-1: aborted" in (otherwise[0].otherwise or "")


def test_a_python_test_is_repeated_at_every_crash() -> None:
    ran: list[int] = []

    def goes_on(kit: Kit) -> None:
        ran.append(kit.all_commits)
        kit.script([{"text": "back"}])
        assert kit.send("Are you there?").answer == "back"

    @at_every_crash(then=goes_on)
    def test(agentflow: Kit, tmp_path: str) -> None:
        agentflow.agent(replies=[{"text": "a1"}])
        agentflow.send("u1")

    assert list(inspect.signature(test).parameters) == ["tmp_path"]
    test(tmp_path="")
    assert ran == [2, 1, 2]


def test_a_claim_that_fails_says_at_which_crash() -> None:
    @at_every_crash(then=lambda kit: None if kit.all_commits != 1 else pytest.fail("one commit"))
    def test(agentflow: Kit) -> None:
        agentflow.agent(replies=[{"text": "a1"}])
        agentflow.send("u1")

    with pytest.raises(BaseException, match="one commit") as failed:
        test()
    assert failed.value.__notes__ == ["The process had died right after commit 1 of 2."]


def test_the_files_of_a_folder_are_found_and_hidden_ones_left_out(tmp_path: Path) -> None:
    for name in ("b.test.yaml", "a/a.test.yaml", ".venv/c.test.yaml", "a/test.yaml", "node_modules/d.test.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    found = scenario_files([tmp_path, tmp_path / "b.test.yaml"])
    assert [path.relative_to(tmp_path).as_posix() for path in found] == ["a/a.test.yaml", "b.test.yaml"]
