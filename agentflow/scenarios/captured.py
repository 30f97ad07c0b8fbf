"""A test made of what happened in a session, so that it passes: its log walked once. Pure.

Each request of the user becomes a step with what the models replied, each call of a flow a stub, and the time between
two requests a step of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, get_args

from agentflow import events as happened
from agentflow.clock import SECOND, Instant, rfc3339
from agentflow.config.document.yaml_text import yaml_text
from agentflow.errors import InvalidInput, ModelErrorKind
from agentflow.events import Event
from agentflow.media.files import File, with_small_bodies
from agentflow.message import TurnState, text_of
from agentflow.scenarios.checked import performed
from agentflow.secrets.redacting import redact_json
from agentflow.tools.arguments import checked_arguments
from agentflow.tools.flows.reserved import BUILTIN_NAMES

Keys = dict[str, Any]

_USAGE = ("input", "output", "cache_read", "cache_write")
_UNITS = ((86_400, "d"), (3600, "h"), (60, "m"), (1, "s"))
_BRACES = "{{"
NO_REQUESTS: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
NO_FILES: Mapping[str, str] = MappingProxyType({})
_EXPIRED = "question_expired"


@dataclass(slots=True)
class _Step:
    """One request so far: what it is for its file, its events, where it began and what it left at the head."""

    keys: Keys
    turn_id: str | None
    at: Instant
    events: list[Event] = field(default_factory=list)
    replies: list[Keys] = field(default_factory=list)
    sent_parent: str | None = None
    has_sent: bool = False
    head: str | None = None


def captured_scenario(
    session: Mapping[str, Any],
    events: Sequence[Event],
    known_tools: Sequence[str],
    *,
    requests: Mapping[str, Mapping[str, Any]] = NO_REQUESTS,
    turn_id: str | None = None,
    files: Mapping[str, str] = NO_FILES,
) -> tuple[str, list[str]]:
    """The text of a `*.test.yaml`, secrets taken out, and what it lacks, a sentence each.

    `session` and `events` are what `Runtime.session` and `Runtime.events` give, `known_tools` the tools of its agent,
    `requests` what the requests of its turns said beside their messages, `{inputs, limits}` by turn id, `files` those
    of its messages, as base64 by hash.
    With `turn_id` it has that turn alone, and what was said before as its history. Raises `InvalidInput` for a session
    or turn whose words are not there.
    """
    capture = _Capture(session, known_tools, requests, [File(hash_, body) for hash_, body in files.items()])
    for event in events:
        capture.take(event)
    return yaml_text(redact_json(capture.scenario(turn_id))), capture.lacks


class _Capture:
    """The walk. `lacks` are sentences about what could not be taken over."""

    def __init__(
        self, session: Mapping[str, Any], known_tools: Sequence[str], requests: Mapping[str, Mapping[str, Any]],
        files: Sequence[File],
    ) -> None:  # fmt: skip
        self.lacks: list[str] = []
        self._session = session
        self._agents = {run["execution"]: run["agent"] for run in session.get("executions", ())}
        self._known = set(known_tools)
        self._requests = requests
        self._files = files
        self._steps: list[_Step] = []
        self._stubs: list[tuple[str | None, Keys]] = []
        self._others: list[tuple[str | None, str, Keys]] = []  # replies of other agents
        self._messages: dict[str, Mapping[str, Any]] = {}
        self._parents: dict[str, str | None] = {}
        self._asked: dict[str, Event] = {}
        self._for_client: set[str] = set()
        self._completed: dict[str, Event] = {}
        self._head: str | None = None
        self._is_erased = False
        self._given: list[Event] = []  # messages of a turn that has not begun its step

    def take(self, event: Event) -> None:
        """The next event of the log."""
        handle = _HANDLERS.get(event.type)
        if handle is not None:
            handle(self, event)
        if self._steps:
            self._steps[-1].events.append(event)

    # -- what begins a step --------------------------------------------------------------------------------------------

    def _turn_started(self, event: Event) -> None:
        self._given = []

    def _step_started(self, event: Event) -> None:
        """What a turn was given is whole now; a step that goes on with an answer has begun already."""
        given, self._given = self._given, []
        if self._steps and self._steps[-1].turn_id == event.turn_id and not given:
            return
        parent = given[0].data["parent_id"] if given else self._head
        messages = [self._as_said(each.data["message"]) for each in given]
        plain = len(given) == 1 and messages[0]["role"] == "user" and isinstance(messages[0]["content"], str)
        if not given:
            self._begin({"regenerate": True}, event)
        elif parent != self._before(given):
            self._begin_elsewhere(parent, messages, event, plain=plain)
        elif plain:
            self._begin({"send": messages[0]["content"]}, event)
        else:
            self._begin({"input": {"type": "client.append", "messages": messages}}, event)
        step = self._steps[-1]
        beside = self._requests.get(event.turn_id or "", {})
        step.keys |= {name: value for name in ("inputs", "limits") if (value := beside.get(name))}
        step.sent_parent, step.has_sent = parent, bool(given)
        step.events += given

    def _before(self, given: Sequence[Event]) -> str | None:
        """Where the head was when the turn was given its messages."""
        return self._steps[-1].head if self._steps else given[0].data["parent_id"]

    def _begin_elsewhere(self, parent: str | None, messages: list[Keys], event: Event, *, plain: bool) -> None:
        """A branch: beside a message that a step sent, or after where one had ended."""
        beside = next((step for step in self._steps if step.has_sent and step.sent_parent == parent), None)
        after = next((step for step in self._steps if step.head == parent), None)
        if beside is not None and plain:
            self._begin({"edit": {"step": self._label(beside), "text": messages[0]["content"]}}, event)
            return
        if after is not None:
            self._begin({"switch": self._label(after)}, event)
        else:
            self.lacks.append(f"turn {event.turn_id} begins at a place that no step comes to; here it goes on instead")
        said: Keys = {"send": messages[0]["content"]}
        self._begin(said if plain else {"input": {"type": "client.append", "messages": messages}}, event)

    def _label(self, step: _Step) -> str:
        step.keys.setdefault("id", f"step-{self._steps.index(step) + 1}")
        return str(step.keys["id"])

    def _begin(self, keys: Keys, event: Event) -> None:
        self._steps.append(_Step(keys, event.turn_id, event.at, head=self._head))

    def _answered(self, event: Event) -> None:
        self._begin({"answer": event.data["tool_call_id"]}, event)  # the words follow as a result

    def _moved(self, event: Event) -> None:
        """Somebody went to another branch; what a view moves is part of its turn."""
        self._head = event.data["head_id"]
        ended = next((step for step in reversed(self._steps) if step.head == self._head), None)
        if event.turn_id is None and ended is not None:
            self._begin({"switch": self._label(ended)}, event)

    def _left_to_client(self, event: Event) -> None:
        self._for_client |= {call["tool_call_id"] for call in event.data["calls"]}

    # -- what a step has -----------------------------------------------------------------------------------------------

    def _message(self, event: Event) -> None:
        message, execution = event.data["message"], event.data.get("execution")
        if message.get("role") is None:
            self._is_erased = True
            return
        self._messages[message["id"]] = message
        self._parents[message["id"]] = event.data["parent_id"]
        completed = self._completed.pop(message["id"], None)
        if completed is not None:
            self._reply(event, message, completed)
        if self._agents.get(execution, self._session["agent_id"]) != self._session["agent_id"]:
            return
        self._head = message["id"]
        if (
            completed is None
            and message["role"] != "tool"
            and not (self._steps and self._steps[-1].turn_id == event.turn_id)
        ):
            self._given.append(event)
        elif self._steps:
            self._steps[-1].head = message["id"]

    def _call_completed(self, event: Event) -> None:
        if event.data.get("purpose") in ("main", None):
            self._completed[event.data["call_id"]] = event
        elif event.data["purpose"] != "title":
            self.lacks.append(f"the reply of a call for a {event.data['purpose']} is not in the log; script it")

    def _call_errored(self, event: Event) -> None:
        code = str(event.data.get("code")).removeprefix("model_error.")
        if event.data.get("purpose") in ("main", None) and code in get_args(ModelErrorKind):
            self._say(event, {"error": {"kind": code}})

    def _reply(self, event: Event, message: Mapping[str, Any], completed: Event) -> None:
        calls = [
            {"name": call["name"], "arguments": checked_arguments(call["arguments"]) or call["arguments"]}
            for call in message.get("tool_calls", ())
        ]
        text = text_of(message["content"])
        if _BRACES in text:
            self.lacks.append("a reply has {{ in it, which a script would fill in; it is { { here")
            text = text.replace(_BRACES, "{ {")
        usage = {name: value for name in _USAGE if (value := (completed.data.get("usage") or {}).get(name)) is not None}
        reply: Keys = {"text": text, "tool_calls": calls, "usage": usage}
        if completed.data.get("finish_reason") not in ("stop", "tool_calls", None):
            reply["finish_reason"] = completed.data["finish_reason"]
        self._say(event, {name: value for name, value in reply.items() if value})

    def _say(self, event: Event, reply: Keys) -> None:
        agent = self._agents.get(event.data.get("execution"), self._session["agent_id"])
        if agent != self._session["agent_id"]:
            self._others.append((event.turn_id, agent, reply))
        elif self._steps:
            self._steps[-1].replies.append(reply)

    def _requested(self, event: Event) -> None:
        self._asked[event.data["id"]] = event

    def _ended(self, event: Event) -> None:
        name, asked = event.data["name"], self._asked.get(event.data["id"])
        said = str(event.data.get("result", event.data.get("error")) or "")
        step = self._steps[-1] if self._steps else None
        if step is not None and step.keys.get("answer") == event.data["id"]:
            step.keys["answer"] = said
        if event.data["id"] in self._for_client:
            self._begin({"result": said}, event)
            return
        arguments = checked_arguments(asked.data["arguments"]) if asked is not None else None
        is_stubbed = name not in BUILTIN_NAMES and arguments is not None
        if is_stubbed and (name in self._known or event.data.get("execution") is not None):
            given = {"result": said} if event.type == happened.TOOL_CALL_COMPLETED else {"error": _bare(said)}
            self._stubs.append((event.turn_id, {"name": name, "when": arguments, **given}))

    # -- the file -----------------------------------------------------------------------------------------------------

    def scenario(self, turn_id: str | None) -> Keys:
        """The keys of the whole file."""
        steps = [step for step in self._steps if turn_id is None or step.turn_id == turn_id]
        if not steps or self._is_erased:
            identifier = self._session["session_id"]
            raise InvalidInput(
                f"Session {identifier!r} has no words a test could be made of: nothing was said, or it was erased.",
                detail={"field": "session_id", "session_id": identifier},
            )
        others: dict[str, list[Keys]] = {}
        for turn, agent, reply in self._others:
            if turn_id in (None, turn):
                others.setdefault(agent, []).append(reply)
        written: list[Keys] = []
        clock = steps[0].at
        for step in steps:
            if step.at - clock >= SECOND:
                written.append({"advance": _span((step.at - clock) // SECOND)})
                clock += (step.at - clock) // SECOND * SECOND
            written += self._written(step)
        about = f"Captured from session {self._session['session_id']}" + (f", turn {turn_id}." if turn_id else ".")
        scenario = {
            "agent": self._session["agent_id"],
            "description": about,
            "start": _start(clock if not steps else steps[0].at),
            "replies_of": others,
            "tools": [stub for turn, stub in self._stubs if turn_id in (None, turn)],
            "history": self._history(steps[0]) if turn_id is not None else [],
            "steps": written,
        }
        return {name: value for name, value in scenario.items() if value}

    def _history(self, step: _Step) -> list[Keys]:
        said: list[Keys] = []
        at = step.sent_parent
        while at is not None:
            said.insert(0, self._as_said(self._messages[at]))
            at = self._parents.get(at)
        return said

    def _as_said(self, message: Mapping[str, Any]) -> Keys:
        """A message as a request has it, files with their bytes; ids are given anew, but those that calls and results
        have in common.
        """
        said = {name: value for name, value in message.items() if name != "id" and value is not None}
        content, large = with_small_bodies(message["content"], self._files)
        self.lacks += [f"{each} is too large for a test: a note stands in its place" for each in large]
        return said | {"content": content}

    def _written(self, step: _Step) -> list[Keys]:
        """A step with what it came to, and what ended its turn after that."""
        keys = {**step.keys, **({"replies": step.replies} if step.replies else {})}
        done = next((event for event in step.events if event.type == happened.DONE), None)
        if done is None:
            return [_without_end(keys, crash_after=1)] if keys.keys() - {"switch", "id"} else [keys]
        ended = next((event for event in step.events if event.type == happened.TURN_COMPLETED), None)
        was_paused = any(event.type == happened.TURN_PAUSED for event in step.events)
        state = TurnState.PAUSED_ASK_USER if was_paused or ended is None else ended.data["state"]
        if state == TurnState.ABORTED:
            return [_without_end(keys, wait=False), {"stop": True}]
        expect: Keys = {"state": str(state)}
        if done.data.get("answer") is not None:
            expect["answer"] = done.data["answer"]
        calls = [
            {"name": name} | ({} if (given := checked_arguments(arguments)) is None else {"arguments": given})
            for name, arguments, _ in performed(step.events)
        ]
        expired = ((ended.data.get("error") or {}) if ended is not None else {}).get("code") == _EXPIRED
        stopped = [{"stop": True}] if was_paused and ended is not None and not expired else []
        return [{**keys, "expect": {**expect, "tools": calls}}, *stopped]


def _without_end(keys: Keys, **how: Any) -> Keys:
    """A step whose turn was ended from outside: what its models said until then is not told apart."""
    return {name: value for name, value in keys.items() if name != "replies"} | how


def _bare(error: str) -> str:
    return error.removeprefix("Error: ") or "it failed"


def _span(seconds: int) -> str:
    length, unit = next((length, unit) for length, unit in _UNITS if seconds % length == 0)
    return f"{seconds // length}{unit}"


def _start(at: Instant) -> str:
    return rfc3339(at // SECOND * SECOND).replace(".000000", "")


_HANDLERS: Mapping[str, Callable[[_Capture, Event], None]] = {
    happened.TURN_STARTED: _Capture._turn_started,
    happened.STEP_STARTED: _Capture._step_started,
    happened.ASK_USER_ANSWERED: _Capture._answered,
    happened.CLIENT_TOOLS: _Capture._left_to_client,
    happened.HEAD_MOVED: _Capture._moved,
    happened.MESSAGE_NEW: _Capture._message,
    happened.LLM_CALL_COMPLETED: _Capture._call_completed,
    happened.LLM_CALL_ERRORED: _Capture._call_errored,
    happened.TOOL_CALL_REQUESTED: _Capture._requested,
    happened.TOOL_CALL_COMPLETED: _Capture._ended,
    happened.TOOL_CALL_ERRORED: _Capture._ended,
}
