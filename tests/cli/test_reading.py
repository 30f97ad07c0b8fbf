"""`sessions` and `events`: what is stored, as text and as JSON."""

from __future__ import annotations

import json

import pytest

from cli.sessions.show import transcript
from tests.cli.conftest import Command


def test_sessions_are_listed_the_newest_first(agentflow: Command) -> None:
    for session in ("s-1", "s-2"):
        agentflow("run", "echo", "-s", session, "Hello")
    head, newest, oldest = agentflow("sessions", "ls").out.splitlines()
    assert head.split() == ["SESSION", "AGENT", "STATE", "TURNS", "UPDATED", "TITLE"]
    assert newest.split()[:4] == ["s-2", "echo", "done", "1"]
    assert oldest.split()[0] == "s-1"
    (only,) = json.loads(agentflow("sessions", "ls", "--json", "--limit", "1").out)["sessions"]
    assert only["session_id"] == "s-2"


def test_a_list_that_is_cut_says_how_many_more_there_are_and_how_to_see_them(agentflow: Command) -> None:
    """D19"""
    for number in range(3):
        agentflow("run", "echo", "-s", f"s-{number}", "Hello")
    listed = agentflow("sessions", "ls", "--limit", "2")
    assert listed.err.startswith("1 more: agentflow sessions ls --cursor ")
    cursor = listed.err.split()[-1]
    assert agentflow("sessions", "ls", "--cursor", cursor).out.splitlines()[1].split()[0] == "s-0"
    page = json.loads(agentflow("sessions", "ls", "--json", "--limit", "2").out)
    assert (len(page["sessions"]), page["more"], page["cursor"]) == (2, 1, cursor)
    for wrong in ("nonsense", "e30"):
        assert agentflow("sessions", "ls", "--cursor", wrong).code == 2
    assert "another agent" in agentflow("sessions", "ls", "--agent", "echo", "--cursor", cursor).err


def test_an_empty_list_is_a_list(agentflow: Command) -> None:
    assert json.loads(agentflow("sessions", "ls", "--json").out) == {"sessions": [], "more": 0, "cursor": None}
    listed = agentflow("sessions", "ls")
    assert len(listed.out.splitlines()) == 1
    assert "no sessions here yet" in listed.err


def test_a_transcript_shows_who_said_what(agentflow: Command) -> None:
    agentflow("run", "echo", "-s", "s-1", "Hello")
    assert agentflow("sessions", "show", "s-1").out == "user: Hello\n\nassistant: Hello\n"
    messages = json.loads(agentflow("sessions", "show", "s-1", "--json").out)["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"]


def test_a_transcript_shows_tool_calls_and_leaves_out_what_is_hidden() -> None:
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {}}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "t", "name": "add", "arguments": '{"a": 1}'}]},
        {"role": "tool", "content": "x" * 600, "name": "add", "tool_call_id": "t"},
        {"role": "user", "content": "go on", "hidden": True},
    ]
    assert list(transcript(messages)) == [
        "user: see\n    [image_url]\n",
        '  add({"a": 1})\n',
        f"  add = {'x' * 500}…\n",
    ]


def test_a_deleted_session_is_gone(agentflow: Command) -> None:
    """R12"""
    agentflow("run", "echo", "-s", "s-1", "Hello")
    assert agentflow("sessions", "rm", "s-1").code == 0
    assert agentflow("sessions", "show", "s-1").code == 3


@pytest.mark.parametrize("command", [("sessions", "show"), ("sessions", "rm"), ("events",)])
def test_a_session_that_is_not_there_gives_3(agentflow: Command, command: tuple[str, ...]) -> None:
    done = agentflow(*command, "nowhere")
    assert (done.code, done.out) == (3, "")
    assert "session_not_found" in done.err


def test_events_are_json_lines_from_any_number_on(agentflow: Command) -> None:
    """T40"""
    agentflow("run", "echo", "-s", "s-1", "Hello")
    events = [json.loads(line) for line in agentflow("events", "s-1").out.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert set(events[0]) == {"session_id", "seq", "turn_id", "at", "type", "data"}
    later = [json.loads(line) for line in agentflow("events", "s-1", "--after", "3").out.splitlines()]
    assert later == events[3:]
