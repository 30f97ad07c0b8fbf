"""Scripts are read strictly: every mistake at once, with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentflow.config.document import yamlfile
from agentflow.errors import InvalidConfig
from agentflow.models.script import ScriptedReply, read_reply, read_script

WHOLE = """
x-common: &slow {chunk_size: 4, delay_secs: 0.01}
replies:
  - text: "Let me look."
    tool_calls: [{name: get_weather, arguments: {city: Paris}}]
    usage: {input: 1200, output: 20}
  - when: {last_user: "(?i)refund"}
    text: "It is {{ last_tool }}."
    repeat: true
  - error: {kind: context_overflow}
  - {<<: *slow, text: "slow", reasoning: "...", finish_reason: length}
at_end: echo
"""


def test_the_example_of_the_reference_is_read() -> None:
    script = read_script(yamlfile.parse(WHOLE, "s.yaml"))
    first, second, third, fourth = script.replies
    assert (script.at_end, first.tool_calls[0].arguments) == ("echo", '{"city": "Paris"}')
    assert (second.repeat, second.template, first.template) == (True, True, False)
    assert third.error is not None
    assert (third.error.kind, fourth.chunk_size, fourth.delay_secs) == ("context_overflow", 4, 0.01)


def test_all_mistakes_are_told_at_once_with_line_and_column() -> None:
    """A2"""
    text = "replies:\n  - txt: hi\n    repeat: 1\n  - text: 5\n    error: {kind: cut_off}\nat_end: stop\n"
    with pytest.raises(InvalidConfig) as caught:
        read_script(yamlfile.parse(text, "s.yaml"))
    told = caught.value.detail["problems"]
    assert [(each["line"], each["column"], each["key"], each["message"]) for each in told] == [
        (2, 5, "replies[0].txt", "unknown key, did you mean 'text'?"),
        (3, 5, "replies[0].repeat", "must be true or false"),
        (4, 5, "replies[1].text", "must be a text; put it in quotes"),
        (5, 13, "replies[1].error.kind", "must be one of rate_limited, timeout, unavailable, auth, bad_request, "
         "context_overflow, cut, bad_reply, output_limit, content_filter"),
        (6, 1, "at_end", "must be one of error, repeat, echo"),
    ]  # fmt: skip


WRONG: list[tuple[Any, str]] = [
    ("hello", "must be a mapping with some of text"),
    ({"text": "x", "tool_calls": {"name": "f"}}, "tool_calls: must be a list"),
    ({"tool_calls": [{"nme": "f"}]}, "did you mean 'name'"),
    ({"usage": {"input": -1}}, "usage.input: must be a whole number, at least 0"),
    ({"usage": {"input": True}}, "usage.input: must be a whole number"),
    ({"chunk_size": 0}, "chunk_size: must be a whole number, at least 1"),
    ({"delay_secs": "fast"}, "delay_secs: must be a number"),
    ({"when": {"last_user": "("}}, "when.last_user: is not a regular expression"),
    ({"when": {"purpose": "titel"}}, "when.purpose: must be one of main, planner, summary, title"),
    ({"error": {"after": 3}}, "error: needs a kind"),
    ({"provider": []}, "provider: must be a mapping"),
    ({"finish_reason": "end"}, "finish_reason: must be one of stop, tool_calls, length, refusal, content_filter"),
]


@pytest.mark.parametrize(("reply", "message"), WRONG)
def test_a_wrong_reply_is_refused(reply: Any, message: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        read_reply(reply)
    assert message in str(caught.value)


def test_a_script_needs_replies() -> None:
    with pytest.raises(InvalidConfig, match="replies: is required"):
        read_script(yamlfile.parse("at_end: echo", "s.yaml"))


def test_an_empty_reply_is_an_empty_answer() -> None:
    """B37: it can be scripted."""
    assert read_reply({}) == ScriptedReply()


def test_texts_are_made_storable() -> None:
    """T43"""
    assert read_reply({"text": "a\ud83d\ude00\x00"}).text == "a\U0001f600"


def test_the_shipped_scripts_are_sound() -> None:
    """A script that cannot be read would only show when its agent runs."""
    found = sorted((Path(__file__).parents[3] / "agent_yaml").glob("agents/*/*.yaml"))
    scripts = [path for path in found if path.read_text().lstrip().startswith("replies:")]
    assert all(read_script(yamlfile.read(path)).replies for path in scripts)
