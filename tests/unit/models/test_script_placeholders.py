"""A script's replies can use what the user said and what a tool gave, in the text and in a call's arguments."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agentflow.errors import InvalidConfig
from agentflow.models.protocol import ModelRequest, TextDelta, ToolFragment
from agentflow.models.scripted_model import ScriptedModel

GUARD = {"last_user": r"(?P<expression>\d.*\d)"}


def _reply(reply: dict[str, Any], user: str) -> tuple[str, str]:
    """The text and the arguments that a script of this one reply streams."""

    async def stream() -> tuple[str, str]:
        model = ScriptedModel([reply])
        asked = ModelRequest("c1", "main", [{"role": "user", "content": user}])
        deltas = [delta async for delta in model.stream(asked)]
        text = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
        return text, "".join(delta.arguments for delta in deltas if isinstance(delta, ToolFragment))

    return asyncio.run(stream())


def test_a_named_group_of_the_guard_can_be_used_in_text_and_arguments() -> None:
    call = {"name": "calculate", "arguments": {"expression": "{{ expression }}"}}
    text, arguments = _reply({"when": GUARD, "text": "{{ expression }}", "tool_calls": [call]}, "What is 6 * 7?")
    assert text == "6 * 7"
    assert json.loads(arguments) == {"expression": "6 * 7"}


def test_arguments_stay_valid_json_whatever_the_user_said() -> None:
    said = 'a "quoted"\nline \\ and {{ more }}'
    _, arguments = _reply({"tool_calls": [{"name": "f", "arguments": {"text": "{{ last_user }}"}}]}, said)
    assert json.loads(arguments) == {"text": said}


def test_a_placeholder_that_nothing_fills_is_refused() -> None:
    with pytest.raises(InvalidConfig, match=r"expresion.*there are last_tool and last_user and expression"):
        ScriptedModel([{"when": GUARD, "text": "{{ expresion }}"}])
