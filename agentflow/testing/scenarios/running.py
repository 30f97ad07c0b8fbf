"""One run of a test without Python: from a new project to the first step that comes to something else."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agentflow import AgentflowError, InvalidConfig, ScenarioFile, Seen, SessionNotFound, TurnResult
from agentflow.testing.kit import Kit, ProcessKilled
from agentflow.testing.network import NetworkRefused
from agentflow.testing.opening import opened
from agentflow.testing.scenarios.acting import Acting, Left, unfrozen
from agentflow.testing.shown.trace import short_trace

_NOT_AGAIN = ("advance", "restart", "stop")
"""What a client does not do once more when its process died over it."""


@dataclass(frozen=True, slots=True)
class Crash:
    """The process dies right after so many commits of the step of this index."""

    step: int
    commits: int


@dataclass(frozen=True, slots=True)
class End:
    """How a run ended: each session's status and last message, and how often each call was begun."""

    sessions: tuple[tuple[str, str, str], ...] = ()
    calls: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Outcome:
    """`failures` are sentences with their place in the file, `trace` what happened in the step that failed.

    `commits` counts those of each step that was performed.
    """

    failures: tuple[str, ...] = ()
    trace: str = ""
    end: End = field(default_factory=End)
    commits: tuple[int, ...] = ()


def run_scenario(file: ScenarioFile, crash: Crash | None = None) -> Outcome:
    """Run a test in a folder of its own. With `crash` the process dies there once, the step is done again by the next
    one, and only how it all ended is looked at.
    """
    with TemporaryDirectory(prefix="agentflow-test-") as folder, _quiet_log():
        try:
            with opened(Path(folder), start=file.scenario.start) as kit:
                return ScenarioRun(kit, file, crash).run()
        except AgentflowError as error:  # the copy that was run is gone
            said = str(error).replace(str((Path(folder) / "project").resolve()), str(file.project))
            return Outcome((said if isinstance(error, InvalidConfig) else f"{error.code}: {said}",))


@contextmanager
def _quiet_log() -> Iterator[None]:
    """The log goes to whoever asked for it: a process that dies has much to say, which is no news here."""
    handler, logger = logging.NullHandler(), logging.getLogger("agentflow")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class ScenarioRun:
    """The steps of a test, performed one after the other by a kit that has just been opened."""

    def __init__(self, kit: Kit, file: ScenarioFile, crash: Crash | None = None) -> None:
        self._kit = kit
        self._file = file
        self._crash = crash
        self._acting = Acting(kit, file.path.parent)
        self._commits: list[int] = []

    def run(self) -> Outcome:
        """Perform the steps up to the first that fails. Raises `AgentflowError` for a project that cannot be used."""
        self._set_up()
        for index, step in enumerate(self._file.scenario.steps):
            if step.replies:
                self._kit.script(unfrozen(step.replies))
            if self._crash is not None:
                self._perform_with_crash(index, step)
                continue
            seen, complaints = self._seen(index, step)
            failures = [*complaints, *self._file.failures(index, seen)]
            if failures:
                trace = short_trace(seen.events)
                return Outcome(tuple(failures), trace, self._end(), tuple(self._commits))
        wrong = [] if self._crash else [*self._kit.leftovers(), *map(str, self._kit.stalls.stalls)]
        failures = [self._file.at(("replies",), sentence) for sentence in wrong]
        return Outcome(tuple(failures), "", self._end(), tuple(self._commits))

    def _set_up(self) -> None:
        scenario, kit = self._file.scenario, self._kit
        for path, agent in [
            (("agent",), scenario.agent),
            *((("replies_of", each), each) for each in scenario.replies_of),
        ]:
            if not (self._file.project / "agents" / agent / "agent.yaml").is_file():
                said = f"there is no agents/{agent}/agent.yaml in {self._file.project}"
                raise InvalidConfig(self._file.at(path, said))
        kit.load(self._file.project, scenario.agent)
        if self._has_replies():
            kit.script(unfrozen(scenario.replies))
        for agent, replies in scenario.replies_of.items():
            kit.script(unfrozen(replies), agent=agent)
        self._stub()
        self._refuse_real_model()
        if scenario.history:
            told = {"type": "client.messages", "messages": unfrozen(scenario.history), "record_only": True}
            kit.submit(told)

    def _stub(self) -> None:
        stubs = self._file.scenario.tools
        for stub in stubs:
            self._kit.stub(stub.name, unfrozen(stub.result), error=stub.error, when=unfrozen(stub.when))
        if not stubs or self._file.scenario.replies_of:  # another agent's tools are not looked up
            return
        known = [tool["function"]["name"] for tool in self._explained()["tools"]]
        unknown = next((index for index, stub in enumerate(stubs) if stub.name not in known), None)
        if unknown is not None:
            said = f"there is no such tool; there are {', '.join(known)}"
            raise InvalidConfig(self._file.at(("tools", unknown, "name"), said))

    def _refuse_real_model(self) -> None:
        if self._has_replies():
            return
        model = str(self._explained()["model"])
        if not model.startswith("scripted/"):
            said = f"no test asks a real model, and this agent's is {model}; give its replies"
            raise InvalidConfig(self._file.at(("agent",), said))

    def _has_replies(self) -> bool:
        scenario = self._file.scenario
        return bool(scenario.replies) or any(step.replies for step in scenario.steps)

    def _explained(self) -> dict[str, Any]:
        inputs: dict[str, Any] = next((unfrozen(step.inputs) for step in self._file.scenario.steps if step.inputs), {})
        return self._kit.run(self._kit.runtime.explain(self._file.scenario.agent, inputs=inputs))

    # -- one step ------------------------------------------------------------------------------------------------------

    def _seen(self, index: int, step: Any) -> tuple[Seen, list[str]]:
        """What there is to see after a step, and what is wrong with the step itself."""
        kit = self._kit
        after_seq, asked, commits = self._last_seq(step.session), len(kit.requests), kit.all_commits
        kit.kill_after(step.crash_after or 0)
        result, error, died = None, None, False
        try:
            result = self._acting.perform(step)
        except ProcessKilled:
            died = True
            kit.reopen()
        except (AgentflowError, NetworkRefused) as raised:
            error = raised
        self._commits.append(kit.all_commits - commits)
        seen = self._look(step.session, after_seq, asked, result, error)
        self._remember(step, seen)
        if step.crash_after is None or died:
            return seen, []
        kit.kill_after(0)
        over = f"the step was over after {self._commits[-1]} commits"
        return seen, [self._file.at(("steps", index, "crash_after"), over)]

    def _perform_with_crash(self, index: int, step: Any) -> None:
        """Perform a step; at the crash twice, as a client does who heard nothing."""
        kit, crash = self._kit, self._crash
        after_seq = self._last_seq(step.session)
        dies = crash.commits if crash is not None and crash.step == index else step.crash_after or 0
        go_back = kit.mark()
        kit.kill_after(dies)
        with suppress(AgentflowError, NetworkRefused):
            try:
                self._acting.perform(step)
            except ProcessKilled:
                kit.reopen()
                if step.crash_after is None and self._is_done_again(step, after_seq):
                    go_back()
                    self._acting.perform(step)
        kit.kill_after(0)
        self._remember(step, self._look(step.session, after_seq, len(kit.requests), None, None))

    def _is_done_again(self, step: Any, after_seq: int) -> bool:
        """Whether a client that asks finds that its step has not come to an end."""
        if step.action() in _NOT_AGAIN:
            return False
        with suppress(SessionNotFound):
            told = self._kit.events("turn.completed", "turn.paused", session=step.session, after_seq=after_seq)
            return not told
        return True

    def _last_seq(self, session: str) -> int:
        try:
            events = self._kit.events(session=session)
        except SessionNotFound:
            return 0
        return events[-1].seq or 0 if events else 0

    def _look(
        self, session: str, after_seq: int, asked: int, result: TurnResult | None, error: Exception | None
    ) -> Seen:
        kit = self._kit
        try:
            found = kit.session(session)
        except SessionNotFound:
            return Seen(result, _code(error), str(error or ""), gone=True)
        agents = {id(request): name for name in self._agents() for request in kit.requests_of(name)}
        requests = [
            (agents.get(id(request), ""), request) for request in kit.requests[asked:] if request.purpose != "title"
        ]
        return Seen(
            result, _code(error), str(error or ""), tuple(kit.events(session=session, after_seq=after_seq)), requests,
            found["messages"], found["status"], found["queued"],
        )  # fmt: skip

    def _agents(self) -> list[str]:
        return [self._file.scenario.agent, *self._file.scenario.replies_of]

    def _remember(self, step: Any, seen: Seen) -> None:
        if step.id is not None:
            told = [event.data["message"] for event in seen.events if event.type == "message.new"]
            sent = next((message["id"] for message in told if message["role"] == "user"), None)
            self._acting.left[step.id] = Left(seen.path[-1]["id"] if seen.path else None, sent)

    def _end(self) -> End:
        sessions, calls = [], Counter[str]()
        for session in dict.fromkeys(step.session for step in self._file.scenario.steps):
            seen = self._look(session, 0, 0, None, None)
            last = seen.path[-1] if seen.path else {"role": "nothing", "content": None}
            sessions.append((session, "gone" if seen.gone else seen.status, f"{last['role']}: {last['content']}"))
            asked = [event.data for event in seen.events if event.type == "tool.call.requested"]
            calls.update(f"{call['name']}({call['arguments']})" for call in asked)
        return End(tuple(sessions), calls)


def _code(error: Exception | None) -> str | None:
    if error is None:
        return None
    return error.code if isinstance(error, AgentflowError) else "network_refused"
