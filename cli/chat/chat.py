"""The loop of a chat: what is asked for next, and what is done with what was typed."""

from __future__ import annotations

import asyncio
import shlex
import signal
from typing import Any

from ..terminal.asking import chosen
from ..terminal.plain import one_line
from .commands import COMMANDS, Refused
from .conversation import Conversation
from .screens.typed import Called, Key, Line, Typed, meaning
from .views import call_lines, question_lines

Answers = dict[str, str | list[str]]


class Chat:
    """Talks in a conversation until somebody leaves it. Errors are said in one line, and what was typed comes again."""

    def __init__(self, talk: Conversation, place: tuple[str, ...]) -> None:
        self._talk = talk
        self._teller = talk.teller
        self._screen = talk.teller.screen
        self._place = place
        self._answers: Answers = {}
        self._done: set[str] = set()  # the calls that were answered or given a result here
        self._awaited: tuple[str, ...] = ()  # the calls that wait, as it was asked last
        self._shown: tuple[str, ...] = ()  # the question or call that was shown last
        self._warned = False

    async def run(self) -> int:
        """The exit code."""
        loop = asyncio.get_running_loop()
        for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            loop.add_signal_handler(number, self._leave, code)
        loop.add_signal_handler(signal.SIGINT, self._screen.press, Key.STOP)
        try:
            await self._talk.enter(self._talk.session, self._talk.agent)
            self._teller.note("/help lists the commands")
            await self._talk.list_sessions()
            with self._screen.taken():
                while self._talk.left is None:
                    await self._once()
        finally:
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                loop.remove_signal_handler(number)
        self._tell_how_to_go_on()
        await self._talk.leave()
        return self._talk.left

    def _leave(self, code: int) -> None:
        self._talk.left = code
        self._screen.press(Key.LEAVE)

    def _tell_how_to_go_on(self) -> None:
        if self._talk.status is None:
            return
        if self._talk.status["pending"]:
            self._teller.note("the question stays open")
        elif self._talk.is_busy:
            self._teller.note("the turn that runs here ends with what it has said")
        again = shlex.join(["agentflow", "chat", "--session", self._talk.session, *self._place])
        self._teller.note(f"go on with: {again}", "next")

    async def _once(self) -> None:
        from agentflow import AgentflowError

        line = self._asked()
        got = await self._screen.read(line)
        if got is Key.LEAVE:
            self._talk.left = self._talk.left or 0
        elif got is Key.STOP:
            self._interrupt()
        elif isinstance(got, Typed):
            self._warned = False
            try:
                await self._take(got)
            except (Refused, OSError) as error:
                self._refused(got, str(error))
            except AgentflowError as error:
                self._refused(got, f"error ({error.code}): {error}")
                await self._looked()

    def _refused(self, got: Typed, why: str) -> None:
        self._teller.error(why)
        self._screen.draft(got.text)

    async def _looked(self) -> None:
        """What was refused may have been answered elsewhere."""
        if self._talk.status is not None:
            await self._talk.look()

    def _interrupt(self) -> None:
        if self._warned:
            self._talk.left = 130
            return
        self._warned = True
        if self._talk.is_busy:
            self._teller.note("stopping the turn; Ctrl-C once more leaves")
            self._talk.beside(self._talk.stop())
        else:
            self._screen.draft("")
            self._teller.note("Ctrl-C once more leaves")

    # -- what is asked for ----------------------------------------------------------------------------------------

    def _asked(self) -> Line:
        awaited = self._talk.awaited()
        if awaited[:1] != self._awaited[:1]:
            if self._awaited and self._awaited[0] not in self._done:
                self._teller.note("it is not waited for any more: it was answered, stopped, or is on another branch")
            self._answers = {}
        self._awaited = awaited
        question, call = self._question(), self._call()
        asked = (*awaited[:1], question["header"]) if question else (call["tool_call_id"],) if call else ()
        if asked != self._shown:
            self._shown = asked
            self._show(question, call)
        if question is not None:
            return Line(f"{one_line(question['header'])}> ", message=False)
        if call is not None:
            return Line(f"{one_line(call['name'])} = ", message=False)
        return Line("change> " if self._talk.edits is not None else "> ")

    def _show(self, question: dict[str, Any] | None, call: dict[str, Any] | None) -> None:
        if question is not None:
            for line in question_lines(question):
                self._teller.note(line, "question")
        elif call is not None:
            self._teller.lines(call_lines(call))

    def _question(self) -> dict[str, Any] | None:
        """The first question that has no answer yet."""
        questions = self._talk.status["questions"] if self._talk.status is not None else None
        return next((each for each in questions or () if each["header"] not in self._answers), None)

    def _call(self) -> dict[str, Any] | None:
        """The first call that is to be done here and has no result yet."""
        calls = self._talk.status["calls"] if self._talk.status is not None else ()
        return next((each for each in calls if each["tool_call_id"] not in self._done), None)

    # -- what is done with it -------------------------------------------------------------------------------------

    async def _take(self, got: Typed) -> None:
        meant = meaning(got)
        if isinstance(meant, Called):
            await self._command(meant)
        elif not meant.strip():
            return
        elif (question := self._question()) is not None:
            await self._answer(question, got, meant)
        elif (call := self._call()) is not None:
            await self._settle(call, result=_value(meant))
        elif self._talk.edits is not None:
            await self._talk.edit(self._talk.edits, meant)
            self._talk.edits = None
        else:
            await self._talk.say(meant)

    async def _command(self, called: Called) -> None:
        call = self._call()
        if called.name == "decline" and call is not None:
            await self._settle(call, error=called.argument or "The user declined.")
        elif called.name in COMMANDS:
            await COMMANDS[called.name].run(self._talk, called.argument)
        else:
            raise Refused(f"there is no /{called.name}; /help lists the commands, //{called.name} sends it as text")

    async def _answer(self, question: dict[str, Any], got: Typed, text: str) -> None:
        answer = text if got.pasted else chosen(question, text)
        said = ", ".join(answer) if isinstance(answer, list) else answer
        self._teller.user(f"{question['header']}: {said}")
        self._answers[question["header"]] = answer
        if self._question() is None:
            call, answers, self._answers = self._awaited[0], self._answers, {}
            await self._talk.runtime.answer(self._talk.session, tool_call_id=call, answers=answers)
            self._done.add(call)
            await self._talk.look()

    async def _settle(self, call: dict[str, Any], **given: Any) -> None:
        identifier = call["tool_call_id"]
        settled = await self._talk.runtime.settle(self._talk.session, identifier, **given)
        if settled["outcome"] != "settled":
            self._teller.note(f"the result of {call['name']} is ignored: it was given or stopped elsewhere")
        self._done.add(identifier)
        await self._talk.look()


def _value(text: str) -> Any:
    """A result as JSON, or as the text it is."""
    from agentflow import read_json

    try:
        return read_json(text)
    except ValueError:
        return text
