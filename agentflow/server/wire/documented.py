"""What answers look like, for the description of the API only: routes answer with what Python gives."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Documented(BaseModel):
    """The shape of an answer; later versions may add fields."""

    model_config = ConfigDict(extra="allow")


class Complaint(Documented):
    """One thing that is wrong with a request, and where: a JSON pointer into its body, or the name of a parameter."""

    detail: str
    pointer: str | None = None
    parameter: str | None = None


class Problem(Documented):
    """Why a request was refused (RFC 9457); beside these what the error's `detail` has in Python."""

    type: str = Field(examples=["urn:agentflow:problem:turn_already_active"])
    title: str = Field(examples=["Conflict"])
    status: int = Field(examples=[409])
    detail: str = Field(examples=["A request is already being processed for this session."])
    code: str = Field(examples=["turn_already_active"])
    errors: list[Complaint] | None = None


class Receipt(Documented):
    """Which turn answers a request, and what the log had before it."""

    session_id: str = Field(examples=["s-1"])
    turn_id: str = Field(examples=["t-1"])
    queued: bool
    replayed: bool
    after_seq: int


class Usage(Documented):
    """Tokens, null where the provider said nothing."""

    input: int | None
    output: int | None
    cache_read: int | None
    cache_write: int | None
    total: int | None


class Failure(Documented):
    """Why a turn failed."""

    code: str = Field(examples=["model_error.rate_limited"])
    message: str
    detail: dict[str, Any]


class Result(Documented):
    """What a turn came to, schema `agentflow.result/1`."""

    schema_: Literal["agentflow.result/1"] = Field(alias="schema")
    session_id: str
    turn_id: str
    step_order: int
    state: Literal["done", "failed", "aborted", "paused_ask_user"]
    answer: str | None
    message_id: str | None
    truncated: bool
    data: Any
    output: Any
    pending_kind: Literal["questions", "tools", "approval"] | None
    question: dict[str, Any] | None
    calls: list[dict[str, Any]]
    usage: Usage
    cost: str | None
    limit: str | None
    aborted: bool
    error: Failure | None


class Turn(Documented):
    """A turn; `state` is `queued`, `running` or the state of its result."""

    session_id: str
    turn_id: str
    number: int | None
    state: str
    after_seq: int | None
    result: Result | None


class SeedStatus(Documented):
    """Where a session stands, in the words of the seeds."""

    pending: bool
    questions: list[dict[str, Any]] | None
    question: str | None
    toolCallId: str | None
    status: Literal["idle", "running", "aborted", "PENDING_USER_INPUT"]
    turnId: str | None
    todos: list[dict[str, Any]]
    pendingKind: Literal["questions", "tools", "approval"] | None
    calls: list[dict[str, Any]]


class SeedStopped(Documented):
    """What a stop came to."""

    outcome: Literal["stopped", "requested", "nothing_to_stop"]
    turnId: str | None


class Stopped(Documented):
    """What a stop came to."""

    session_id: str
    turn_id: str | None
    outcome: Literal["stopped", "requested", "nothing_to_stop"]


class Event(Documented):
    """An event's envelope; `seq` is null for what is streamed and not logged."""

    session_id: str
    seq: int | None
    turn_id: str | None
    at: str = Field(examples=["2030-01-01T09:00:00.000000+00:00"])
    type: str = Field(examples=["turn.started"])
    data: dict[str, Any]


class EventPage(Documented):
    """Some events of the log; ask for more with `after`."""

    session_id: str
    events: list[Event]
    after: int
    more: bool


class SessionPage(Documented):
    """Some sessions; ask for more with `page_token`."""

    sessions: list[dict[str, Any]]
    more: int
    next_page_token: str | None


class Chat(Documented):
    """A session as a list for people shows it."""

    session_id: str
    agent_id: str
    name: str | None
    state: str
    updated_at: str
    turns: int


class ChatPage(Documented):
    """Some chats; ask for more with `page_token`."""

    chats: list[Chat]
    more: int
    next_page_token: str | None


class Agent(Documented):
    """An agent as a form needs it."""

    name: str
    description: str | None = None
    inputs: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    error: str | None = None


class Agents(Documented):
    """All agents."""

    agents: list[Agent]


class Moved(Documented):
    """Where the head is."""

    session_id: str
    head_id: str
    moved: bool


class Settled(Documented):
    """What became of a result."""

    session_id: str
    turn_id: str
    outcome: Literal["settled", "replayed", "ignored"]


class Imported(Documented):
    """What was brought in."""

    session_id: str
    agent_id: str
    rows: int


class Token(Documented):
    """A token, and when it ends."""

    token: str
    expires_at: str


class Session(Documented):
    """A session: its status, the messages of its path, its steps and totals."""

    session_id: str
    agent_id: str
    name: str | None
    status: str
    turn_id: str | None
    pending: bool
    messages: list[dict[str, Any]]
    steps: list[dict[str, Any]]
    totals: dict[str, Any]


class Tree(Documented):
    """All messages with their parents, and the head."""

    head_id: str | None
    nodes: list[dict[str, Any]]
    compactions: list[dict[str, Any]]


class Steps(Documented):
    """The steps of a session's turns, and the turns that wait."""

    session_id: str
    steps: list[dict[str, Any]]
    queue: list[dict[str, Any]]


class Blob(Documented):
    """A text kept by its hash."""

    session_id: str
    hash: str
    text: str


class Anything(Documented):
    """As Python gives it."""


class Message(Documented):
    """A message; `content` is a text or a list of parts."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [{"role": "user", "content": "Hello."}]})

    role: Literal["user", "assistant", "system", "tool"]
    content: str | list[dict[str, Any]] | None = None
    id: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None
    name: str | None = None


class ClientSaid(Documented):
    """What the client says beside its messages."""

    state: Any = None
    context: list[Any] | None = None
    forwarded_props: Any = None


class ClientTool(Documented):
    """A tool that the client performs; `parameters` is a JSON Schema."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}


class _Input(BaseModel):
    """What every input may carry."""

    model_config = ConfigDict(extra="forbid")

    agent_id: str | None = None
    turn_id: str | None = None
    stream: bool | None = None
    client: ClientSaid | None = None
    inputs: dict[str, Any] | None = None
    limits: dict[str, Any] | None = None


class _Delivered(_Input):
    interrupt: bool = False
    tools: list[ClientTool] | None = None


class ClientMessageInput(_Delivered):
    """One user message at the head."""

    type: Literal["client.message"]
    message: Message
    queue: bool | Literal["merge"] = False


class ClientAppendInput(_Delivered):
    """Several messages at the head."""

    type: Literal["client.append"]
    messages: list[Message]
    queue: bool | Literal["merge"] = False
    record_only: bool = False


class ClientMessagesInput(_Delivered):
    """The client's whole view, merged into the tree."""

    type: Literal["client.messages"]
    messages: list[Message]
    record_only: bool = False


class HeadMoveInput(_Input):
    """The head goes exactly there."""

    type: Literal["head.move"]
    message_id: str


class AskUserAnswerInput(_Input):
    """A pending question, answered by the id of its call."""

    type: Literal["ask_user.answer"]
    tool_call_id: str
    answers: dict[str, Any] | str
    follow_up: list[Message] | None = None
    tools: list[ClientTool] | None = None


INPUTS: tuple[type[BaseModel], ...] = (
    ClientMessageInput,
    ClientAppendInput,
    ClientMessagesInput,
    HeadMoveInput,
    AskUserAnswerInput,
)
