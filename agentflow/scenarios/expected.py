"""The keys under `expect`: what a step of a test must have come to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from agentflow.bounds import patterns
from agentflow.config.document.codes import Code
from agentflow.config.keys.base import Complaint, Items, Keys, Named, Verbatim, complain


class TextKeys(Keys):
    """A text: all that is given must hold. A plain text in place of the keys is what it must be, word for word."""

    short: ClassVar[str | None] = "is"

    is_: str | None = Field(default=None, alias="is", description="The whole text.")
    contains: Items[str] = Field(default=(), description="Each of these is somewhere in it.")
    lacks: Items[str] = Field(default=(), description="None of these is in it.")
    matches: str | None = Field(default=None, description="A regular expression that is found in it.")

    @field_validator("matches")
    @classmethod
    def _readable(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                patterns.compiled(value)
            except ValueError as error:
                complain([Complaint(Code.WRONG_FORM, f"is not a regular expression: {error}")])
        return value

    def complaint(self, text: str | None) -> str | None:
        """What is wrong with a text, as the end of a sentence; null when all holds."""
        said = text or ""
        if self.is_ is not None and text != self.is_:
            return f"must be {self.is_!r}"
        for part in self.contains:
            if part not in said:
                return f"must contain {part!r}"
        for part in self.lacks:
            if part in said:
                return f"must not contain {part!r}"
        if self.matches is not None and patterns.compiled(self.matches).find(said) is None:
            return f"must match {self.matches!r}"
        return None


class ToolKeys(Keys):
    """A call of a tool that was performed, in the order of the calls."""

    short: ClassVar[str | None] = "name"

    name: str = Field(min_length=1, description="The tool.")
    arguments: Verbatim | None = Field(default=None, description="Its arguments, all of them; unset: any.")
    result: TextKeys | None = Field(default=None, description="The result, as the model reads it.")


class EventKeys(Keys):
    """An event of the session's log."""

    short: ClassVar[str | None] = "type"

    type: str = Field(min_length=1, description="What happened, as `tool.call.completed`.")
    data: Verbatim = Field(default={}, description="What the event tells, or some of it.")


class RequestKeys(Keys):
    """What the model was sent in one call."""

    agent: str | None = Field(default=None, description="Whose model was called.")
    messages: Items[Named[TextKeys]] | None = Field(
        default=None, description="All messages but the system prompt, each a role with its text."
    )
    system: TextKeys | None = Field(default=None, description="The system prompt.")
    last: TextKeys | None = Field(default=None, description="The text of the last message.")
    tools: Items[str] | None = Field(default=None, description="The names of the tools, in any order.")


class TokenKeys(Keys):
    """The tokens of a turn so far, exactly; what is not given is not looked at."""

    input: int | None = Field(default=None, ge=0, description="What the model read.")
    output: int | None = Field(default=None, ge=0, description="What it wrote.")
    cache_read: int | None = Field(default=None, ge=0, description="What of the input came from the provider's cache.")
    cache_write: int | None = Field(default=None, ge=0, description="What of the input was put into it.")
    total: int | None = Field(default=None, ge=0, description="All of them.")
    at_most: int | None = Field(default=None, ge=0, description="The most that they may be together.")


State = Literal["idle", "running", "paused_ask_user", "done", "failed", "aborted"]


class ExpectKeys(Keys):
    """What must hold after a step. Events, tools and requests are those of the step itself."""

    state: State | None = Field(default=None, description="How the step's turn stands.")
    answer: TextKeys | None = Field(default=None, description="The answer of the turn.")
    question: TextKeys | None = Field(default=None, description="The question that the turn waits with.")
    error: str | None = Field(default=None, description="The code of the error that the turn failed with, or the step.")
    tools: Items[ToolKeys] | None = Field(default=None, description="The calls that were performed, all of them.")
    events: Items[EventKeys] = Field(default=(), description="Events in this order; others may be between them.")
    requests: Items[RequestKeys] | None = Field(default=None, description="The calls of models, all of them.")
    tokens: TokenKeys | None = Field(default=None, description="The tokens of the turn.")
    path: Items[Named[TextKeys]] | None = Field(
        default=None, description="All messages of the active path, each a role with its text."
    )
    status: str | None = Field(default=None, description="The session's status: idle, running, aborted and so on.")
    queued: int | None = Field(default=None, ge=0, description="How many turns wait in the session.")
    gone: bool | None = Field(default=None, description="Whether the session is erased, as by retention.")

    def given(self) -> Mapping[str, Any]:
        """What is expected, by key."""
        return {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}
