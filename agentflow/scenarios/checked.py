"""What a step came to against what its test expects. Pure: a place in the file and a sentence for each difference."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentflow import events as happened
from agentflow.config.document.problems import Path
from agentflow.events import Event
from agentflow.message import text_of
from agentflow.models.protocol import ModelRequest
from agentflow.result import TurnResult
from agentflow.scenarios.expected import EventKeys, ExpectKeys, RequestKeys, TextKeys, TokenKeys, ToolKeys
from agentflow.text import preview

Differences = Iterator[tuple[Path, str]]

_SHOWN = 200
ASK_USER = "ask_user"


@dataclass(frozen=True, slots=True)
class Seen:
    """What there was to see after a step of a test.

    `result` is null for a step that let no turn end, `error` the code of the error that the step raised and
    `sentence` what it says. `events` and
    `requests`, each with the agent whose model was called, are those of the step; `path` are the messages of the
    session in wire shape, and `gone` says that there is no such session.
    """

    result: TurnResult | None = None
    error: str | None = None
    sentence: str = ""
    events: Sequence[Event] = ()
    requests: Sequence[tuple[str, ModelRequest]] = ()
    path: Sequence[Mapping[str, Any]] = ()
    status: str = ""
    queued: int = 0
    gone: bool = False


def differences(expected: ExpectKeys, seen: Seen) -> Differences:
    """Each as the path below `expect` and what is wrong there, in the order of the keys."""
    for name, wanted in expected.given().items():
        if wanted is not None:
            yield from (((name, *path), said) for path, said in _CHECKS[name](wanted, seen))


def performed(seen: Sequence[Event]) -> list[tuple[str, str, str]]:
    """The calls that came to a result, in the order they were asked for: name, arguments as JSON, result.

    Questions to the user are none of them.
    """
    results = {
        event.data["id"]: event.data for event in seen if event.type in _RESULTS and event.data["name"] != ASK_USER
    }
    asked = {event.data["id"]: event.data for event in seen if event.type == happened.TOOL_CALL_REQUESTED}
    order = [*(id_ for id_ in asked if id_ in results), *(id_ for id_ in results if id_ not in asked)]
    return [(results[id_]["name"] or "", asked.get(id_, {}).get("arguments", ""), _said(results[id_])) for id_ in order]


_RESULTS = (happened.TOOL_CALL_COMPLETED, happened.TOOL_CALL_ERRORED)


def _said(told: Mapping[str, Any]) -> str:
    return str(told.get("result", told.get("error")) or "")


def _text(wanted: TextKeys, text: str | None) -> Differences:
    complaint = wanted.complaint(text)
    if complaint is not None:
        yield (), f"{complaint}, is {_value(text)}"


def _value(text: str | None) -> str:
    return "nothing" if text is None else repr(preview(text, _SHOWN))


def _plain(wanted: Any, found: Any) -> Differences:
    if wanted != found:
        yield (), f"must be {wanted}, is {'nothing' if found is None else found}"


def _state(wanted: str, seen: Seen) -> Differences:
    if seen.result is None:
        yield from _plain(wanted, seen.status)
    elif seen.result.state != wanted:
        why = f" ({seen.result.error['message']})" if seen.result.error else ""
        yield (), f"must be {wanted}, is {seen.result.state}{why}"


def _error(wanted: str, seen: Seen) -> Differences:
    failed = seen.result.error["code"] if seen.result is not None and seen.result.error else None
    yield from _plain(wanted, seen.error or failed)


def _question(wanted: TextKeys, seen: Seen) -> Differences:
    question = seen.result.question if seen.result is not None else None
    yield from _text(wanted, question["text"] if question else None)


def _tools(wanted: Sequence[ToolKeys], seen: Seen) -> Differences:
    calls = performed(seen.events)
    for index, (tool, (name, arguments, result)) in enumerate(zip(wanted, calls, strict=False)):
        if tool.name != name:
            yield (index, "name"), f"must be {tool.name}, is {name}"
        elif tool.arguments is not None and dict(tool.arguments) != _parsed(arguments):
            yield (
                (index, "arguments"),
                f"must be {json.dumps(dict(tool.arguments), ensure_ascii=False)}, is {arguments}",
            )
        elif tool.result is not None:
            yield from (((index, "result", *path), said) for path, said in _text(tool.result, result))
    yield from _count(len(wanted), [name for name, _, _ in calls], "calls")


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments


def _count(wanted: int, found: Sequence[str], what: str) -> Differences:
    if wanted != len(found):
        listed = f": {', '.join(preview(each, 60) for each in found)}" if found else ""
        yield (), f"must be {wanted} {what}, there are {len(found)}{listed}"


def _events(wanted: Sequence[EventKeys], seen: Seen) -> Differences:
    missing = missing_event(seen.events, [(each.type, each.data) for each in wanted])
    if missing is not None:
        yield (missing[0],), missing[1]


def missing_event(seen: Sequence[Event], wanted: Sequence[tuple[str, Mapping[str, Any]]]) -> tuple[int, str] | None:
    """The first of these types, each with some of its data, that did not happen in this order, others between them: its
    index and a sentence; null when all did.
    """
    left = iter(seen)
    for index, (type_, data) in enumerate(wanted):
        if not any(each.type == type_ and _within(data, each.data) for each in left):
            so_far = f" after {wanted[index - 1][0]}" if index else ""
            told = f" with {json.dumps(_plain_data(data), ensure_ascii=False)}" if data else ""
            return index, f"{type_}{told} did not happen{so_far}; there were {_types(seen)}"
    return None


def _plain_data(value: Any) -> Any:
    return {name: _plain_data(each) for name, each in value.items()} if isinstance(value, Mapping) else value


def _types(seen: Sequence[Event]) -> str:
    counted = Counter(event.type for event in seen)
    return ", ".join(name if times == 1 else f"{name} ({times})" for name, times in counted.items()) or "no events"


def _within(wanted: Any, found: Any) -> bool:
    """Whether what is wanted is found: of a mapping the keys that are given, anything else whole."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            name in found and _within(value, found[name]) for name, value in wanted.items()
        )
    return bool(wanted == found)


def _requests(wanted: Sequence[RequestKeys], seen: Seen) -> Differences:
    for index, (keys, (agent, request)) in enumerate(zip(wanted, seen.requests, strict=False)):
        yield from (((index, *path), said) for path, said in _request(keys, agent, request))
    yield from _count(len(wanted), [_last(request) for _, request in seen.requests], "requests")


def _last(request: ModelRequest) -> str:
    return text_of(request.messages[-1]["content"]) if request.messages else ""


def _request(wanted: RequestKeys, agent: str, request: ModelRequest) -> Differences:
    system = [each for each in request.messages if each["role"] == "system"]
    said = [each for each in request.messages if each["role"] != "system"]
    if wanted.agent is not None and wanted.agent != agent:
        yield ("agent",), f"must be {wanted.agent}, is {agent}"
    if wanted.system is not None:
        text = "\n\n".join(text_of(each["content"]) for each in system)
        yield from ((("system", *path), why) for path, why in _text(wanted.system, text))
    if wanted.last is not None:
        yield from ((("last", *path), why) for path, why in _text(wanted.last, _last(request)))
    if wanted.messages is not None:
        yield from ((("messages", *path), why) for path, why in _messages(wanted.messages, said))
    if wanted.tools is not None:
        names = sorted(tool["function"]["name"] for tool in request.tools)
        if sorted(wanted.tools) != names:
            yield ("tools",), f"must be {', '.join(sorted(wanted.tools)) or 'none'}, are {', '.join(names) or 'none'}"


def _messages(wanted: Sequence[Mapping[str, TextKeys]], found: Sequence[Mapping[str, Any]]) -> Differences:
    for index, (keys, message) in enumerate(zip(wanted, found, strict=False)):
        for role, text in keys.items():
            if role != message["role"]:
                yield (index, role), f"must be of the {role}, is of the {message['role']}"
            else:
                said = text_of(message["content"])
                yield from (((index, role, *path), why) for path, why in _text(text, said))
    yield from _count(len(wanted), [f"{each['role']}: {text_of(each['content'])}" for each in found], "messages")


def _tokens(wanted: TokenKeys, seen: Seen) -> Differences:
    used = seen.result.usage.as_dict() if seen.result is not None else {}
    for name in ("input", "output", "cache_read", "cache_write", "total"):
        exact = getattr(wanted, name)
        if exact is not None and used.get(name) != exact:
            yield (name,), f"must be {exact}, is {used.get(name)}"
    if wanted.at_most is not None and (used.get("total") or 0) > wanted.at_most:
        yield ("at_most",), f"must be at most {wanted.at_most}, is {used['total']}"


_CHECKS: Mapping[str, Callable[[Any, Seen], Differences]] = {
    "state": _state,
    "answer": lambda wanted, seen: _text(wanted, seen.result.answer if seen.result is not None else None),
    "question": _question,
    "error": _error,
    "tools": _tools,
    "events": _events,
    "requests": _requests,
    "tokens": _tokens,
    "path": lambda wanted, seen: _messages(wanted, seen.path),
    "status": lambda wanted, seen: _plain(wanted, seen.status),
    "queued": lambda wanted, seen: _plain(wanted, seen.queued),
    "gone": lambda wanted, seen: _plain(wanted, seen.gone),
}
