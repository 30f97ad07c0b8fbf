"""The inputs a session takes: typed, and read from their wire shape or refused (C7, C8, C23).

client.message   one user message at the head
client.append    several messages at the head
client.messages  the client's whole view, merged into the tree
head.move        the head goes exactly there
ask_user.answer  a pending question, answered by the id of its call
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, TypeVar

from agentflow.bounds.weight import TooMuch, weigh
from agentflow.conversation import wire
from agentflow.conversation.pauses.answers import Answers, read_answers
from agentflow.errors import InvalidInput
from agentflow.media.files import with_bodies
from agentflow.message import Message

MAX_MESSAGES = 20_000
MAX_TOOLS = 128  # as many as providers take

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

Queue = bool | Literal["merge"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Client:
    """What the client says beside its messages: kept with the turn, handed to worker, hooks and flows (C8)."""

    state: Any = None
    context: list[Any] = field(default_factory=list)
    forwarded_props: Any = None

    def as_dict(self) -> dict[str, Any]:
        """`{state?, context?, forwarded_props?}`, absent fields left out."""
        said = {"state": self.state, "context": self.context or None, "forwarded_props": self.forwarded_props}
        return {name: value for name, value in said.items() if value is not None}

    def then(self, later: Client) -> Client:
        """Of two requests of one turn: the later state and props win, the contexts follow each other (C22)."""
        return Client(
            _last((self.state, later.state)),
            [*self.context, *later.context],
            _last((self.forwarded_props, later.forwarded_props)),
        )


@dataclass(frozen=True, slots=True)
class ClientTool:
    """A tool that the client performs, declared by a request: `parameters` is a JSON Schema (C37)."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "description": self.description, "parameters": self.parameters}


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """What a request says beside its messages: it holds for the request's turn alone, over pauses (C8).

    Several requests may make one turn: those that were merged while they waited (C22), and those that answer its
    questions. `inputs` are for what the agent declares, `limits` override its settings, `tools` are performed by the
    client; `stream` null leaves the choice to whoever runs the turn.
    """

    inputs: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    tools: tuple[ClientTool, ...] = ()
    client: Client = field(default_factory=Client)
    stream: bool | None = None

    def then(self, later: TurnOptions) -> TurnOptions:
        """Of two requests that were merged into one turn (C22)."""
        return TurnOptions(
            self.inputs | later.inputs,
            self.limits | later.limits,
            tuple(({tool.name: tool for tool in self.tools} | {tool.name: tool for tool in later.tools}).values()),
            self.client.then(later.client),
            _last((self.stream, later.stream)),
        )

    def resumed_with(self, answer: TurnOptions) -> TurnOptions:
        """Of a turn that goes on with an answer: what the answer says anew holds from there on.

        A client that resumes repeats its context and its tools, so they take the place of the former ones.
        """
        client = Client(
            _last((self.client.state, answer.client.state)),
            answer.client.context or self.client.context,
            _last((self.client.forwarded_props, answer.client.forwarded_props)),
        )
        return replace(self.then(answer), client=client, tools=answer.tools or self.tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """What every input may carry (C8).

    `turn_id` is the idempotency key; what the others say is in `TurnOptions`.
    """

    type: ClassVar[str]

    agent_id: str | None = None
    turn_id: str | None = None
    stream: bool | None = None
    client: Client = field(default_factory=Client)
    inputs: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)

    @property
    def options(self) -> TurnOptions:
        """What holds for the turn of this request."""
        return TurnOptions(self.inputs, self.limits, getattr(self, "tools", ()), self.client, self.stream)

    def as_dict(self) -> dict[str, Any]:
        """The wire shape; fields that say nothing are left out. `parse_input` reads it back to an equal input."""
        return {"type": self.type} | _said(self, _wire)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientMessage(Input):
    """One user message, composed against the path when it is delivered (C7)."""

    type: ClassVar[str] = "client.message"

    message: Message
    interrupt: bool = False
    queue: Queue = False
    tools: tuple[ClientTool, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        return (self.message,)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientAppend(Input):
    """Messages of any role, appended at the head, never branching (C7); with `record_only` no turn runs (C8)."""

    type: ClassVar[str] = "client.append"

    messages: tuple[Message, ...]
    interrupt: bool = False
    queue: Queue = False
    tools: tuple[ClientTool, ...] = ()
    record_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientMessages(Input):
    """The client's full view of the conversation (C9); with `record_only` no turn runs (C8)."""

    type: ClassVar[str] = "client.messages"

    messages: tuple[Message, ...]
    interrupt: bool = False
    tools: tuple[ClientTool, ...] = ()
    record_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadMove(Input):
    """Moves the head and runs no turn."""

    type: ClassVar[str] = "head.move"

    message_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskUserAnswer(Input):
    """Answers by header, each a text, a plain value or a list of labels, or one plain text (C29, T19).

    `follow_up` are user messages that follow the answer in the same step; `tools` go before the turn's (G1, G4).
    """

    type: ClassVar[str] = "ask_user.answer"

    tool_call_id: str
    answers: Answers
    follow_up: tuple[Message, ...] = ()
    tools: tuple[ClientTool, ...] = ()


KINDS: dict[str, type[Input]] = {
    kind.type: kind for kind in (ClientMessage, ClientAppend, ClientMessages, HeadMove, AskUserAnswer)
}


def parse_input(raw: Mapping[str, Any] | Input) -> Input:
    """The input, typed, with texts sanitised. Raises `InvalidInput` naming the field (C7, C8, C23, Z3)."""
    if isinstance(raw, Input):
        raw = {"type": raw.type} | _said(raw, _unread)
    if not isinstance(raw, Mapping):
        wire.refuse("input", f"must be an object, not {wire.kind_of(raw)}.")
    _refuse_too_much(raw)
    kind = _kind(raw.get("type"))
    known = [part.name for part in fields(kind)]
    if raw.get("queue") and "queue" not in known:
        wire.refuse("queue", f"{kind.type} cannot be queued; only client.message and client.append can (C23).")
    wire.no_unknown(raw, ["type", *known], "")
    given = {name: _READERS[name](raw.get(name), name) for name in known}
    if kind is ClientMessage and (role := given["message"].role) != "user":
        wire.refuse("message.role", f"must be user, not {role}; client.append takes other roles.")
    if given.get("record_only"):
        _refuse_with_record_only(given)
    return kind(**given)


def _refuse_too_much(raw: Mapping[str, Any]) -> None:
    """What the input holds is counted before any of it is read."""
    messages = raw.get("messages")
    if isinstance(messages, list | tuple) and len(messages) > MAX_MESSAGES:
        wire.refuse("messages", f"has {len(messages):,} messages; an input may have {MAX_MESSAGES:,}.")
    try:
        weigh(raw)
    except TooMuch as much:
        wire.refuse("input", f"{much}.")


def refuse_blank(given: Input, news: Collection[str] | None = None) -> None:
    """Refuse a user message without text or parts; only where it answers a question may it be blank (C7, C26).

    With `news`, the ids of what is new, those that are recorded already are passed over.
    """
    for index, message in enumerate(getattr(given, "messages", ())):
        is_new = news is None or not message.id or message.id in news
        if is_new and message.role == "user" and wire.is_blank(message.content):
            name = "message" if isinstance(given, ClientMessage) else f"messages[{index}]"
            wire.refuse(f"{name}.content", "a user message needs text or parts.")


def _refuse_with_record_only(given: Mapping[str, Any]) -> None:
    """What only a turn can hold says nothing where no turn runs (C8)."""
    for name in ("queue", "interrupt", "inputs", "limits", "tools", "stream"):
        if given.get(name):
            wire.refuse(name, "says how a turn runs, and record_only runs none.")


def _kind(name: Any) -> type[Input]:
    if not isinstance(name, str) or name not in KINDS:
        wire.refuse("type", f"must be one of {', '.join(KINDS)}, not {wire.shown(name)}.")
    return KINDS[name]


def _said(given: Input, shape: Callable[[Any], Any]) -> dict[str, Any]:
    """The fields that differ from their default."""
    return {part.name: shape(value) for part in fields(given) if (value := getattr(given, part.name)) != _default(part)}


def _last(values: Iterable[T | None]) -> T | None:
    """The last value that says something."""
    said = [value for value in values if value is not None]
    return said[-1] if said else None


def _default(part: Field[Any]) -> Any:
    return part.default if part.default_factory is MISSING else part.default_factory()


def _wire(value: Any) -> Any:
    if isinstance(value, Message):
        shape = {name: item for name, item in value.as_dict().items() if (name, item) != ("id", "")}
        return shape | ({"content": with_bodies(value.content, value.files)} if value.files else {})
    if isinstance(value, tuple):
        return [_wire(item) for item in value]
    return value.as_dict() if isinstance(value, Client | ClientTool) else value


def _unread(value: Any) -> Any:
    """As the readers of fields take it: they read messages themselves."""
    if isinstance(value, tuple):
        return [_unread(item) for item in value]
    return value.as_dict() if isinstance(value, Client | ClientTool) else value


def _messages(value: Any, name: str) -> tuple[Message, ...]:
    return wire.messages_of(value, name, may_be_blank=True)


def _message(value: Any, name: str) -> Message:
    if value is None:
        wire.refuse(name, "is required.")
    try:
        return wire.message_of(value, may_be_blank=True)
    except InvalidInput as refused:
        raise wire.inside(name, refused) from None


def _agent_id(value: Any, name: str) -> str | None:
    """As it was sent: what had to be made storable first is no name of an agent (Z2)."""
    identifier = wire.optional_id(value, name)
    return identifier if not identifier or identifier == value else wire.refuse(name, "must be the name of an agent.")


def _flag(value: Any, name: str) -> bool:
    return wire.optional_bool(value, name) or False


def _queue(value: Any, name: str) -> Queue:
    if isinstance(value, str) and value == "merge":
        return "merge"
    if value is not None and not isinstance(value, bool):
        wire.refuse(name, f"must be true, false or 'merge', not {wire.shown(value)}.")
    return value or False


def _client(value: Any, name: str) -> Client:
    if value is None:
        return Client()
    if isinstance(value, Client):
        value = value.as_dict()
    given = wire.json_object(value, name, 2)
    wire.no_unknown(given, [part.name for part in fields(Client)], name)
    context = given.get("context")
    if context is not None and not isinstance(context, list):
        wire.refuse(f"{name}.context", f"must be a list, not {wire.kind_of(context)}.")
    return Client(given.get("state"), context or [], given.get("forwarded_props"))


def _object(value: Any, name: str) -> dict[str, Any]:
    return {} if value is None else wire.json_object(value, name, 2)


def _tools(value: Any, name: str) -> tuple[ClientTool, ...]:
    """Shapes only: whether the agent can have them is told where the agent is known (C37)."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        wire.refuse(name, f"must be a list of tools, not {wire.kind_of(value)}.")
    if len(value) > MAX_TOOLS:
        wire.refuse(name, f"has {len(value):,} tools; a request may have {MAX_TOOLS}.")
    tools = tuple(_tool(item, f"{name}[{index}]") for index, item in enumerate(value))
    names: set[str] = set()
    for index, each in enumerate(tools):
        if each.name in names:
            wire.refuse(f"{name}[{index}].name", f"there is a tool {each.name!r} already.")
        names.add(each.name)
    return tools


def _tool(value: Any, name: str) -> ClientTool:
    given = wire.json_object(value.as_dict() if isinstance(value, ClientTool) else value, name, 3)
    wire.no_unknown(given, [part.name for part in fields(ClientTool)], name)
    called = wire.required_id(given.get("name"), f"{name}.name")
    if not _TOOL_NAME.fullmatch(called):
        wire.refuse(f"{name}.name", "must be 1 to 64 letters, digits, '_' or '-'.")
    description, parameters = given.get("description"), given.get("parameters")
    if description is not None and not isinstance(description, str):
        wire.refuse(f"{name}.description", f"must be a string, not {wire.kind_of(description)}.")
    if parameters is not None and not isinstance(parameters, dict):
        wire.refuse(f"{name}.parameters", f"must be a JSON Schema object, not {wire.kind_of(parameters)}.")
    return ClientTool(called, description or "", parameters or {})


def _follow_up(value: Any, name: str) -> tuple[Message, ...]:
    messages = () if value is None else _messages(value, name)
    for index, message in enumerate(messages):
        if message.role != "user" or wire.is_blank(message.content):
            wire.refuse(f"{name}[{index}]", "must be a user message with text or parts.")
    return messages


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "agent_id": _agent_id,
    "turn_id": wire.optional_id,
    "stream": wire.optional_bool,
    "interrupt": _flag,
    "queue": _queue,
    "client": _client,
    "inputs": _object,
    "limits": _object,
    "tools": _tools,
    "record_only": _flag,
    "message": _message,
    "messages": _messages,
    "message_id": wire.required_id,
    "tool_call_id": wire.required_id,
    "answers": read_answers,
    "follow_up": _follow_up,
}
