"""What happens in a session, shown as it happens, whichever process does it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ..terminal.activity import Activity
from ..terminal.live import LiveText
from .paragraphs import Paragraphs, tail
from .teller import Teller
from .views import first_words, tool_line

if TYPE_CHECKING:
    from agentflow import Event, Runtime

Data = dict[str, Any]

_TAIL_ROWS = 6
_TICK_SECS = 0.2
_OWN_TOOLS = ("ask_user", "write_todos")  # what they do is shown by itself
_CHANGES = (
    "turn.started", "turn.queued", "ask_user", "client_tools", "ask_user.answered", "turn.paused", "turn.completed",
    "head.moved", "session.named", "done",
)  # fmt: skip
"""After one of these the session stands elsewhere."""


class Following:
    """Follows a session's events from a number on, until it is cancelled.

    `changed()` is awaited when the session stands elsewhere than before; `own` are ids of messages that were typed
    here.
    """

    def __init__(
        self, runtime: Runtime, session: str, teller: Teller, own: set[str], changed: Callable[[], Awaitable[None]]
    ) -> None:
        self._runtime = runtime
        self._session = session
        self._teller = teller
        self._own = own
        self._changed = changed
        self._activity = Activity()
        self._live, self._paragraphs = LiveText(), Paragraphs()
        self._calls: dict[str, Data] = {}
        self._todos_told: list[Data] = []
        self._told: dict[str, Callable[[Data], None]] = {
            "message.new": self._message,
            "tool.call.requested": lambda data: self._calls.update({data["id"]: data}),
            "tool.call.completed": lambda data: self._call_ended(data, data["result"], failed=False),
            "tool.call.errored": lambda data: self._call_ended(data, data["error"], failed=True),
            "context.replaced": self._room_made,
            "history.repaired": lambda _: self._teller.note("the stored conversation was damaged and is repaired"),
            "session.named": lambda data: self._teller.note(f"this session is called {data['name'] or 'nothing'}"),
        }

    async def run(self, after_seq: int) -> None:
        """Raises `SessionNotFound` when the session is erased."""
        ticking = asyncio.create_task(self._tick())
        self._teller.screen.live = self._above
        try:
            async for event in self._runtime.events(self._session, after_seq, follow=True):
                await self._event(event)
        finally:
            ticking.cancel()
            self._teller.screen.live = lambda: ()

    async def _event(self, event: Event) -> None:
        type_, data = event.type, event.data
        self._activity.event(type_, data, asyncio.get_running_loop().time(), logged=event.seq is not None)
        self._teller.reply(self._paragraphs.take(self._live.event(type_, data)))
        if type_ in ("llm.call.completed", "llm.call.errored", "message.new", "model.retrying", "done"):
            self._teller.reply(self._paragraphs.rest())
        if type_ in self._told and "execution" not in data:
            self._told[type_](data)
        if type_ == "done":
            await self._done(data)
        if type_ in _CHANGES:
            await self._changed()
        self._teller.screen.refresh()

    def _message(self, data: Data) -> None:
        message = data["message"]
        shown = message["role"] == "user" and not message.get("hidden") and not data.get("copied_from")
        if shown and (self._teller.screen.moves or message["id"] not in self._own):
            content = message["content"]
            self._teller.user(content if isinstance(content, str) else first_words(content))

    def _call_ended(self, data: Data, result: Any, *, failed: bool) -> None:
        call = self._calls.pop(data["id"], None)
        if call is not None and data["name"] not in _OWN_TOOLS:
            self._teller.note(tool_line(data["name"], call["arguments"], str(result), failed=failed))

    def _room_made(self, data: Data) -> None:
        sizes = f"{data['tokens_before']:,} to {data['tokens_after']:,} tokens"
        self._teller.note(f"room was made: {sizes}; /branch {data['previous_head_id']} undoes it")

    async def _done(self, data: Data) -> None:
        """What a person must know beside the answer."""
        if self._activity.todos and self._activity.todos != self._todos_told:
            self._todos_told = self._activity.todos
            self._teller.lines(f"[{each['status']}] {each['content']}" for each in self._todos_told)
        if data["pending"]:
            return
        result = await self._runtime.result(self._session, data["turn_id"])
        if result.truncated:
            self._teller.note("the answer was cut at the model's output limit (max_output_tokens)")
        if result.limit:
            self._teller.note(f"the turn ended at its limit {result.limit}")
        if result.error:
            self._teller.error(f"error ({result.error['code']}): {result.error['message']}")
        elif result.aborted:
            self._teller.note("stopped; what was said is kept")

    def _above(self) -> list[str]:
        """What stands above the input: the part of the answer that is not finished, or what goes on."""
        columns = self._teller.screen.columns
        now = asyncio.get_running_loop().time()
        said = [f"  {line}" for line in tail(self._paragraphs.open, columns - 3, _TAIL_ROWS)]
        return [*said, *([] if self._activity.speaking else self._activity.lines(now, columns))]

    async def _tick(self) -> None:
        """What takes its time is drawn anew; where nothing can stand above the input it is said in a line."""
        while True:
            await asyncio.sleep(_TICK_SECS)
            if self._teller.screen.moves:
                if self._activity.running:
                    self._teller.screen.refresh()
            else:
                for line in self._activity.slow(asyncio.get_running_loop().time()):
                    self._teller.note(line)
