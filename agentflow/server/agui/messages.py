"""Messages of AG-UI as ours, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    AudioPart,
    DataSource,
    DocumentPart,
    FileSource,
    FunctionCall,
    ImagePart,
    Message,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UrlSource,
    UserMessage,
)

from agentflow import InvalidInput

_OF_THE_SCREEN = ("activity", "reasoning")
_OURS = {"image": "image", "audio": "audio"}
_THEIRS = {"image": ImagePart, "audio": AudioPart, "file": DocumentPart}


def ours(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The view as `client.messages` takes it, without what only the screen shows and what sub-agents said.

    Raises `InvalidInput`.
    """
    return [
        _ours(message, f"messages[{index}]")
        for index, message in enumerate(messages)
        if message.role not in _OF_THE_SCREEN and message.subagent_run_id is None
    ]


def _ours(message: Any, field: str) -> dict[str, Any]:
    said: dict[str, Any] = {"id": message.id, "role": "system" if message.role == "developer" else message.role}
    content = getattr(message, "content", None)
    said["content"] = content if isinstance(content, str) or content is None else _parts(content, f"{field}.content")
    if message.role == "tool":
        said["tool_call_id"] = message.tool_call_id
        if message.error is not None:
            said |= {"error": True, "content": message.error or said["content"]}
    if calls := getattr(message, "tool_calls", None):
        said["tool_calls"] = [
            {"id": call.id, "name": call.function.name, "arguments": call.function.arguments} for call in calls
        ]
    if message.role != "tool" and (name := getattr(message, "name", None)):
        said["name"] = name
    return said


def _parts(parts: Iterable[Any], field: str) -> list[dict[str, Any]]:
    return [_part(part, f"{field}[{index}]") for index, part in enumerate(parts)]


def _part(part: Any, field: str) -> dict[str, Any]:
    if part.type == "text":
        return {"type": "text", "text": part.text}
    source, kind = part.source, _OURS.get(part.type, "file")
    if source.type == "data":
        named = (
            {"name": part.metadata["filename"]}
            if isinstance(part.metadata, dict) and "filename" in part.metadata
            else {}
        )
        return {"type": kind, "media_type": source.mime_type, "data": source.value, **named}
    if source.type == "file" and source.value.startswith("file-"):
        return {"type": kind, "hash": source.value, "media_type": source.mime_type or ""}
    if source.type == "url" and part.type == "image":
        return {"type": "image_url", "image_url": {"url": source.value}}
    why = "a file of somebody else" if source.type == "file" else f"an address of a part of type {part.type!r}"
    raise InvalidInput(f"{field}.source: {why} is not taken.", detail={"field": f"{field}.source"})


def theirs(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """A transcript of ours; what is hidden in it stays so."""
    return [_theirs(message) for message in messages if not message.get("hidden")]


def _theirs(message: Mapping[str, Any]) -> Message:
    id_, content = message["id"], message.get("content")
    match message["role"]:
        case "user":
            parts: Any = content if isinstance(content, str) else [_their_part(part) for part in content or ()]
            return UserMessage(id=id_, content=parts)
        case "assistant":
            return AssistantMessage(id=id_, content=text_of(content) or None, tool_calls=_their_calls(message) or None)
        case "tool":
            error = text_of(content) if message.get("error") else None
            return ToolMessage(id=id_, tool_call_id=message["tool_call_id"], content=text_of(content), error=error)
        case _:
            return SystemMessage(id=id_, content=text_of(content))


def _their_calls(message: Mapping[str, Any]) -> list[ToolCall]:
    return [
        ToolCall(id=call["id"], function=FunctionCall(name=call["name"], arguments=call["arguments"]))
        for call in message.get("tool_calls") or ()
    ]


def _their_part(part: Mapping[str, Any]) -> TextPart | ImagePart | AudioPart | DocumentPart:
    """A file of ours is named by its hash, by which the client may have its bytes, or send it on."""
    if part.get("type") == "text":
        return TextPart(text=part.get("text", ""))
    if "hash" in part:
        source = FileSource(value=part["hash"], provider="agentflow", mime_type=part.get("media_type"))
        named = {"filename": part["name"]} if "name" in part else None
        made: AudioPart | DocumentPart | ImagePart = _THEIRS[part["type"]](source=source, metadata=named)
        return made
    url = str((part.get("image_url") or {}).get("url", ""))
    if url.startswith("data:") and ";base64," in url:
        kind, _, value = url.removeprefix("data:").partition(";base64,")
        return ImagePart(source=DataSource(value=value, mime_type=kind))
    return ImagePart(source=UrlSource(value=url))


def text_of(content: Any) -> str:
    """The text of a message's content."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or () if part.get("type") == "text")
