"""Which action may stand at which trigger: the one table that answers are judged by and the docs are made from (C33).

A response may have one `context.replace`, results and calls in any order, and then at most one of `llm.call`, `done`,
`fail` and `ask_user`, which is the last: nothing can be done after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Point(StrEnum):
    """Where a decision is asked: a trigger, and for `llm.finished` which of them."""

    SESSION_START = "session.start"
    CLIENT_MESSAGES = "client.messages"
    ASK_USER_ANSWERED = "ask_user.answered"
    LLM_FINISHED = "llm.finished"
    LLM_FAILED = "llm.finished, ok: false"
    SUMMARY_FINISHED = "llm.finished of a summary"
    TOOL_EXECUTE = "tool.execute"
    TOOL_FINISHED = "tool.finished"
    CONTEXT_LIMIT = "context.limit"
    TURN_FINISHED = "turn.finished"


class May(StrEnum):
    """Whether an action may stand at a point, and on which condition."""

    YES = "yes"
    NO = "no"
    NONE_OPEN = "when no call is open"
    HELD = "of the held call, or a summary"
    OF_REPLY = "for a call of the reply"
    LEFT_OPEN = "for an open call of a worker tool"


CONDITIONS: Mapping[May, str] = {
    May.NONE_OPEN: "Only if no call is open once the actions before it are done: an open call's result would be lost.",
    May.HELD: "With the id of the held call or none: that call goes out. With `purpose: summary`: a summary is "
    "written first, where the engine has something to summarize.",
    May.OF_REPLY: "Its `id` is that of a call of the reply that this response records.",
    May.LEFT_OPEN: "Its `id` is that of an open call of a tool with `handler: worker`, as listed in `calls`.",
}

LLM_CALL, TOOL_CALL, TOOL_RESULT, TOOL_ERROR = "llm.call", "tool.call", "tool.result", "tool.error"
ASK_USER, REPLACE, DONE, FAIL = "ask_user", "context.replace", "done", "fail"

ENDING = (LLM_CALL, ASK_USER, DONE, FAIL)
"""The actions that nothing can follow in the same response."""

_ANSWER_INPUT = {
    LLM_CALL: May.YES, TOOL_CALL: May.YES, TOOL_RESULT: May.NO, TOOL_ERROR: May.NO, ASK_USER: May.YES,
    REPLACE: May.YES, DONE: May.YES, FAIL: May.YES,
}  # fmt: skip
_MAKE_ROOM = {
    LLM_CALL: May.HELD, TOOL_CALL: May.NO, TOOL_RESULT: May.NO, TOOL_ERROR: May.NO, ASK_USER: May.NO,
    REPLACE: May.YES, DONE: May.YES, FAIL: May.YES,
}  # fmt: skip
_DURING_CALLS = {
    LLM_CALL: May.NONE_OPEN, TOOL_CALL: May.NONE_OPEN, TOOL_RESULT: May.LEFT_OPEN, TOOL_ERROR: May.LEFT_OPEN,
    ASK_USER: May.NONE_OPEN, REPLACE: May.YES, DONE: May.YES, FAIL: May.YES,
}  # fmt: skip

TABLE: Mapping[Point, Mapping[str, May]] = {
    Point.SESSION_START: dict.fromkeys(_ANSWER_INPUT, May.NO),
    Point.CLIENT_MESSAGES: _ANSWER_INPUT,
    Point.ASK_USER_ANSWERED: _ANSWER_INPUT,
    Point.LLM_FINISHED: _ANSWER_INPUT | {TOOL_RESULT: May.OF_REPLY, TOOL_ERROR: May.OF_REPLY},
    Point.LLM_FAILED: _ANSWER_INPUT,
    Point.SUMMARY_FINISHED: _MAKE_ROOM,
    Point.TOOL_EXECUTE: _DURING_CALLS,
    Point.TOOL_FINISHED: _DURING_CALLS,
    Point.CONTEXT_LIMIT: _MAKE_ROOM,
    Point.TURN_FINISHED: _ANSWER_INPUT,
}
