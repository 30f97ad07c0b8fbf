"""The session that a chat is in: what stands in it now, what is sent to it, and what is followed of it."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ..sessions.show import transcript
from ..turns.attached import content
from . import history
from .following import Following
from .teller import Teller

if TYPE_CHECKING:
    from agentflow import ModelSwitch, Receipt, Runtime

Data = dict[str, Any]

_SHOWN_MESSAGES = 8  # of a session that is gone on with


class Conversation:
    """`status` is what the runtime says of the session, null while there is none under this id yet."""

    def __init__(
        self,
        runtime: Runtime,
        models: ModelSwitch,
        teller: Teller,
        agent: str,
        session: str,
        inputs: Sequence[str],
        place: str,
    ) -> None:
        self.runtime = runtime
        self._models = models
        self.teller = teller
        self.agent = agent
        self.session = session
        self.status: Data | None = None
        self.names: list[tuple[str, str]] = []  # of the sessions here, by id, for completion
        self.left: int | None = None  # the exit code, once it is time to go
        self.edits: list[Data] | None = None  # what stands before the message that is being changed
        self.attached: list[Data] = []  # files that go with the next message
        self._inputs = inputs
        self._place = place
        self._remembers = False
        self._own: set[str] = set()
        self._following: asyncio.Task[None] | None = None
        self._beside: set[asyncio.Task[None]] = set()

    # -- where it stands ------------------------------------------------------------------------------------------

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs, here or elsewhere, or waits for its user."""
        return self.status is not None and (self.status["status"] == "running" or self.status["pending"])

    def awaited(self) -> tuple[str, ...]:
        """The ids of the calls that wait for an answer or a result from here."""
        if self.status is None or not self.status["pending"]:
            return ()
        return tuple(each["tool_call_id"] for each in self.status["calls"]) or (self.status["tool_call_id"] or "",)

    async def look(self) -> None:
        """Read anew where the session stands; what waits for an answer now is asked instead of what was."""
        before = self.awaited()
        self.status = await self.runtime.status(self.session)
        if self.awaited() != before:
            self.teller.screen.withdraw()

    async def settings(self) -> Data:
        """What `Runtime.explain` says of the next request."""
        session = None if self.status is None else self.session
        inputs = self.runtime.read_inputs(self.agent, self._inputs)
        return await self.runtime.explain(self.agent, session, inputs=inputs)

    # -- going to a session ---------------------------------------------------------------------------------------

    async def enter(self, session: str, agent: str | None = None) -> None:
        """Go on in this session, with its agent unless one was chosen, or begin it; say which it is and show its end.

        Raises `SessionAgentMismatch`.
        """
        from agentflow import SessionNotFound

        await self.leave()
        self.session, self.edits, self.attached = session, None, []
        try:
            self.status = await self.runtime.status(session)
        except SessionNotFound:
            self.status = None
        if self.status is not None:
            self.agent = agent or self.status["agent_id"]
        await self._introduce()
        if self.status is not None:
            await self.recall(_SHOWN_MESSAGES)
            self._tell_state(self.status)
            self._follow(self.status["seq"])

    async def _introduce(self) -> None:
        from agentflow import SessionAgentMismatch

        found = await self.settings()
        if self.status is not None and found["agent_id"] != self.status["agent_id"]:
            raise SessionAgentMismatch(
                f"Session {self.session!r} is one of {self.status['agent_id']}: leave out AGENT."
            )
        self._remembers, self._model = found["observability"], found["model"]
        new = "new session" if self.status is None else "session"
        name = f" ({self.status['name']})" if self.status is not None and self.status["name"] else ""
        self.teller.note(f"{found['agent_id']} · {found['model']} · {new} {self.session}{name}", None)
        if found["model"].startswith("scripted/"):
            self.teller.note("the replies come from a script (a demonstration, no language model answers)")

    async def recall(self, most: int) -> None:
        """Show the last messages of the path."""
        messages = (await self.runtime.session(self.session))["messages"]
        seen = [each for each in messages if not each.get("hidden")]
        if len(seen) > most:
            self.teller.note(f"{len(seen) - most} earlier messages: agentflow sessions show {self.session}")
        self.teller.screen.write("".join(transcript(seen[-most:])))

    def _tell_state(self, status: Data) -> None:
        if status["status"] == "running":
            self.teller.note("a turn runs in it, here or elsewhere; what you type waits for its end")
        elif status["queued"] and not status["pending"]:
            self.teller.note(f"{status['queued']} of its messages wait: /queue")

    def _follow(self, after_seq: int) -> None:
        following = Following(self.runtime, self.session, self.teller, self._own, self.look)
        self._following = self.beside(following.run(after_seq))

    async def leave(self) -> None:
        """Follow the session no longer."""
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
            self._following = None

    def use_model(self, name: str) -> None:
        """Have another model called in place of the agent's. Raises `InvalidInput`."""
        self._models.use(self._model, name)

    # -- sending --------------------------------------------------------------------------------------------------

    async def say(self, text: str, **given: Any) -> Receipt:
        """Send a message of the user, behind the turn that runs unless `given` says otherwise."""
        queued = {"queue": True, **given}
        return await self._send_message(text, lambda said: {"type": "client.message", "message": said, **queued})

    async def edit(self, view: list[Data], text: str) -> Receipt:
        """Send a view of the conversation that ends with another message than before."""
        return await self._send_message(text, lambda said: {"type": "client.messages", "messages": [*view, said]})

    async def _send_message(self, text: str, given: Callable[[Data], Data]) -> Receipt:
        """Send a new message with the files that wait to go along; they wait on when it is refused."""
        message: Data = {"id": str(uuid4()), "role": "user", "content": content(text, self.attached)}
        self._own.add(message["id"])
        receipt = await self.send(given(message), text)
        self.attached = []
        return receipt

    async def send(self, given: Data, text: str = "") -> Receipt:
        """Hand in an input. Raises what `submit` raises: then nothing was sent."""
        inputs = self.runtime.read_inputs(self.agent, self._inputs)
        receipt = await self.runtime.submit(self.session, {"inputs": inputs, **given}, agent=self.agent)
        if text and self._remembers:
            self._remember(text)
        if receipt.queued:
            self.teller.note("it waits until the running turn has ended; /queue shows what waits")
        if self._following is None:
            self._follow(0)
            self.beside(self.list_sessions())
        await self.look()
        return receipt

    def _remember(self, text: str) -> None:
        from agentflow import redact

        history.add(history.history_file(), history.Entry(self._place, self.session, text), redact)

    # -- beside the input -----------------------------------------------------------------------------------------

    def beside(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[None]:
        """Do something while input goes on; what goes wrong is said in one line."""
        task = asyncio.create_task(self._told(work))
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)
        return task

    async def _told(self, work: Coroutine[Any, Any, Any]) -> None:
        from agentflow import AgentflowError, redact

        try:
            await work
        except AgentflowError as error:
            self.teller.error(f"error ({error.code}): {error}")
        except Exception as error:  # a bug of ours: the input goes on, and whoever mends it is told where
            self.teller.error(redact("".join(traceback.format_exception(error))))

    async def stop(self) -> None:
        """Stop the turn that runs or waits for its user."""
        stopped = await self.runtime.stop(self.session)
        if stopped["outcome"] == "requested":
            self.teller.note("the turn has been asked to stop and has not ended yet")
        await self.look()

    async def list_sessions(self) -> Sequence[Data]:
        found = await self.runtime.sessions(limit=50)
        self.names = [(each["session_id"], each["name"] or "") for each in found]
        return list(found)
