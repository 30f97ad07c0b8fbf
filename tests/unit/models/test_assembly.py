"""Streams become replies, however the provider cut them up."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentflow.message import ToolCall, Usage
from agentflow.models import assembly
from agentflow.models.argument_pieces import Ending, value_of
from agentflow.models.assembly import Assembler, RawCall, Reply, settle_calls
from agentflow.models.protocol import (
    Delta,
    FinishReason,
    ProviderData,
    ReasoningDelta,
    TextDelta,
    ToolFragment,
    UsageReport,
)

F = ToolFragment
THREE = (RawCall("a", "look", '{"at":1}'), RawCall("b", "look", '{"at":2}'), RawCall("c", "find", "{}"))
WITHOUT_IDS = tuple(RawCall(None, call.name, call.arguments) for call in THREE)


def assemble(*deltas: Delta) -> Reply:
    assembler = Assembler()
    for delta in deltas:
        assembler.feed(delta)
    return assembler.reply()


FORMS: dict[str, tuple[list[ToolFragment], tuple[RawCall, ...]]] = {
    "all under index 0, told apart by id": (
        [
            F(0, "a", "look", '{"at"'), F(0, "a", None, ":1}"),
            F(0, "b", "look", '{"at"'), F(0, None, None, ":2}"),
            F(0, "c", "find", "{}"),
        ],
        THREE,
    ),
    "id in the first fragment only, interleaved by index": (
        [
            F(0, "a", "look", ""), F(1, "b", "look", ""), F(2, "c", "find", ""),
            F(1, None, None, '{"at"'), F(0, None, None, '{"at"'), F(2, None, None, "{}"),
            F(0, None, None, ":1}"), F(1, None, None, ":2}"),
        ],
        THREE,
    ),
    "interleaved by id under one index": (
        [
            F(0, "a", "look", ""), F(0, "b", "look", ""), F(0, "a", None, '{"at"'), F(0, "b", None, '{"at"'),
            F(0, "a", None, ":1}"), F(0, "b", None, ":2}"), F(0, "c", "find", "{}"),
        ],
        THREE,
    ),
    "a whole call per delta": ([F(0, call.id, call.name, call.arguments) for call in THREE], THREE),
    "a whole call per delta, no index": ([F(None, call.id, call.name, call.arguments) for call in THREE], THREE),
    "a whole call per delta, no ids": ([F(0, None, call.name, call.arguments) for call in THREE], WITHOUT_IDS),
    "neither index nor id, in pieces": (
        [
            piece
            for call in THREE
            for piece in (F(None, None, call.name, call.arguments[:1]), F(None, None, None, call.arguments[1:]))
        ],
        WITHOUT_IDS,
    ),
    "the second call without id": (
        [F(0, "a", "look", '{"at":1}'), F(1, None, "look", '{"at":2}'), F(2, "c", "find", "{}")],
        (THREE[0], WITHOUT_IDS[1], THREE[2]),
    ),
    "the name in two deltas": (
        [F(0, "a", "lo", ""), F(0, None, "ok", '{"at":1}'), F(1, "b", "l", ""), F(1, "b", "ook", ""),
         F(1, None, None, '{"at":2}'), F(2, "c", "find", "{}")],
        THREE,
    ),
    "id and name repeated with every piece": (
        [F(index, call.id, call.name, piece) for index, call in enumerate(THREE)
         for piece in ("", call.arguments[:1], call.arguments[1:])],
        THREE,
    ),
    "the id after the name": (
        [F(0, None, "look", ""), F(0, "a", None, '{"at":1}'), F(1, "b", "look", '{"at":2}'), F(2, "c", "find", "{}")],
        THREE,
    ),
    "a new id for every piece": (
        [F(0, "a", "look", ""), F(0, "x1", None, '{"at"'), F(0, "x2", None, ":1}"),
         F(1, "b", "look", '{"at":2}'), F(2, "c", "find", "{}")],
        THREE,
    ),
    "empty ids and names": (
        [F(0, "a", "look", ""), F(0, "", "", '{"at":1}'), F(1, "b", "look", '{"at":2}'), F(2, "c", "find", "{}")],
        THREE,
    ),
}  # fmt: skip


ONE = (THREE[0],)
TOLD_AGAIN: dict[str, tuple[list[ToolFragment], tuple[RawCall, ...]]] = {
    "at three indexes, under one id": ([F(index, "a", "look", '{"at": 1}') for index in range(3)],
                                       (RawCall("a", "look", '{"at": 1}'),)),
    "equal but written otherwise": ([F(0, "a", "look", '{"at":1}'), F(1, "a", "look", '{ "at" : 1 }')], ONE),
    "the arguments whole in the finish chunk": (
        [F(0, "a", "look", '{"at"'), F(0, None, None, ":1}"), F(0, None, None, '{"at":1}')], ONE,
    ),
    "the call whole in the finish chunk": (
        [F(0, "a", "look", '{"at"'), F(0, None, None, ":1}"), F(0, "a", "look", '{"at":1}')], ONE,
    ),
    "the call whole in the finish chunk, without id": (
        [F(0, "a", "look", '{"at"'), F(0, None, None, ":1}"), F(0, None, "look", '{"at":1}')], ONE,
    ),
    "pieces that grow": (
        [F(0, "a", "look", '{"a'), F(0, "a", "look", '{"at":'), F(0, "a", "look", '{"at":1}')], ONE,
    ),
    "none before the arguments": ([F(0, "a", "look", "{}"), F(0, None, None, '{"at":1}')], ONE),
    "null before the arguments": ([F(0, "a", "look", "null"), F(0, None, None, '{"at":1}')], ONE),
    "junk behind": ([F(0, "a", "look", '{"at":1}</tool_call>')], ONE),
    "two objects stay what they are": (
        [F(0, "a", "look", '{"at":1}{"at":2}')], (RawCall("a", "look", '{"at":1}{"at":2}'),),
    ),
    "an object that begins behind is no junk": (
        [F(0, "a", "look", '{"at":1}{"at"')], (RawCall("a", "look", '{"at":1}{"at"'),),
    ),
    "no id: two calls": ([F(0, None, "look", "{}"), F(1, None, "look", "{}")],
                         (RawCall(None, "look", "{}"), RawCall(None, "look", "{}"))),
}  # fmt: skip


@pytest.mark.parametrize("form", TOLD_AGAIN)
def test_what_is_told_again_is_one_call(form: str) -> None:
    """T14, D56"""
    fragments, expected = TOLD_AGAIN[form]
    assert assemble(*fragments).tool_calls == expected


@pytest.mark.parametrize("form", FORMS)
def test_calls_are_told_apart_in_every_form(form: str) -> None:
    """B28"""
    fragments, expected = FORMS[form]
    assert assemble(*fragments).tool_calls == expected


def test_two_calls_with_one_id_stay_two() -> None:
    """T14, B28: what becomes of the id is `settle_calls`' business."""
    calls = assemble(F(0, "same", "look", "{}"), F(1, "same", "find", '{"x":1}')).tool_calls
    assert calls == (RawCall("same", "look", "{}"), RawCall("same", "find", '{"x":1}'))


def test_a_call_without_a_name_is_kept() -> None:
    """B28: it becomes an error result, so it must not get lost."""
    assert assemble(F(0, "a", None, "{}")).tool_calls == (RawCall("a", None, "{}"),)
    two = assemble(F(0, "a", "look", '{"at":1}'), F(0, "b", None, "{}")).tool_calls
    assert two == (THREE[0], RawCall("b", None, "{}"))


def test_the_last_cumulative_usage_wins() -> None:
    """B33, X6"""
    reports = [UsageReport(Usage(10, output)) for output in (1, 40, 47)]
    assert assemble(*reports).usage == Usage(10, 47)


def test_what_was_not_said_is_null() -> None:
    """T12, X6"""
    assert assemble(TextDelta("half")) == Reply("half", "", (), None, None, None)


def test_provider_data_is_merged_key_by_key() -> None:
    """T15"""
    blocks = [{"type": "thinking", "thinking": "", "signature": "S"}]
    parts: tuple[dict[str, Any], ...] = ({"thinking_blocks": []}, {"more": 1}, {"thinking_blocks": blocks})
    reply = assemble(*map(ProviderData, parts))
    assert reply.provider == {"thinking_blocks": blocks, "more": 1}


def test_the_offset_is_where_the_next_text_begins() -> None:
    """T40: reasoning and calls do not move it."""
    assembler = Assembler()
    offsets = []
    for delta in (TextDelta("Hel"), ReasoningDelta("think"), F(0, "a", "f", "{}"), TextDelta("lo")):
        offsets.append(assembler.offset)
        assembler.feed(delta)
    assert (offsets, assembler.offset, assembler.text, assembler.reasoning) == ([0, 3, 3, 3], 5, "Hello", "think")


def test_a_pair_split_between_two_deltas_is_joined() -> None:
    """T43"""
    call = (F(0, "x", "f", '"\ud83d'), F(0, None, None, '\ude00\x00"'))
    reply = assemble(TextDelta("a\ud83d"), TextDelta("\ude00b"), *call)
    assert (reply.text, reply.tool_calls[0].arguments) == ("a\U0001f600b", '"\U0001f600"')


def splits(text: str) -> st.SearchStrategy[list[str]]:
    cuts = st.lists(st.integers(0, len(text)), max_size=4).map(lambda at: [0, *sorted(at), len(text)])
    return cuts.map(lambda at: [text[start:end] for start, end in itertools.pairwise(at)])


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[Delta], Reply]:
    """A reply, and any way to cut it into deltas: calls by index, in pieces, interleaved."""
    text, reasoning = draw(st.text(max_size=12)), draw(st.text(max_size=12))
    arguments = st.dictionaries(st.text(max_size=3), st.text(max_size=3) | st.integers(), max_size=2)
    calls = draw(st.lists(st.tuples(st.text("abc", min_size=1, max_size=4), arguments), max_size=3))
    lanes: list[list[Delta]] = [
        [TextDelta(piece) for piece in draw(splits(text))],
        [ReasoningDelta(piece) for piece in draw(splits(reasoning))],
        [UsageReport(Usage(3, output)) for output in (1, 2)],
    ]
    expected = []
    for index, (name, parsed) in enumerate(calls):
        raw = json.dumps(parsed)
        call_id = draw(st.sampled_from([None, f"id{index}"]))
        names = [ToolFragment(index, None, piece, "") for piece in draw(splits(name))]
        lanes.append([ToolFragment(index, call_id, None, ""), *names])
        lanes[-1] += [ToolFragment(index, None, None, piece) for piece in draw(splits(raw))]
        expected.append(RawCall(call_id, name, raw))
    order = draw(st.permutations([number for number, lane in enumerate(lanes) for _ in lane]))
    feeds = [iter(lane) for lane in lanes]
    deltas: list[Delta] = [next(feeds[number]) for number in order]
    clean = text.replace("\x00", ""), reasoning.replace("\x00", "")
    return [*deltas, FinishReason("stop")], Reply(*clean, tuple(expected), Usage(3, 2), "stop", None)


@settings(max_examples=80, deadline=None)
@given(streams())
def test_any_split_of_a_stream_gives_the_same_reply(stream: tuple[list[Delta], Reply]) -> None:
    """B28, B33; calls come in the order they were begun in."""
    deltas, expected = stream
    reply = assemble(*deltas)
    began = list(dict.fromkeys(delta.index for delta in deltas if isinstance(delta, ToolFragment)))
    in_order = tuple(expected.tool_calls[index] for index in began if index is not None)
    assert reply == Reply(expected.text, expected.reasoning, in_order, expected.usage, "stop", None)


def settle(*raw: RawCall, taken: Any = frozenset()) -> tuple[ToolCall, ...]:
    ids = (f"ours-{number}" for number in itertools.count(1))
    return settle_calls(raw, taken, lambda: next(ids))


def test_ids_that_are_unique_are_kept() -> None:
    """T14"""
    assert settle(*THREE) == tuple(ToolCall(call.id or "", call.name or "", call.arguments) for call in THREE)


def test_a_missing_id_gets_ours() -> None:
    """T14, B28"""
    assert [call.id for call in settle(*WITHOUT_IDS)] == ["ours-1", "ours-2", "ours-3"]


def test_a_repeated_call_id_gets_our_own_id() -> None:
    """T14: repeated in the reply, or used earlier in the session."""
    calls = settle(RawCall("a", "f", "{}"), RawCall("a", "g", "{}"), RawCall("old", "h", "{}"), taken={"old"})
    assert calls == (ToolCall("a", "f", "{}"), ToolCall("ours-1", "g", "{}"), ToolCall("ours-2", "h", "{}"))


def test_a_call_without_a_name_has_the_empty_name() -> None:
    """B28"""
    assert settle(RawCall("a", None, "")) == (ToolCall("a", "", ""),)


PIECES: dict[str, Callable[[int], Iterable[ToolFragment]]] = {
    "an id with each piece": lambda n: [
        F(None, "a", "t", '{"x":"'), *(F(None, f"a{i}", None, "}") for i in range(n)), F(None, "a", None, '"}'),
    ],
    "a name with each piece": lambda n: [F(0, "a", "t", '{"x":"'), *(F(0, None, "t", "}") for _ in range(n))],
    "told again and again": lambda n: [F(0, "a", "t", '{"x":"' + "y" * n + '"}'), *([F(0, None, "t", "{}")] * n)],
}  # fmt: skip


@pytest.mark.parametrize("form", PIECES)
def test_pieces_are_read_once_however_many_there_are(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Z3: whether the arguments are whole was found by reading all of them again with every piece."""
    read: list[int] = []

    def counted(text: str) -> Any:
        read.append(len(text))
        return value_of(text)

    monkeypatch.setattr(assembly, "value_of", counted)
    assemble(*PIECES[form](5_000))
    assert sum(read) < 40_000


@given(st.dictionaries(st.text(), st.text('\\\\"{}[]a', max_size=5)), st.booleans(), st.randoms())
def test_an_object_is_whole_with_its_last_piece_alone(value: dict[str, str], ascii_: bool, chance: Random) -> None:
    text = json.dumps(value, ensure_ascii=ascii_)
    cuts = sorted(chance.randrange(len(text)) for _ in range(4))
    pieces = [text[start:end] for start, end in itertools.pairwise((0, *cuts, len(text)))]
    ending = Ending()
    assert [ending.is_there(pieces[: count + 1]) for count in range(len(pieces))] == [
        "".join(pieces[: count + 1]) == text for count in range(len(pieces))
    ]
