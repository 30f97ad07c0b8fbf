"""Z3: what every parser takes in depth and in size, and that more of either is an error of its own, never Python's.

`TABLE` is the documentation too: docs/trust.md shows it.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import zlib
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest

from agentflow.agents import worker
from agentflow.bounds import json_slices, patterns
from agentflow.bounds.weight import MAX_BYTES, MAX_LEVELS, MAX_VALUES, is_deep
from agentflow.config.document import yamlfile
from agentflow.config.inputs import parse_assignments
from agentflow.config.keys.agent import InputSpec
from agentflow.config.keys.templates import TemplateFault, render
from agentflow.conversation.history import History, exchanges, lean
from agentflow.conversation.inbox import MAX_MESSAGES, parse_input
from agentflow.conversation.tool_schema import schema_complaint
from agentflow.conversation.tree import Branch, Path, Place
from agentflow.errors import AgentflowError
from agentflow.message import Message, ToolCall
from agentflow.models.argument_pieces import joined
from agentflow.models.errors import Facts, model_error
from agentflow.portable.brought import Brought
from agentflow.text import holds_object, read_json, stored_json
from agentflow.tools.arguments import parse_arguments
from agentflow.tools.matching import mismatch, validator_of
from agentflow.tools.plain_values import Unreadable
from agentflow.tools.results import settled, success
from agentflow.turn.calls.hooks import HookFailed, _understood
from agentflow.turn.calls.model_stream import MAX_CALLS, MAX_REPLY
from agentflow.turn.rules import packed_json
from tests.guards.source import ROOT
from workflows.calculator import MAX_DEPTH, MAX_EXPRESSION, calculate

DEEP = 100_000
MESSAGES = 50_000

Refused = (ValueError, AgentflowError, Unreadable, TemplateFault, HookFailed)


def _nested(levels: int) -> Any:
    held: Any = 1
    for _ in range(levels):
        held = {"a": held}
    return held


def _text(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


def _many(count: int) -> str:
    return "[" + "1," * count + "1]"


def _input(state: Any) -> Any:
    return parse_input({"type": "client.append", "messages": [], "client": {"state": state}})


def _imported(text: str) -> Any:
    return Brought(io.BytesIO(text.encode()))


def _hook(value: Any) -> Any:
    return _understood("pre_tool", {"arguments": value})


def _assigned(text: str) -> Any:
    return parse_assignments({"a": InputSpec(type="object")}, [f"a={text}"])


def _argument_text(text: str) -> Any:
    return parse_arguments('{"a":' + text + "}")


def _packed(text: str) -> Any:
    return packed_json.unpack(zlib.compress(text.encode()))


@dataclass(frozen=True, slots=True)
class Parser:
    """One parser: what the page says of its depth and size, and what is given that is more than it takes."""

    what: str
    depth: str
    size: str
    read: Callable[[Any], Any]
    too_much: tuple[Any, ...]


_LEVELS = f"{MAX_LEVELS} levels"
_VALUES = f"{MAX_VALUES:,} values, {MAX_BYTES:,} bytes"

TABLE = (
    Parser("JSON of workers, `--input`, `--answers`, cursors", _LEVELS, _VALUES, read_json,
           (_text(65), _text(DEEP), "[" * DEEP, _many(MAX_VALUES), " " * MAX_BYTES + "1", "1e999")),
    Parser("a worker's answer in Python", _LEVELS, _VALUES, worker._as_json,
           (_nested(65), _nested(DEEP), [0] * MAX_VALUES, "é" * (MAX_BYTES // 2 + 1))),
    Parser("an input of a client", _LEVELS, f"{_VALUES}, {MAX_MESSAGES:,} messages", _input,
           (_nested(65), _nested(DEEP), [0] * MAX_VALUES, "x" * (MAX_BYTES + 1), 2**1025)),
    Parser("arguments of a tool call", _LEVELS, f"{MAX_REPLY:,} characters, {MAX_CALLS:,} calls a reply",
           _argument_text, (_text(65), _text(DEEP), "[" * DEEP, "[" * 2_000_000, "1e999", _many(600_000))),
    Parser("a result of `settle`", _LEVELS, _VALUES, settled, (_nested(65), _nested(DEEP), [0] * MAX_VALUES)),
    Parser("what a flow returns", _LEVELS, "5,000,000 bytes, the rest is cut", success, (_nested(65), _nested(DEEP))),
    Parser("what a hook returns", _LEVELS, _VALUES, _hook, (_nested(65), _nested(DEEP), {"a": [0] * MAX_VALUES})),
    Parser("an imported session", _LEVELS, f"{_VALUES} a line", _imported,
           (_text(65), _text(DEEP), "[" * DEEP, _many(MAX_VALUES))),
    Parser("JSON of a database", _LEVELS, "what one row holds", stored_json, (_text(65), _text(DEEP), "[" * DEEP)),
    Parser("an entity's data in a snapshot", _LEVELS, f"{packed_json.MAX_CHARS:,} characters", _packed,
           (_text(65), _text(DEEP), " " * 400_000_000)),
    Parser("agent.yaml and other YAML", f"{yamlfile.MAX_DEPTH} levels",
           f"{yamlfile.MAX_VALUES:,} values, {yamlfile.MAX_BYTES:,} bytes",
           lambda text: yamlfile.parse(text, "a.yaml", variables={}),
           ("[" * 5_000, "- " * 40_000, _many(yamlfile.MAX_VALUES), "a" * (yamlfile.MAX_BYTES + 1))),
    Parser("an input on the command line", _LEVELS, _VALUES, _assigned, (_text(65), _text(DEEP), "[" * DEEP)),
    Parser("a template", "20 blocks", "50 ms of work a prompt", lambda text: render(text, {}),
           ("{{ " + "[" * 1_000 + "]" * 1_000 + " }}", "{% for a in range(10**9) %}{% endfor %}")),
    Parser("a pattern of a script", "30 groups", f"{patterns.MAX_PATTERN:,} characters, {patterns.MAX_SIZE:,} parts",
           patterns.compiled, ("(" * 40 + ")" * 40, "a" * 1_001, "(?:a{100}){101}")),
    Parser("an expression of `calculate`", f"{MAX_DEPTH} levels", f"{MAX_EXPRESSION} characters", calculate,
           ("-" * 61 + "1", "(" * 250, "1" * 501, "9 ** 9 ** 9")),
)  # fmt: skip


CASES = [(parser, given) for parser in TABLE for given in parser.too_much]


@pytest.mark.parametrize(("parser", "given"), CASES, ids=[parser.what for parser, _ in CASES])
def test_too_much_is_refused_in_words_of_ours(parser: Parser, given: Any) -> None:
    with pytest.raises(Refused) as refused:
        parser.read(given)
    assert "recursion" not in str(refused.value).lower()
    assert len(str(refused.value)) < 2_000


@pytest.mark.parametrize("parser", TABLE, ids=[parser.what for parser in TABLE])
def test_the_page_says_what_each_takes(parser: Parser) -> None:
    assert f"| {parser.what} | {parser.depth} | {parser.size} |" in (ROOT / "docs/trust.md").read_text("utf-8")


@pytest.mark.parametrize("parser", TABLE[:3], ids=[parser.what for parser in TABLE[:3]])
def test_what_is_just_allowed_is_taken(parser: Parser) -> None:
    deepest: Any = _nested(60)
    parser.read(json.dumps(deepest) if parser.read is read_json else deepest)


def test_what_only_looks_at_json_says_no_and_raises_nothing() -> None:
    """A reply's arguments, a provider's error body, and a value's depth, whatever they hold."""
    for text in (_text(DEEP), "[" * DEEP, '{"a":' * DEEP, _text(500)):
        assert not holds_object(text)
        assert joined([text]) == text
        assert model_error("m", Facts(f"BadRequestError: {text}"[:4000])).kind is not None
    assert is_deep(_nested(DEEP))
    assert not is_deep(_nested(MAX_LEVELS))


@pytest.mark.parametrize("text", [_text(1_000), "[" * 70_000, '"' + "\\" * 70_001, "9" * 2_000, '{"a":1,"a":2}'])
def test_json_in_slices_refuses_what_the_other_way_does(text: str) -> None:
    with pytest.raises(ValueError, match=r"it is |a number|given twice"):
        json_slices.read(text, most_values=MAX_VALUES, most_levels=MAX_LEVELS, keys_once=True)


def _chain(length: int, last: Any) -> dict[str, Any]:
    """A schema whose parts refer to each other, one after the other."""
    parts = {f"p{n}": {"$ref": f"#/$defs/p{n + 1}"} for n in range(length)}
    return {"type": "object", "$ref": "#/$defs/p0", "$defs": {**parts, f"p{length}": last}}


@pytest.mark.parametrize(
    "last", [{}, {"$ref": "#/$defs/p0"}, {"$ref": "#/$defs/nowhere"}], ids=["end", "circle", "gone"]
)
def test_a_chain_of_references_in_a_schema_has_an_end(last: Any) -> None:
    """The call that checks arguments makes a complaint of whatever this raises; it comes soon."""
    schema = _chain(1_000, last)
    schema_complaint(schema)
    with contextlib.suppress(Exception):
        mismatch(validator_of(schema), {"a": 1})


def test_a_conversation_of_50_000_messages_is_walked_without_recursion() -> None:
    path = [Message(f"m{n}", "user" if n % 2 else "assistant", "hello") for n in range(MESSAGES)]
    calls = Message("c", "assistant", None, tuple(ToolCall(f"c{n}", "t", "{}") for n in range(1_000)))
    path += [calls, *(Message(f"r{n}", "tool", "x", tool_call_id=f"c{n}") for n in range(1_000))]
    assert len(exchanges(path)) == MESSAGES + 1
    assert len(lean(path)) == MESSAGES
    history = History("m")
    history.extend(path)
    assert len(history.wire) == len(path)
    assert len(deepcopy(history.wire)) == len(path)
    branches = {n: Branch(n, n - 1 or None, 1 if n > 1 else 0) for n in range(1, MESSAGES)}
    assert len(Path.to(branches, Place(MESSAGES - 1, 2)).segments) == MESSAGES - 1


def test_the_page_and_the_table_have_as_many_rows() -> None:
    section = (ROOT / "docs/trust.md").read_text("utf-8").partition("## Limits")[2].partition("\n## ")[0]
    assert len(re.findall(r"^\| .+ \|$", section, re.MULTILINE)) == len(TABLE) + 1
