"""A case made of a conversation: what was said, loaded and done in its turns, and what came of them (R9). Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentflow.errors import InvalidInput, TurnNotFound
from agentflow.evaluation.exported import Exported, Row
from agentflow.message import ENDED, TurnState
from agentflow.secrets.redacting import redact_json
from agentflow.tools.arguments import checked_arguments
from agentflow.tools.results import success

CAPTURABLE = (*ENDED, TurnState.PAUSED_ASK_USER)

Keys = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Captured:
    """The keys of a case, secrets taken out, and what it lacks, as sentences."""

    case: Keys
    lacks: list[str] = field(default_factory=list)


def capture(export: str, turn: int | None) -> Captured:
    """The case of one turn of an exported session, with what was said before as its history; without `turn` of all
    turns of the path as it stands.

    Raises `TurnNotFound`, and `InvalidInput` for turns that have not ended, or whose words were erased (R5).
    """
    session = Exported(export)
    turns = session.turns_on_path() if turn is None else [turn]
    for each in turns:
        _check(session, each)
    if not turns:
        _refuse(session, "has no turn on its path that can be captured: it said nothing yet, or its words were erased")
    before, _ = _beginning(session, turns[0])
    lacks: list[str] = []
    case = {
        "version": 1,
        "agent": session.session["agent"],
        "about": f"Captured from session {session.session['id']}, {_counted(turns)}.",
        "history": [_message(session.content(row)) for row in before],
        "agent_state": session.state(before),
        "turns": [_turn(session, each, lacks) for each in turns],
    }
    lacks += [f"{each} is too large for a case: a note stands in its place" for each in session.left_out]
    return Captured(redact_json(_said(case)), lacks)


def _check(session: Exported, turn: int) -> None:
    if turn not in session.turns:
        raise TurnNotFound(
            f"Session {session.session['id']!r} has no turn {turn}; it has {len(session.turns)}.",
            detail={"session_id": session.session["id"], "turn": turn},
        )
    state = session.turns[turn]["state"]
    if state not in CAPTURABLE:
        _refuse(session, f"cannot be captured while turn {turn} is {state}; wait until it has ended, or stop it")
    if not session.messages(turn):
        _refuse(
            session, f"has no words of turn {turn} any more: its agent has `observability: false`, which erases them"
        )


def _refuse(session: Exported, why: str) -> None:
    identifier = session.session["id"]
    raise InvalidInput(f"Session {identifier!r} {why}.", detail={"field": "session_id", "session_id": identifier})


def _counted(turns: Sequence[int]) -> str:
    return f"turn {turns[0]}" if len(turns) == 1 else f"turns {', '.join(map(str, turns))}"


def _beginning(session: Exported, turn: int) -> tuple[list[Row], list[Row]]:
    """The path before the turn's request, and the messages of the request.

    A turn that only answers anew has none of its own: it answers what its path ended in.
    """
    own, delivered = session.messages(turn), session.delivered(turn)
    path = session.up_to(own[0])[:-1]
    if delivered:
        return path, own[:delivered]
    asked = len(path)
    while asked and session.content(path[asked - 1])["role"] == "user":
        asked -= 1
    if asked == len(path):
        _refuse(session, f"cannot be captured at turn {turn}, which answers no message")
    return path[:asked], [session.content(row) for row in path[asked:]]


def _turn(session: Exported, turn: int, lacks: list[str]) -> Keys:
    request = session.turns[turn]["request"] or {}
    _, delivered = _beginning(session, turn)
    return _said({
        "messages": [_message(session.content(row)) for row in delivered],
        "inputs": {name: value for name, value in request.get("inputs", {}).items() if value is not None},
        "client": request.get("client"),
        "client_tools": session.client_tools(turn),
        "limits": request.get("limits"),
        "answers": session.answers(turn),
        "data": _data(session, turn, lacks),
        "tools": _results(session, turn),
        "expect": _expectations(session, turn),
    })  # fmt: skip


def _message(row: Row) -> Any:
    """A text of the user alone, or the keys of the message."""
    content = row["parts"] or row["content"]
    if row["role"] == "user" and isinstance(content, str):
        return content
    calls = [dict(zip(("id", "name", "arguments"), call, strict=True)) for call in row["calls"] or ()]
    return {"role": row["role"], "content": content} | _said(
        {"tool_calls": calls, "tool_call_id": row["call_id"], "name": row["name"]}
    )


def _data(session: Exported, turn: int, lacks: list[str]) -> list[Keys]:
    """The first data of an entity in each step, which is what a run is given from then on."""
    first, kept, found = session.turns[turn]["first_step"], set(), []
    for row in session.snapshots(turn):
        step, of = row["step"] - first + 1, (row["entity"], row["entity_key"])
        if row["hash"] is None:
            lacks.append(f"turn {turn}: the data of {of[0]} {of[1]!r} was not kept: {row['problem']}")
        elif (step, *of) not in kept:
            kept.add((step, *of))
            where = {} if step == 1 else {"step": step}
            found.append({"entity": of[0], "key": of[1], **where, "value": session.data(row)})
    return found


def _results(session: Exported, turn: int) -> list[Keys]:
    found = []
    for row, arguments, text, _ in session.performed(turn):
        if (given := checked_arguments(arguments)) is not None:
            outcome = {"result": _as_data(text)} if row["ok"] else {"error": text or "Error: the call has no result."}
            found.append({"name": row["name"], "arguments": given, **outcome})
    return found


def _as_data(text: str) -> Any:
    """What a person reads more easily, where it says the very same."""
    try:
        value = json.loads(text)
        return value if isinstance(value, dict | list) and success(value).text == text else text
    except (ValueError, RecursionError):
        return text


def _expectations(session: Exported, turn: int) -> Keys:
    row, own = session.turns[turn], session.messages(turn)
    calls = [
        {"name": call["name"]} | ({} if (given := checked_arguments(arguments)) is None else {"arguments": given})
        for call, arguments, _, is_main in session.performed(turn)
        if is_main
    ]
    return _said({
        "state": row["state"],
        "answer": session.answer(turn),
        "tools": calls,
        "agent_state": session.state(session.up_to(own[-1])),
        "data": row["data"],
        "limit": row["limit_name"],
    })  # fmt: skip


def _said(keys: Keys) -> Keys:
    """The keys that say something."""
    return {name: value for name, value in keys.items() if value not in (None, "", [], {}, ())}
