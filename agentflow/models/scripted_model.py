"""A model that reads from a script: for tests, demonstrations and agents that need no key. Nobody thinks in here."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agentflow.bounds import patterns
from agentflow.config.document import yamlfile
from agentflow.errors import InvalidConfig, ModelError
from agentflow.message import Usage, text_of
from agentflow.models.errors import sentence
from agentflow.models.protocol import (
    Delta,
    FinishReason,
    ModelRequest,
    ProviderData,
    ReasoningDelta,
    TextDelta,
    ToolFragment,
    UsageReport,
)
from agentflow.models.script import PLACEHOLDER, AtEnd, ScriptedReply, read_reply, read_script
from agentflow.text import preview

Answer = Mapping[str, Any]
Answering = Callable[[ModelRequest], Answer | Awaitable[Answer]]

PREFIX = "scripted/"
MAX_REQUESTS = 1000
MAX_SESSIONS = 10_000


@dataclass(slots=True)
class _Progress:
    """How far one session got: all replies before `first` and those in `used` are used up."""

    first: int = 0
    used: set[int] = field(default_factory=set)
    last: ScriptedReply | Answering | None = None


# Progress by (script, session). Models of one scope share it for as long as the process lives.
_Memory = OrderedDict[tuple[str, str], _Progress]
_shared: _Memory = OrderedDict()


class ScriptedModel:
    """Takes the first unused reply whose guard holds, per session; streams it like a real model; keeps the requests.

    `replies` are dicts with the keys of a script's reply, or functions of the request that return one (sync or
    async); one function instead of a list answers every request. A title call, which no script reckons with, takes
    only replies that name `purpose: title`, unless the script answers nothing but titles in this session.
    `requests` holds the last thousand.
    """

    scripted = True
    own_timeout_secs: float | None = None
    """The time limit of its interface, null where the agent's holds."""
    reads: frozenset[str] | None = None
    """What its interface says that it reads besides text, null for everything."""

    def __init__(
        self, replies: Sequence[Answer | Answering] | Answering, *, at_end: AtEnd = "error", name: str = "scripted"
    ) -> None:
        self.name = name
        self.requests: list[ModelRequest] = []
        self._always = replies if callable(replies) else None
        self._replies: list[ScriptedReply | Answering] = (
            [] if callable(replies) else [each if callable(each) else read_reply(each) for each in replies]
        )
        self._at_end: AtEnd = at_end
        self._memory: _Memory = OrderedDict()
        self._key = ""
        self._taken: set[int] = set()

    @classmethod
    def from_file(cls, model: str, folder: Path, *, scope: str | None = None) -> ScriptedModel:
        """The model `scripted/PATH.yaml`, looked for as PATH.yaml and as scripted/PATH.yaml in the folder.

        Models of the same file and `scope` (the database, say) share what is used up, so that the turns of one
        process go on where the last one stopped. Raises `InvalidConfig` with line and column.
        """
        path = _find(model, folder)
        document = yamlfile.read(path)
        script = read_script(document)
        made = cls((), at_end=script.at_end, name=model)
        made._replies.extend(script.replies)
        if scope is not None:
            content = hashlib.sha256("\n".join(document.lines).encode()).hexdigest()
            made._memory, made._key = _shared, f"{scope}\n{path.resolve()}\n{content}"
        return made

    def unused(self) -> tuple[int, ...]:
        """Which replies (counted from 0) no call of any session has taken; those with `repeat` never count."""
        return tuple(
            index
            for index, reply in enumerate(self._replies)
            if index not in self._taken and not (isinstance(reply, ScriptedReply) and reply.repeat)
        )

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """One reply, as `Model.stream` promises; the same script and requests always give the same deltas."""
        self.requests.append(request)
        if len(self.requests) > MAX_REQUESTS:
            del self.requests[0]
        await asyncio.sleep(0)  # a call always lets others run
        chosen = self._choose(request)
        reply = chosen if isinstance(chosen, ScriptedReply) else await _answer(chosen, request)
        if reply.template:
            reply = _filled(reply, request)
        async for delta in play(reply, request, self.name):
            yield delta

    async def close(self) -> None:
        """Nothing is kept open."""

    def _choose(self, request: ModelRequest) -> ScriptedReply | Answering:
        if self._always is not None:
            return self._always
        progress = self._progress(request.session_id)
        guarded_only = request.purpose == "title" and progress.last is not None
        for index in range(progress.first, len(self._replies)):
            reply = self._replies[index]
            if index not in progress.used and _holds(reply, request, guarded_only):
                self._use(progress, index)
                if request.purpose != "title":
                    progress.last = reply
                return reply
        return self._ended(request, None if guarded_only else progress.last)

    def _ended(self, request: ModelRequest, last: ScriptedReply | Answering | None) -> ScriptedReply | Answering:
        if self._at_end == "repeat" and last is not None:
            return last
        if self._at_end == "echo" and request.purpose != "title":
            return ScriptedReply(text=_last(request, "user"))
        raise ModelError(
            "script",
            f"The script {self.name} has no unused reply for this request: purpose {request.purpose}, turn "
            f"{request.turn}, last user message {preview(_last(request, 'user'), 80)!r}. Add one, or set at_end.",
        )

    def _progress(self, session_id: str) -> _Progress:
        key = (self._key, session_id)
        progress = self._memory.get(key)
        if progress is None:
            progress = self._memory[key] = _Progress()
            if len(self._memory) > MAX_SESSIONS:
                self._memory.popitem(last=False)
        else:
            self._memory.move_to_end(key)
        return progress

    def _use(self, progress: _Progress, index: int) -> None:
        self._taken.add(index)
        reply = self._replies[index]
        if isinstance(reply, ScriptedReply) and reply.repeat:
            return
        progress.used.add(index)
        while progress.first in progress.used:
            progress.used.discard(progress.first)
            progress.first += 1


async def play(reply: ScriptedReply, request: ModelRequest, name: str) -> AsyncGenerator[Delta, None]:
    """A reply as the model of this name streams it, its failure and its usage too. Raises `ModelError`."""
    for delta in _deltas(reply):
        if reply.delay_secs:
            await asyncio.sleep(reply.delay_secs)
        yield delta
    if reply.error is not None:
        raise ModelError(reply.error.kind, sentence(name, reply.error.kind), retry_after=reply.error.retry_after)
    report = _counted(reply, request) if reply.usage is None else reply.usage
    if report.total is not None:
        yield UsageReport(report)
    yield FinishReason(reply.finish_reason or ("tool_calls" if reply.tool_calls else "stop"))


def _find(model: str, folder: Path) -> Path:
    tried = [folder / model.removeprefix(PREFIX), folder / model]
    found = next((path for path in tried if path.is_file()), None)
    if found is None:
        raise InvalidConfig(
            f"The script of the model {model!r} is missing: there is no {' and no '.join(map(str, tried))}."
        )
    return found


async def _answer(answering: Answering, request: ModelRequest) -> ScriptedReply:
    answer = answering(request)
    try:
        return read_reply(await answer if inspect.isawaitable(answer) else answer)
    except InvalidConfig as error:
        raise ModelError("script", f"The script's function gave no reply that can be used: {error}") from error


def _holds(reply: ScriptedReply | Answering, request: ModelRequest, guarded_only: bool) -> bool:
    if not isinstance(reply, ScriptedReply):
        return not guarded_only
    guard = reply.when
    if guarded_only and guard.purpose is None:
        return False
    last = request.messages[-1] if request.messages else {}
    is_result = last.get("role") == "tool"
    return (
        (guard.purpose is None or guard.purpose == request.purpose)
        and (guard.turn is None or guard.turn == request.turn)
        and (guard.has_tool_result is None or guard.has_tool_result == is_result)
        and (guard.tool is None or (is_result and guard.tool == last.get("name")))
        and (guard.last_user is None or _found(guard.last_user, request) is not None)
    )


def _last(request: ModelRequest, role: str) -> str:
    found = next((message for message in reversed(request.messages) if message["role"] == role), None)
    return text_of(found["content"]) if found else ""


def _found(pattern: patterns.Pattern, request: ModelRequest) -> dict[str, str] | None:
    """The groups of what a guard looks for in the last user message, null where it is not.

    Raises `ModelError` when that takes too long (Z3).
    """
    try:
        return pattern.find(_last(request, "user"))
    except patterns.TookTooLong as error:
        raise ModelError("script", f"A guard of the script cannot be answered: {error}.") from None


def _filled(reply: ScriptedReply, request: ModelRequest) -> ScriptedReply:
    """The reply with its placeholders replaced; inside arguments, which are JSON, by what a JSON string may hold."""
    said = _last(request, "user")
    groups = _found(reply.when.last_user, request) if reply.when.last_user else None
    values = {"last_user": said, "last_tool": _last(request, "tool")}
    values |= groups or {}
    inside_json = {name: json.dumps(text, ensure_ascii=False)[1:-1] for name, text in values.items()}
    calls = tuple(replace(call, arguments=_with(inside_json, call.arguments)) for call in reply.tool_calls)
    return replace(reply, text=_with(values, reply.text), tool_calls=calls)


def _with(values: Mapping[str, str], text: str) -> str:
    return PLACEHOLDER.sub(lambda found: values[found[1].strip()], text)


def _deltas(reply: ScriptedReply) -> Iterator[Delta]:
    """Everything up to the finish or the failure."""
    size = reply.chunk_size
    left = _length_before_failure(reply)
    for piece in _cut(reply.reasoning if left else "", size):
        yield ReasoningDelta(piece)
    for piece in _cut(reply.text[:left], size):
        yield TextDelta(piece)
    left -= len(reply.text)
    for index, call in enumerate(reply.tool_calls):
        if left <= 0:
            return
        yield ToolFragment(index, call.id, call.name, "")
        for piece in _cut(call.arguments[:left], size):
            yield ToolFragment(index, None, None, piece)
        left -= len(call.arguments)
    if reply.provider:
        yield ProviderData(reply.provider)


def _length_before_failure(reply: ScriptedReply) -> int:
    """Characters of text and arguments that come out."""
    everything = len(reply.text) + sum(len(call.arguments) for call in reply.tool_calls) + 1
    if reply.error is None:
        return everything
    if reply.error.after is None:
        return everything if reply.error.kind == "cut" else 0
    return reply.error.after


def _cut(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


def _counted(reply: ScriptedReply, request: ModelRequest) -> Usage:
    chars = request.chars or sum(len(text_of(message["content"])) for message in request.messages)
    said = len(reply.text) + len(reply.reasoning) + sum(len(call.arguments) for call in reply.tool_calls)
    return Usage(input=-(-chars // 4), output=-(-said // 4))
