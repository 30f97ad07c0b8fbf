"""Histories for the tests of `context`: small ones by hand, random ones for properties."""

from __future__ import annotations

from hypothesis import strategies as st

from agentflow.context.compaction import Reading
from agentflow.context.summary import summary_message
from agentflow.message import Message, ToolCall


def user(id: str, text: str = "please") -> Message:
    return Message(id, "user", text)


def summary_node(id: str, text: str) -> Message:
    return Message(id, "user", summary_message(text), summary=True)


def says(id: str, text: str = "done") -> Message:
    return Message(id, "assistant", text)


def asks(id: str, count: int, text: str | None = None, size: int = 10) -> list[Message]:
    """An assistant message with `count` calls and a result of `size` characters for each."""
    calls = tuple(ToolCall(f"{id}c{n}", "search", f'{{"page": {n}}}') for n in range(count))
    results = [
        Message(f"{id}r{n}", "tool", "x" * size, tool_call_id=call.id, name="search") for n, call in enumerate(calls)
    ]
    return [Message(id, "assistant", text, tool_calls=calls), *results]


def ids(messages: tuple[Message, ...]) -> list[str]:
    return [message.id for message in messages]


@st.composite
def exchange(draw: st.DrawFn, id: str) -> list[Message]:
    """A reply: text, or up to four parallel calls with results in any order."""
    text = draw(st.sampled_from([None, "", "So far so good.", "w" * 300]))
    count = draw(st.integers(0, 4))
    if not count:
        return [says(id, text or "Fine.")]
    asking, *results = asks(id, count, text, size=draw(st.sampled_from([0, 5, 900, 20_000])))
    return [asking, *draw(st.permutations(results))]


@st.composite
def turn(draw: st.DrawFn, id: str, *, most: int) -> list[Message]:
    opening = [
        user(f"{id}u{n}", draw(st.sampled_from(["hi", "q" * 50, "Q" * 3_000]))) for n in range(draw(st.integers(1, 2)))
    ]
    work = [draw(exchange(f"{id}e{n}")) for n in range(draw(st.integers(0, most)))]
    return [*opening, *(message for messages in work for message in messages)]


@st.composite
def readings(draw: st.DrawFn) -> Reading:
    """Some earlier turns, perhaps an earlier summary before them, and a turn that may be long or wait for results."""
    path = [summary_node("S", "Sam logs naps.")] if draw(st.booleans()) else []
    for number in range(draw(st.integers(0, 4))):
        path += [*draw(turn(f"t{number}", most=3)), says(f"t{number}end", "Answer " * draw(st.integers(1, 30)))]
    current = draw(turn("now", most=10))
    turn_from = len(path)
    path += current
    if path[-1].role == "tool" and draw(st.booleans()):
        path = path[:-1]
    return Reading(path, turn_from, lean=draw(st.booleans()), fixed_chars=draw(st.sampled_from([0, 800, 30_000])))
