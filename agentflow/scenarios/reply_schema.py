"""A scripted reply as a JSON Schema, for editors; `models.script` is what reads one."""

from __future__ import annotations

from typing import Any, get_args

from agentflow.message import Purpose
from agentflow.models.script import ERROR_KINDS, FINISH_REASONS


def _keys(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "patternProperties": {"^x-": {}},
        "properties": properties,
    }


def _enum(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


_TEXT: dict[str, Any] = {"type": "string"}
_FLAG: dict[str, Any] = {"type": "boolean"}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
_NUMBER: dict[str, Any] = {"type": "number", "minimum": 0}

REPLY_SCHEMA: dict[str, Any] = _keys(
    text=_TEXT,
    reasoning=_TEXT,
    tool_calls={
        "type": "array",
        "items": _keys(name=_TEXT, arguments={"type": ["object", "string"]}, id=_TEXT),
    },
    usage=_keys(input=_COUNT, output=_COUNT, cache_read=_COUNT, cache_write=_COUNT, cost=_NUMBER),
    finish_reason=_enum(*FINISH_REASONS),
    error=_keys(kind=_enum(*ERROR_KINDS), after=_COUNT, retry_after=_NUMBER),
    provider={"type": "object"},
    when=_keys(
        last_user=_TEXT,
        has_tool_result=_FLAG,
        tool=_TEXT,
        turn={"type": "integer", "minimum": 1},
        purpose=_enum(*get_args(Purpose)),
    ),
    repeat=_FLAG,
    chunk_size={"type": "integer", "minimum": 1},
    delay_secs=_NUMBER,
)
