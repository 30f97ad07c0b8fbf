"""The exit codes as data: what a turn's end, an error and a signal each leave with."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    DONE = 0
    FAILED = 1  # a turn failed, or was stopped from elsewhere; also: the result could not be written
    USAGE = 2  # usage or invalid configuration
    NOT_FOUND = 3  # no such agent, session, turn, step, call or message
    PAUSED = 4  # input needed
    BUSY = 5  # session busy, question already answered, expired or none pending
    LIMIT = 6  # failed with limit_reached
    SIGINT = 130
    SIGTERM = 143


LIMIT_REACHED = "limit_reached"

ERRORS = {
    "invalid_config": Exit.USAGE,
    "invalid_input": Exit.USAGE,
    "role_not_allowed": Exit.USAGE,
    "session_agent_mismatch": Exit.USAGE,
    "session_taken": Exit.USAGE,
    "agent_not_found": Exit.NOT_FOUND,
    "session_not_found": Exit.NOT_FOUND,
    "message_not_found": Exit.NOT_FOUND,
    "turn_not_found": Exit.NOT_FOUND,
    "step_not_found": Exit.NOT_FOUND,
    "call_not_found": Exit.NOT_FOUND,
    "snapshot_not_found": Exit.NOT_FOUND,
    "request_not_kept": Exit.NOT_FOUND,
    "turn_already_active": Exit.BUSY,
    "question_already_answered": Exit.BUSY,
    "question_expired": Exit.BUSY,
    "no_pending_question": Exit.BUSY,
    "call_already_answered": Exit.BUSY,
    "head_moved": Exit.BUSY,
    LIMIT_REACHED: Exit.LIMIT,
}

TURNS = {"done": Exit.DONE, "paused_ask_user": Exit.PAUSED}


def of_error(code: str) -> Exit:
    """The exit code of a refusal's stable code; what the table does not name has failed."""
    return ERRORS.get(code, Exit.FAILED)


def of_turn(state: str, error_code: str | None) -> Exit:
    """The exit code of a turn's state and, when it failed, of its error."""
    if state in TURNS:
        return TURNS[state]
    return Exit.LIMIT if error_code == LIMIT_REACHED else Exit.FAILED
