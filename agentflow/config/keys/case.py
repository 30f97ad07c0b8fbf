"""Every key of a case for `agentflow eval run`: what is said and given in its turns, and what is expected (R9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from agentflow.bounds import patterns
from agentflow.config.document.codes import Code
from agentflow.config.keys.base import Complaint, Items, Keys, Named, Verbatim, complain
from agentflow.conversation import wire
from agentflow.errors import InvalidInput


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Key = Annotated[str, BeforeValidator(_as_text, json_schema_input_type=str | int)]
"""What a flow calls one entity among others."""


class CaseMessage(Keys):
    """A message. A text alone is one of the user."""

    short: ClassVar[str | None] = "content"

    role: Literal["user", "assistant", "tool", "system"] = Field(default="user", description="Who says it.")
    content: Any = Field(default=None, description="The text, or a list of parts.")
    tool_calls: Items[Mapping[str, Any]] = Field(
        default=(), description="Calls of a message of the assistant: id, name, arguments as JSON text."
    )
    tool_call_id: str | None = Field(default=None, description="The call that a message of a tool is the result of.")
    name: str | None = Field(default=None, description="The tool's name.")

    @model_validator(mode="after")
    def _is_a_message(self) -> Self:
        try:
            wire.message_of(self.as_dict())
        except InvalidInput as refused:
            complain([Complaint(Code.WRONG_FORM, refused.message)])
        return self

    def as_dict(self) -> dict[str, Any]:
        """The message as a client sends it."""
        shape: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            shape["tool_calls"] = [dict(call) for call in self.tool_calls]
        named = {"tool_call_id": self.tool_call_id, "name": self.name}
        return shape | {key: value for key, value in named.items() if value is not None}


class CaseData(Keys):
    """What a flow gets in place of the data of an entity."""

    entity: str = Field(min_length=1, description="The entity, as flows name it.")
    key: Key = Field(description="Which one: a text or a whole number.")
    value: Any = Field(description="The data.")
    step: int = Field(default=1, ge=1, description="From which step of the turn on; each answer begins another.")


class CaseCall(Keys):
    """What a call of a tool gives, in place of the tool."""

    name: str = Field(min_length=1, description="The tool.")
    arguments: Mapping[str, Any] | None = Field(
        default=None, description="The arguments it was called with; unset: whatever they are."
    )
    result: Any = Field(default=None, description="Its result, a text or any JSON.")
    error: str | None = Field(default=None, min_length=1, description="What the model reads of a call that failed.")

    @model_validator(mode="after")
    def _has_one_outcome(self) -> Self:
        if self.error is not None and "result" in self.model_fields_set:
            complain([Complaint(Code.GIVEN_TWICE, "a call has a result or an error, not both", ("error",))])
        return self


class CaseAnswer(Keys):
    """The answer to one pause of the turn. A text alone answers as a user types it, also as lines `HEADER: ANSWER`."""

    short: ClassVar[str | None] = "text"
    forms: ClassVar[Sequence[Mapping[str, Any]]] = ({"required": ["text"]}, {"required": ["choices"]})

    text: str | None = Field(default=None, description="The answer as one text.")
    choices: Named[Any] = Field(default={}, description="Answers by the question's header: a text or a list of labels.")

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if (self.text is None) == (not self.choices):
            complain([Complaint(Code.MISSING_KEY, "needs either text or choices")])
        return self


class ExpectedAnswer(Keys):
    """What the answer is to be. A text alone is the whole answer."""

    short: ClassVar[str | None] = "text"

    text: str | None = Field(default=None, description="The whole answer, but for blanks around it.")
    contains: str | None = Field(default=None, min_length=1, description="A text that is in it.")
    matches: str | None = Field(default=None, min_length=1, description="A regular expression that is found in it.")

    @model_validator(mode="after")
    def _can_be_looked_for(self) -> Self:
        if self.matches is not None:
            try:
                patterns.compiled(self.matches)
            except ValueError as error:
                complain([Complaint(Code.WRONG_FORM, f"is not a regular expression: {error}", ("matches",))])
        return self


class ExpectedCall(Keys):
    """A call that the agent is to make. The name of the tool alone is enough."""

    short: ClassVar[str | None] = "name"

    name: str = Field(min_length=1, description="The tool.")
    arguments: Mapping[str, Any] | None = Field(default=None, description="All its arguments; unset: any.")


class Expectations(Keys):
    """What a turn is to come to. What is not given is not looked at, but for `state`."""

    state: Literal["done", "failed", "aborted", "paused_ask_user"] = Field(
        default="done", description="The state of the turn."
    )
    answer: ExpectedAnswer | None = Field(default=None, description="What the user reads.")
    rubric: str | None = Field(
        default=None, min_length=1, description="What a good answer is, in words: for the model named by --judge."
    )
    tools: Items[ExpectedCall] = Field(
        default=(),
        description="The calls of the agent, in any order, all of them; [] for none. Not those of sub-agents.",
    )
    agent_state: Any = Field(default=None, description="The agent's state after the turn.")
    data: Any = Field(default=None, description="What a worker or a tool ended the turn with.")
    limit: str | None = Field(default=None, min_length=1, description="The limit that was reached, as max_iterations.")
    max_tokens: int = Field(default=0, ge=0, description="Most tokens of the turn, in and out; 0: no ceiling.")
    max_cost: float = Field(default=0, ge=0, description="Highest cost of the turn in US dollars; 0: no ceiling.")


class CaseTurn(Keys):
    """One turn: what is said and given, and what is expected of it."""

    messages: Items[CaseMessage] = Field(description="What is said to the agent, mostly one text.")
    inputs: Verbatim = Field(default={}, description="Values for the inputs that the agent declares.")
    client: Verbatim = Field(default={}, description="What the client says beside: state, context, forwarded_props.")
    client_tools: Items[Mapping[str, Any]] = Field(
        default=(), description="Tools that the client performs: name, description, parameters."
    )
    limits: Verbatim = Field(default={}, description="Limits for this turn, over those of the agent.")
    answers: Items[CaseAnswer] = Field(default=(), description="Answers to the questions of the turn, in order.")
    data: Items[CaseData] = Field(default=(), description="What flows load with get_with_snap.")
    tools: Items[CaseCall] = Field(
        default=(), description="What tools give, also those of sub-agents, workers and the client."
    )
    expect: Expectations = Field(default=Expectations(), description="What it is to come to.")

    @model_validator(mode="after")
    def _begins_with_a_message(self) -> Self:
        complain([] if self.messages else [Complaint(Code.MISSING_KEY, "a turn begins with a message", ("messages",))])
        return self


class CaseKeys(Keys):
    """One case: a conversation, or a part of one, that an agent goes through again."""

    version: int = Field(default=1, ge=1, le=1, description="Version of the format.")
    agent: str = Field(min_length=1, description="The agent: its name, or its path.")
    about: str = Field(default="", description="What the case is about.")
    history: Items[CaseMessage] = Field(default=(), description="What was said before; nothing of it runs.")
    agent_state: Any = Field(default=None, description="The agent's state before the first turn.")
    turns: Items[CaseTurn] = Field(description="The turns, in order; one at least.")

    @model_validator(mode="after")
    def _has_turns(self) -> Self:
        complain([] if self.turns else [Complaint(Code.MISSING_KEY, "a case needs a turn at least", ("turns",))])
        return self
