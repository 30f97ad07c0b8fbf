"""The spans of a turn as data: names and attributes by the GenAI semantic conventions, ours where they have none.

turn        invoke_workflow AGENT    one request's part of a turn, up to its end or its pause
step        invoke_agent AGENT       the main agent's run in it; a sub-agent's run has the same shape
model call  chat MODEL               with its retries; of the loop, a planner, a summary or a title
tool        execute_tool NAME        with its hooks
hook        hook POINT
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentflow.message import Usage
from agentflow.secrets.redacting import redact_json, told
from agentflow.text import compact_json

# the first part of a model string -> the well-known name of who is asked
_PROVIDERS: Mapping[str, str] = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}


@dataclass(frozen=True, slots=True)
class Shape:
    """A span as it begins; `calls_out` where it waits for another service. What is null is left out."""

    name: str
    attributes: Mapping[str, Any]
    calls_out: bool = False


def turn(agent: str, session_id: str, turn_id: str, environment: str, *, resumed: bool) -> Shape:
    """One request's part of a turn; by its environment an evaluation is known."""
    said = {
        "gen_ai.workflow.name": agent,
        "agentflow.turn.id": turn_id,
        "agentflow.turn.resumed": resumed,
        "agentflow.environment": environment,
    }
    return Shape(f"invoke_workflow {agent}", _of("invoke_workflow", session_id) | said)


def run(agent: str, session_id: str, step: int, execution: int) -> Shape:
    """A run of an agent in one step: the main one or a sub-agent's."""
    said = {"gen_ai.agent.name": agent, "agentflow.step": step, "agentflow.execution": execution}
    return Shape(f"invoke_agent {agent}", _of("invoke_agent", session_id) | said)


def model_call(model: str, session_id: str, call_id: str, purpose: str, *, scripted: bool) -> Shape:
    """A call of a model, all its attempts."""
    provider, slash, name = model.partition("/")
    called = name if slash else model
    known = "agentflow" if scripted else _PROVIDERS.get(provider, provider) if slash else "litellm"
    said = {
        "gen_ai.provider.name": known,
        "gen_ai.request.model": called,
        "gen_ai.request.stream": True,
        "agentflow.call.id": call_id,
        "agentflow.call.purpose": purpose,
    }
    return Shape(f"chat {called}", _of("chat", session_id) | said, calls_out=True)


def model_replied(usage: Usage | None, finish: str | None, attempts: int, first_ms: int | None) -> dict[str, Any]:
    """What came of a model call, failed or not. The input tokens are all of them, cached ones included."""
    counted = usage or Usage()
    return {
        "gen_ai.usage.input_tokens": counted.input,
        "gen_ai.usage.output_tokens": counted.output,
        "gen_ai.usage.cache_read.input_tokens": counted.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": counted.cache_write,
        "gen_ai.response.finish_reasons": None if finish is None else (finish,),
        "gen_ai.response.time_to_first_chunk": None if first_ms is None else first_ms / 1000,
        "agentflow.call.attempts": attempts,
    }


def tool(name: str, call_id: str, session_id: str) -> Shape:
    """A tool call between its hooks."""
    said = {"gen_ai.tool.name": name, "gen_ai.tool.call.id": call_id, "gen_ai.tool.type": "function"}
    return Shape(f"execute_tool {name}", _of("execute_tool", session_id) | said)


def hook(point: str, flow: str, session_id: str) -> Shape:
    """A hook at a point of the turn."""
    said = {"agentflow.hook.point": point, "agentflow.hook.flow": flow}
    return Shape(f"hook {point}", {"gen_ai.conversation.id": session_id} | said)


def _of(operation: str, session_id: str) -> dict[str, Any]:
    return {"gen_ai.operation.name": operation, "gen_ai.conversation.id": session_id}


# -- contents: only where they are asked for -----------------------------------------------------------------------


def asked(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A request's messages."""
    return {"gen_ai.input.messages": _written([_message(message) for message in messages])}


def answered(text: str, calls: Sequence[Mapping[str, Any]], finish: str | None) -> dict[str, Any]:
    """A reply; its calls as `{id, name, arguments}`."""
    parts = [*_texts(text), *(_call(call["id"], call["name"], call["arguments"]) for call in calls)]
    reply = {"role": "assistant", "parts": parts, "finish_reason": finish or "error"}
    return {"gen_ai.output.messages": _written([reply])}


def arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a tool is called with."""
    return {"gen_ai.tool.call.arguments": _written(given)}


def result(text: str) -> dict[str, Any]:
    """What a tool came to."""
    return {"gen_ai.tool.call.result": told(text)}


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    if message["role"] == "tool":
        response = {"type": "tool_call_response", "id": message["tool_call_id"], "response": message["content"]}
        return {"role": "tool", "parts": [response]}
    calls = [
        _call(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls", ())
    ]
    return {"role": message["role"], "parts": [*_texts(message.get("content")), *calls]}


def _texts(content: Any) -> list[dict[str, Any]]:
    """Texts as they are; of a picture or a file that there is one."""
    if isinstance(content, list):
        return [part for each in content for part in (_texts(each["text"]) if "text" in each else [_kind(each)])]
    return [{"type": "text", "content": content}] if content else []


def _kind(part: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": part["type"]}


def _call(call_id: str, name: str, given: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": given}


def _written(value: Any) -> str:
    return compact_json(redact_json(value, told))
