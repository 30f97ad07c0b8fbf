"""How a turn that could not end by itself is closed, and a path that was damaged is mended (T24, T30, C34, C36)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow.conversation.history import History
from agentflow.conversation.repair import ABORTED_BY_USER, INTERRUPTED, Given, OpenCall, close, mend
from agentflow.message import Message, ToolCall, ToolCallStatus

PLANNED, STARTED = ToolCallStatus.PLANNED, ToolCallStatus.STARTED


def opened(name: str = "look", status: ToolCallStatus = STARTED, given: Given | None = None) -> OpenCall:
    return OpenCall(1, f"id of {name}", name, status, given)


@pytest.mark.parametrize(
    ("call", "status", "ok", "text"),
    [
        (opened(), "closed", False, "Not finished: why. This call had been started; its outcome is unknown."),
        (opened(status=PLANNED), "closed", False, "Not run: why. This call had not been started."),
        (opened("ask_user", PLANNED), "closed", False, "Not answered: why."),
        (opened(given=Given(True, "PAID")), "finished", True, "PAID"),
        (opened(given=Given(False, "Error: no")), "finished", False, "Error: no"),
        (opened(given=Given(True, "")), "finished", True, ""),
    ],
    ids=["started", "planned", "a question", "settled", "settled with an error", "settled with nothing"],
)
def test_every_open_call_gets_exactly_one_result(call: OpenCall, status: str, ok: bool, text: str) -> None:
    (closed,) = close([call], "", "why.", marker=None).results
    assert (closed.call, closed.status, closed.ok, closed.text, closed.full) == (call, status, ok, text, None)


def test_results_come_in_the_order_of_the_calls() -> None:
    calls = [opened("b"), opened("a", PLANNED), opened("c", given=Given(True, "1"))]
    assert [closed.call for closed in close(calls, "", "why.", marker=None).results] == calls


def test_a_given_result_is_bounded_and_kept_whole_beside_it() -> None:
    (closed,) = close([opened(given=Given(True, "x" * 60_000))], "", "why.", marker=None).results
    assert len(closed.text) == 50_000
    assert closed.full == "x" * 60_000


@pytest.mark.parametrize(
    ("seen", "marker", "always", "text", "chars"),
    [
        ("", None, False, None, 0),
        ("", INTERRUPTED, False, None, 0),
        ("", ABORTED_BY_USER, True, ABORTED_BY_USER, 0),
        (" \n", ABORTED_BY_USER, True, ABORTED_BY_USER, 0),
        (" \n", INTERRUPTED, False, None, 0),
        ("so far", None, False, "so far", 6),
        ("so far", INTERRUPTED, False, f"so far\n{INTERRUPTED}", 6),
        ("so far", ABORTED_BY_USER, True, f"so far\n{ABORTED_BY_USER}", 6),
    ],
)
def test_text_the_user_has_seen_stays(
    seen: str, marker: str | None, always: bool, text: str | None, chars: int
) -> None:
    """T24: the marker alone where there is no partial text, and then there is no answer."""
    closing = close([], seen, "why.", marker=marker, always=always)
    assert (closing.text, closing.answer_chars) == (text, chars)


# -- a damaged path --


def message(id_: str) -> Message:
    """ "u…" of the user, "a…" of the model, "a:x,y" with the calls x and y, "r:x" the result of x."""
    what, _, named = id_.partition(":")
    if what.startswith("r"):
        return Message(id_, "tool", "done", (), named, "look")
    calls = tuple(ToolCall(call, "look", "{}") for call in named.split(",")) if named else ()
    return Message(id_, "user" if what.startswith("u") else "assistant", None if calls else "text", calls)


WHOLE: list[Any] = [
    pytest.param("", id="an empty path"),
    pytest.param("u a u", id="no calls"),
    pytest.param("u a:x,y r:y r:x a", id="results in the order they came"),
    pytest.param("u a:x r:x a1:x r1:x a", id="an id that comes again"),
]


@pytest.mark.parametrize("path", WHOLE)
def test_a_whole_path_is_left_alone(path: str) -> None:
    assert mend([message(id_) for id_ in path.split()]) is None


@pytest.mark.parametrize(
    ("path", "mended", "closed", "left_out"),
    [
        ("u a:x u1", "u a:x +x u1", "x", ""),
        ("u a:x,y r:y a", "u a:x,y r:y +x a", "x", ""),
        ("u a:x,y r:z r:y a", "u a:x,y r:y +x a", "x", "r:z"),
        ("u r:x a", "u a", "", "r:x"),
        ("u a:x r:x r1:x a", "u a:x r:x a", "", "r1:x"),
        ("r:x u", "u", "", "r:x"),
        ("u a:x", "u a:x +x", "x", ""),
        ("u a:x,y r:x u1 r:y", "u a:x,y r:x +y u1", "y", "r:y"),
        ("u a:x a1:y r:y a", "u a:x +x a1:y r:y a", "x", ""),
    ],
    ids=[
        "no result", "one of two results gone", "a result of another id", "its call is gone", "told twice",
        "at the root", "at the end", "a result that stands too late", "the next reply",
    ],
)  # fmt: skip
def test_a_damaged_path_is_mended(path: str, mended: str, closed: str, left_out: str) -> None:
    """D14: every call has one result directly after it, results of no call are left out, all else stays in order."""
    found = mend([message(id_) for id_ in path.split()])
    assert found is not None
    assert " ".join(each.id or f"+{each.tool_call_id}" for each in found.messages) == mended
    assert (" ".join(found.closed), " ".join(found.left_out)) == (closed, left_out)
    assert mend(found.messages) is None
    History("model").extend(found.messages)


def test_a_call_that_waits_at_the_end_of_the_path_is_left_open() -> None:
    """T30: a pending question is left alone, the call beside it is not."""
    path = [message(id_) for id_ in ("u", "a:x,y")]
    assert mend(path, {"x", "y"}) is None
    found = mend(path, {"y"})
    assert found is not None
    assert found.closed == ("x",)
    assert mend([*path, message("u1")], {"x", "y"}) is not None
