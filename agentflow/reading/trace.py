"""The trace: a turn as a waterfall, made from its rows (R6). Pure.

The log gives the order, because order is a sequence number and never a time (T38); the rows give what each entry is
about. What has no row of its own (compactions, voided calls) is shown as its event says it.
"""

from __future__ import annotations

from typing import Any

from agentflow import events
from agentflow.clock import MILLISECOND, Instant, rfc3339
from agentflow.context.summary import summary_of
from agentflow.conversation.pauses.awaited import Awaited
from agentflow.conversation.repair import ABORTED_BY_USER
from agentflow.message import ToolCallStatus, TurnState, text_of
from agentflow.reading.runs import runs_of_turn
from agentflow.store.records import Record, TurnRows
from agentflow.text import stored_json

Node = dict[str, Any]

_TOKENS = ("input", "output", "cache_read", "cache_write")
_TOLD_BY_THEIR_EVENT = frozenset(
    {
        events.CONTEXT_LIMITED, events.CONTEXT_REPLACED, events.CONTEXT_KEPT, events.HISTORY_REPAIRED,
        events.CALL_VOIDED, events.STATE_UPDATED, events.HEAD_MOVED,
    }
)  # fmt: skip
_TOOL_STATUS = {ToolCallStatus.PLANNED: "planned", ToolCallStatus.STARTED: "running", ToolCallStatus.CLOSED: "closed"}


def turn_trace(rows: TurnRows, at: Instant, *, alive: bool) -> dict[str, Any]:
    """A turn as JSON: its sums, its plan and todos, and under `steps` what happened, in order.

    Each node of a step has its `kind`: `model_call` with its `tools`, `tool_call` with its `hooks`, `question`,
    `client_tools`, `todos`, `hook`, or `event`. The run of a sub-agent stands as `execution` in the tool call that
    started it; `executions` lists the runs of the turn, each with its status. `alive` is false for a turn whose process
    is gone; one whose question nobody answered in time is aborted from that moment on (T21). `naming`
    are the calls for the session's name that followed the turn (R7).
    """
    turn, error = rows.turn, _loaded(rows.turn["error"])
    state = turn["state"] if alive or turn["state"] != TurnState.RUNNING else TurnState.ABORTED
    waterfall = _Waterfall(rows, at)
    steps = waterfall.steps()
    over = next((each for each in rows.questions if _state_of(each, at) != each["state"]), None)
    if over is not None:
        state, error = TurnState.ABORTED, Awaited(over["kind"], over["call_id"]).expired().as_dict()
        steps[-1]["state"] = str(state)
    main = min((execution["number"] for execution in rows.executions), default=None)
    runs = runs_of_turn(rows.executions, TurnState(state))
    for run in runs:
        waterfall.say_status(run["execution"], run["status"])
    lists = [each for each in rows.todo_lists if each["execution"] == main]
    newest = max(lists, key=lambda each: each["number"], default=None)
    return {
        "turn": turn["number"],
        "turn_id": turn["id"],
        "state": str(state),
        "ended_by": _ended_by(rows, state, error),
        "agent": next((each["agent"] for each in rows.executions if each["number"] == main), None),
        "config_hash": turn["config_hash"],
        "config_changed": any(step["config_changed"] for step in steps),
        "started_at": rfc3339(turn["created_at"]),
        "ended_at": _time(turn["ended_at"]),
        "tokens": _tokens(turn),
        "cost": turn["cost"],
        "limit": turn["limit_name"],
        "data": None if turn["data"] is None else stored_json(turn["data"]),
        "error": error,
        "plan": turn["plan"],
        "todos": [] if newest is None else stored_json(newest["items"]),
        "executions": runs,
        "steps": steps,
        "naming": [_model_call(row) for row in rows.naming],
    }


def _ended_by(rows: TurnRows, state: str, error: dict[str, Any] | None) -> str | None:
    """Who aborted the turn: its user, the time its question had, the shutdown of its process, or the process's death.

    Null for a turn that was not aborted.
    """
    if state != TurnState.ABORTED:
        return None
    if (error or {}).get("code") == "question_expired":
        return "expiry"
    told = [entry["ref"] for entry in rows.log if entry["type"] == events.MESSAGE_NEW and entry["ref"] in rows.messages]
    given = {row["result_id"] for row in rows.tool_calls if row["status"] == ToolCallStatus.FINISHED}
    last = rows.messages[told[-1]] if told and told[-1] not in given else None
    # what a user or a tool said may read like the mark of a stop (Z6)
    if last is not None and last.role != "user" and text_of(last.content).endswith(ABORTED_BY_USER):
        return "stop"
    return "crash" if all(each["duration_ms"] is None for each in rows.executions) else "shutdown"


class _Waterfall:
    """Walks the log once; a node hangs where its row says it belongs."""

    def __init__(self, rows: TurnRows, at: Instant) -> None:
        self._rows = rows
        self._at = at
        self._steps: list[Node] = []
        self._models: dict[str, Node] = {}
        self._tools: dict[tuple[int, str | None], Node] = {}
        self._questions: dict[str, Node] = {}
        self._children: dict[int, Node] = {}
        self._config = rows.turn["config_hash"]
        self._changed = False
        self._asked = 0
        self._llm_calls = {row["id"]: row for row in rows.llm_calls}
        self._tool_calls = {(row["reply_id"], row["id"]): row for row in rows.tool_calls}
        self._executions = {row["number"]: row for row in rows.executions}
        self._main = min(self._executions, default=0)
        self._hook_runs = {f"{row['step']}:{row['number']}": (row["at"], row["duration_ms"]) for row in rows.hook_runs}

    def steps(self) -> list[Node]:
        for entry in self._rows.log:
            handle = _HANDLERS.get(entry["type"])
            if handle is not None:
                handle(self, entry)
            elif entry["type"] in _TOLD_BY_THEIR_EVENT:
                execution, said = self._told(entry)
                self._nodes(execution).append(
                    {"kind": "event", "at": rfc3339(entry["at"]), "type": entry["type"], "data": said}
                )
        return self._steps

    def say_status(self, execution: int, status: str) -> None:
        """The status of a sub-agent's run, where it is shown."""
        if execution in self._children:
            self._children[execution]["status"] = status

    def _told(self, entry: Record) -> tuple[int | None, Any]:
        """The sub-agent's run an entry tells of, null for the main agent, and what it says.

        The summary of a compaction stands in its message (X20).
        """
        said = _loaded(entry["data"])
        execution = said.pop(events.SUB_EXECUTION, None) if said else None
        if entry["type"] != events.CONTEXT_REPLACED:
            return execution, said or None
        message = self._rows.messages.get(entry["ref"])
        return execution, {"summary": None if message is None else summary_of(message.content), **said}

    def _nodes(self, execution: int | None) -> list[Node]:
        """Where nodes of an execution go: the step of the moment, or the sub-agent's run in its tool call."""
        row = self._executions.get(execution or 0)
        if row is None or row["parent"] is None:
            return self._steps[-1]["nodes"] if self._steps else []
        if row["number"] not in self._children:
            self._children[row["number"]] = child = _execution(row)
            calling = self._tools.get((row["parent"], row["parent_call_id"]))
            if calling is None:
                self._nodes(row["parent"]).append(child)
            else:
                calling["execution"] = child
        nodes: list[Node] = self._children[row["number"]]["nodes"]
        return nodes

    def _step_started(self, entry: Record) -> None:
        order = stored_json(entry["data"])["order"]
        row = next(each for each in self._rows.steps if each["number"] == order)
        self._steps.append(
            {
                "order": order,
                "state": row["state"],
                "opened_at": rfc3339(row["opened_at"]),
                "completed_at": _time(row["completed_at"]),
                "first_token_ms": row["first_token_ms"],
                "feedback": _feedback(row["feedback"]),
                "config_hash": self._config,
                "config_changed": self._changed,
                "nodes": [],
            }
        )
        self._changed = False

    def _model_call(self, entry: Record) -> None:
        self._asked += 1
        row = self._llm_calls.get(entry["ref"])
        if row is not None:
            self._models[row["id"]] = node = _model_call(row, self._asked)
            self._nodes(row["execution"]).append(node)

    def _tool_call(self, entry: Record) -> None:
        row = self._tool_calls.get((entry["ref"], stored_json(entry["data"])["id"]))
        if row is None:
            return
        self._tools[row["execution"], row["id"]] = node = self._tool(row)
        asking = self._models.get(row["reply_id"])
        (self._nodes(row["execution"]) if asking is None else asking["tools"]).append(node)

    def _tool(self, row: Record) -> Node:
        reply = self._rows.messages.get(row["reply_id"])
        result = self._rows.messages.get(row["result_id"])
        ended = "completed" if row["ok"] else "failed"
        return {
            "kind": "tool_call",
            "id": row["id"],
            "name": row["name"],
            "arguments": next((call.arguments for call in reply.tool_calls if call.id == row["id"]), None)
            if reply is not None
            else None,
            "status": _TOOL_STATUS.get(row["status"], ended),
            "started_at": _time(row["started_at"]),
            "duration_ms": row["duration_ms"],
            "hooks": [],
            "result": row["full_result"] if result is None or row["full_result"] else text_of(result.content),
            "cut": row["full_result"] is not None,
            "altered": bool(row["altered"]),
        }

    def _question(self, entry: Record) -> None:
        row = next((each for each in self._rows.questions if each["call_id"] == entry["ref"]), None)
        if row is None:
            return
        call = self._tools.get((row["execution"], row["call_id"]))
        self._questions[row["call_id"]] = node = {
            "kind": "question",
            "at": rfc3339(row["asked_at"]),
            "tool_call_id": row["call_id"],
            "questions": stored_json(row["questions"]),
            "state": _state_of(row, self._at),
            "answer": call["result"] if call is not None and row["state"] == "answered" else None,
            "answered_at": None,
            "expires_at": _time(row["expires_at"]),
        }
        self._nodes(None).append(node)

    def _client_tools(self, entry: Record) -> None:
        """The calls that the turn waited for; their results stand in their own nodes (C38)."""
        row = next((each for each in self._rows.questions if each["call_id"] == entry["ref"]), None)
        if row is None:
            return
        calls = [self._tools.get((row["execution"], each["tool_call_id"])) for each in stored_json(row["questions"])]
        self._nodes(None).append(
            {
                "kind": "client_tools",
                "at": rfc3339(row["asked_at"]),
                "calls": [{"tool_call_id": call["id"], "name": call["name"]} for call in calls if call is not None],
                "state": _state_of(row, self._at),
                "expires_at": _time(row["expires_at"]),
            }
        )

    def _answered(self, entry: Record) -> None:
        data = stored_json(entry["data"])
        self._changed = data.get("config_hash", self._config) != self._config
        self._config = data.get("config_hash", self._config)
        if data["tool_call_id"] in self._questions:
            self._questions[data["tool_call_id"]]["answered_at"] = rfc3339(entry["at"])

    def _hook(self, entry: Record) -> None:
        """It stands at the time it began; one of a tool call in that call, which its function had to wait for."""
        execution, said = self._told(entry)
        said = said or {}
        about = {name: said.get(name) for name in ("point", "flow", "outcome", "duration_ms", "error")}
        began, spent = self._hook_runs.get(entry["ref"], (entry["at"], 0))
        node = {"kind": "hook", "at": rfc3339(began), **about}
        tool = self._tools.get((execution or self._main, said.get("tool_call_id")))
        if tool is None:
            self._nodes(execution).append(node)
            return
        tool["hooks"].append(node)
        if tool["duration_ms"] is not None:
            tool["duration_ms"] = max(tool["duration_ms"] - spent, 0)
        if said["point"] == "pre_tool":
            tool["started_at"] = rfc3339(began + spent * MILLISECOND)

    def _todos(self, entry: Record) -> None:
        written = {f"{each['execution']}:{each['number']}": each["items"] for each in self._rows.todo_lists}
        if entry["ref"] in written:
            items = stored_json(written[entry["ref"]])
            self._nodes(None).append({"kind": "todos", "at": rfc3339(entry["at"]), "todos": items})


_HANDLERS = {
    events.STEP_STARTED: _Waterfall._step_started,
    events.LLM_CALL_REQUESTED: _Waterfall._model_call,
    events.TOOL_CALL_REQUESTED: _Waterfall._tool_call,
    events.ASK_USER: _Waterfall._question,
    events.CLIENT_TOOLS: _Waterfall._client_tools,
    events.ASK_USER_ANSWERED: _Waterfall._answered,
    events.TODOS_CHANGED: _Waterfall._todos,
    events.HOOK_COMPLETED: _Waterfall._hook,
}


def _feedback(row: Record | None) -> Node | None:
    """What a person thought of a step (R11)."""
    return None if row is None else {"rating": row["rating"], "comment": row["comment"]}


def _execution(row: Record) -> Node:
    return {
        "kind": "execution",
        "number": row["number"],
        "agent": row["agent"],
        "status": row["status"],
        "started_at": rfc3339(row["started_at"]),
        "duration_ms": row["duration_ms"],
        "plan": row["plan"],
        "nodes": [],
    }


def _model_call(row: Record, number: int | None = None) -> Node:
    """A call, with its number in the turn, by which its request is read; `passed_over` were not asked, and why (W5)."""
    over = (_loaded(row["request"]) or {}).get("passed_over", ())
    return {
        "kind": "model_call",
        "number": number,
        "at": rfc3339(row["requested_at"]),
        "call_id": row["id"],
        "iteration": row["iteration"],
        "purpose": row["purpose"],
        "model": row["model"],
        "status": row["status"],
        "tokens": _tokens(row),
        "cost": row["cost"],
        "first_token_ms": row["first_token_ms"],
        "duration_ms": row["duration_ms"],
        "attempts": row["attempts"],
        "finish_reason": row["finish_reason"],
        "finish_word": row["finish_word"],
        "error": _loaded(row["error"]),
        "passed_over": [{"model": model, "reason": reason} for model, reason in over],
        "tools": [],
    }


def _tokens(row: Record) -> dict[str, int | None]:
    return {name: row[name] for name in _TOKENS}


def _state_of(question: Record, at: Instant) -> str:
    """The state of a pause, `expired` from the moment on at which its time is over."""
    expires_at = question["expires_at"]
    is_over = question["state"] == "pending" and expires_at is not None and expires_at <= at
    return "expired" if is_over else str(question["state"])


def _time(at: Instant | None) -> str | None:
    return None if at is None else rfc3339(at)


def _loaded(text: str | None) -> Any:
    return None if text is None else stored_json(text)
