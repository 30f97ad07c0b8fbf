"""A tool as an agent has it: what the model sees of it, and the limits of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agentflow.conversation.questions import check_questions
from agentflow.conversation.tool_schema import NO_ARGUMENTS
from agentflow.tools import builtin
from agentflow.tools.flows import reserved
from agentflow.tools.flows.library import Flow
from agentflow.tools.flows.portable_schema import JsonSchema
from agentflow.tools.matching import mismatch, validator_of
from agentflow.tools.todo_items import check_todos

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

TIMEOUT_SECS = 60.0
MAX_RESULT_CHARS = 50_000
WORKER, CLIENT = "worker", "client"
"""The handlers whose results come from outside the turn."""


@dataclass(frozen=True)
class Tool:
    """`flow` is null for a built-in, which the turn performs itself, and for a tool of the client.

    `timeout_secs` and `max_result_chars`: 0 = off. A `handler` of `worker` does not run the flow (C32), one of `client`
    has none (C37). `check`
    takes the place of the schema where rules say more than a schema can, or accept more than the model is told: it
    returns a complaint or null.
    """

    name: str
    description: str
    parameters: JsonSchema
    flow: Flow | None = None
    timeout_secs: float = TIMEOUT_SECS
    max_result_chars: int = MAX_RESULT_CHARS
    ends_turn: bool = False
    handler: str = "flow"
    check: Callable[[Mapping[str, Any]], str | None] | None = None

    def complaint(self, arguments: Mapping[str, Any]) -> str | None:
        """What is wrong with the arguments, in the schema's words; null when they fit (T13)."""
        if self.check is not None:
            return self.check(arguments)
        return mismatch(self._validator, arguments)

    @cached_property
    def _validator(self) -> Validator:
        return validator_of(self.parameters)


def tool_of(
    flow: Flow,
    *,
    name: str | None = None,
    timeout_secs: float = TIMEOUT_SECS,
    max_result_chars: int = MAX_RESULT_CHARS,
    ends_turn: bool = False,
    handler: str = "flow",
) -> Tool:
    """A flow as a tool, under another name if wanted; raises `InvalidConfig` when its signature makes no schema."""
    return Tool(
        name or flow.name, flow.description, flow.parameters, flow, timeout_secs, max_result_chars, ends_turn, handler
    )


def client_tool(
    name: str, description: str, parameters: Mapping[str, Any], max_result_chars: int = MAX_RESULT_CHARS
) -> Tool:
    """A tool that the client performs; its schema is one already (`schema_complaint`)."""
    schema = dict(parameters or NO_ARGUMENTS)
    return Tool(name, description, schema, max_result_chars=max_result_chars, handler=CLIENT)


def tool_schemas(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """The tools as a model request carries them, in the order given: the same tools make the same bytes."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in tools
    ]


def _complaint_only(check: Callable[[Mapping[str, Any]], object]) -> Callable[[Mapping[str, Any]], str | None]:
    def complaint(arguments: Mapping[str, Any]) -> str | None:
        checked = check(arguments)
        return checked if isinstance(checked, str) else None

    return complaint


ASK_USER_TOOL = Tool(
    reserved.ASK_USER,
    builtin.ASK_USER_DESCRIPTION,
    builtin.ASK_USER_PARAMETERS,
    check=_complaint_only(check_questions),
)

WRITE_TODOS_TOOL = Tool(
    reserved.WRITE_TODOS,
    builtin.WRITE_TODOS_DESCRIPTION,
    builtin.WRITE_TODOS_PARAMETERS,
    check=_complaint_only(check_todos),
)
