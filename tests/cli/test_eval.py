"""R9, end to end: a conversation is captured, the world changes, and the agent goes through it again."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Command

FLOWS = '''
import sqlite3
from contextlib import closing

from agentflow import FlowContext


def load_plan(key: str) -> dict:
    """Load the plan of a customer."""
    with closing(sqlite3.connect("plans.db")) as db:
        (plan,) = db.execute("SELECT plan FROM customer WHERE id = ?", (key,)).fetchone()
    return {"plan": plan}


def plan_of(ctx: FlowContext, customer: str) -> str:
    """Say the plan of a customer."""
    return ctx.get_with_snap("customer", customer, load_plan)["plan"]


def send_mail(text: str) -> str:
    """Send a mail."""
    with open("sent.log", "a") as log:
        log.write(text + "\\n")
    return "sent"
'''
AGENT = """
name: plans
model: scripted/replies.yaml
prompt: "{prompt} The customer has {{{{ vars.customer.plan }}}}."
tools: [{tools}]
settings: {{snap_session_mode: all, name_chats: false}}
hooks:
  step_start: [{{flow: GetWithSnap, with: {{entity: customer, key: "7", loader: load_plan, as: customer}}}}]
"""
SCRIPT = """
replies:
- {when: {tool: plan_of}, tool_calls: [{name: send_mail, arguments: {text: "{{ last_tool }}"}}], repeat: true}
- {when: {tool: send_mail}, text: "You have {{ last_user }} it in writing.", repeat: true}
- {tool_calls: [{name: plan_of, arguments: {customer: "7"}}], repeat: true}
"""


def plan(name: str) -> None:
    """What the database of plans says of customer 7 from now on."""
    with closing(sqlite3.connect("plans.db")) as db, db:
        db.execute("CREATE TABLE IF NOT EXISTS customer (id TEXT PRIMARY KEY, plan TEXT)")
        db.execute("INSERT OR REPLACE INTO customer VALUES ('7', ?)", (name,))


def write_agent(project: Path, *, prompt: str = "You help.", tools: str = "plan_of, send_mail") -> None:
    (project / "agents" / "plans" / "agent.yaml").write_text(AGENT.format(prompt=prompt, tools=tools))


@pytest.fixture
def captured(agentflow: Command, project: Path) -> Path:
    """A conversation under `snap_session_mode: all`, recorded and captured; then the database changes."""
    (project / "workflows").mkdir()
    (project / "workflows" / "plans.py").write_text(FLOWS)
    (project / "agents" / "plans").mkdir()
    (project / "agents" / "plans" / "replies.yaml").write_text(SCRIPT)
    write_agent(project)
    plan("Pro")
    ran = agentflow("run", "plans", "-s", "s-1", "in May", "--record", "talk.jsonl")
    assert (ran.code, ran.out) == (0, "You have in May it in writing.\n")
    assert agentflow("eval", "capture", "s-1", "-o", "case.yaml").code == 0
    plan("Basic")
    return project / "case.yaml"


def test_the_case_is_a_file_for_people(agentflow: Command, captured: Path) -> None:
    text = captured.read_text()
    assert "\n".join(text.splitlines()[1:]) == "\n".join([
        "version: 1",
        "agent: plans",
        "about: Captured from session s-1, turn 1.",
        "turns:",
        "- messages:",
        "  - in May",
        "  data:",
        "  - entity: customer",
        "    key: '7'",
        "    value:",
        "      plan: Pro",
        "  tools:",
        "  - name: plan_of",
        "    arguments:",
        "      customer: '7'",
        "    result: Pro",
        "  - name: send_mail",
        "    arguments:",
        "      text: Pro",
        "    result: sent",
        "  expect:",
        "    state: done",
        "    answer: You have in May it in writing.",
        "    tools:",
        "    - name: plan_of",
        "      arguments:",
        "        customer: '7'",
        "    - name: send_mail",
        "      arguments:",
        "        text: Pro",
    ])  # fmt: skip
    assert captured.stat().st_mode & 0o777 == 0o600
    again = agentflow("eval", "capture", "s-1", "-o", "case.yaml")
    assert (again.code, "--force" in again.err) == (2, True)


def test_it_runs_on_the_old_data_without_touching_the_world(agentflow: Command, captured: Path, project: Path) -> None:
    """F48: no effect, and no session that anybody counts."""
    before = agentflow("insights", "--json").out, agentflow("sessions", "ls").out
    for options in ((), ("--replay", "talk.jsonl"), ("--times", "3"), ("--live-tools", "plan_of")):
        ran = agentflow("eval", "run", "case.yaml", *options)
        assert (ran.code, ran.out.splitlines()[-1].split(" (")[0]) == (
            0, "passed 3 of 3" if "--times" in options else "passed 1 of 1"
        ), (options, ran.out, ran.err)  # fmt: skip
    assert (project / "sent.log").read_text() == "Pro\n"
    assert (agentflow("insights", "--json").out, agentflow("sessions", "ls").out) == before
    live = agentflow("eval", "run", "case.yaml", "--live-tools", "plan_of", "--live-tools", "send_mail")
    assert (live.code, (project / "sent.log").read_text()) == (0, "Pro\nPro\n")


def test_an_agent_that_became_worse_fails(agentflow: Command, captured: Path, project: Path) -> None:
    write_agent(project, tools="send_mail")
    ran = agentflow("eval", "run", "case.yaml", "--json", "--junit", "report.xml")
    report = json.loads(ran.out)
    assert (ran.code, report["ok"], report["failed"], report["errors"], report["rate"]) == (1, False, 1, 0, 0.0)
    [made] = report["cases"][0]["attempts"]
    assert made["outcome"] == "fail"
    assert 'turn 1: tools: send_mail {"text":"Pro"} was not called' in made["problems"]
    suites = ElementTree.parse(project / "report.xml").getroot()  # our own
    assert (suites.get("tests"), suites.get("failures"), suites.get("errors")) == ("1", "1", "0")
    assert suites.find("testsuite/testcase/failure") is not None


def test_a_replay_shows_what_the_agent_asks_now(agentflow: Command, captured: Path, project: Path) -> None:
    """ "a miss shows the nearest and the difference": it is no verdict on the agent."""
    write_agent(project, prompt="You help badly.")
    ran = agentflow("eval", "run", "case.yaml", "--replay", "talk.jsonl")
    assert ran.code == 1
    assert "passed 0 of 0, 1 could not be judged" in ran.out
    assert "The nearest is reply 1: message 1 (system) is now" in ran.out, ran.out
    assert "You help badly." in ran.out


def test_a_mistake_in_a_case_is_shown_where_it_is(agentflow: Command, captured: Path) -> None:
    captured.write_text(captured.read_text().replace("    answer: ", "    anser: "))
    ran = agentflow("eval", "run", "case.yaml")
    assert ran.code == 2
    assert "case.yaml:24:5: turns[0].expect.anser: unknown key, did you mean 'answer'?" in ran.err
    assert "^" in ran.err


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("nowhere.yaml",), 2, "nowhere.yaml:1:1: cannot be read"),
        (("case.yaml", "--live-tools", "sendmail"), 2, "no agent of these cases has a tool 'sendmail'"),
        (("case.yaml", "--judge", "gpt"), 2, "agent 'plans' has no interface 'gpt'; it has llm://main"),
        (("case.yaml", "--replay", "nothing.jsonl"), 2, "the recording cannot be read"),
        (("case.yaml", "--times", "0"), 2, "--times"),
    ],
)
def test_what_cannot_run_runs_nothing(
    agentflow: Command, captured: Path, options: tuple[str, ...], code: int, said: str
) -> None:
    ran = agentflow("eval", "run", *options)
    assert (ran.code, said in ran.err) == (code, True), ran.err


def test_a_session_without_words_is_not_captured(agentflow: Command, captured: Path) -> None:
    assert agentflow("eval", "capture", "nobody").code == 3
    missing = agentflow("eval", "capture", "s-1", "--turn", "2")
    assert (missing.code, "has no turn 2" in missing.err) == (3, True)
    assert agentflow("eval", "capture", "s-1", "--turn", "1").out == captured.read_text()
    assert (
        agentflow("eval", "capture", "s-1", "-o", "cases/new/one.yaml").code == 0
    )  # in a folder that is not there yet


def test_the_schema_of_a_case_is_printed(agentflow: Command) -> None:
    assert "turns" in json.loads(agentflow("schema", "--case").out)["properties"]
