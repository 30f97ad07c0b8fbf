"""One attempt at a case, turn by turn, in a database of its own; and what is to be said of it (R9)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from agentflow import clock
from agentflow.agents.data_source import EVALUATION
from agentflow.agents.loading import OpenModel
from agentflow.config.keys.base import plain
from agentflow.config.keys.case import CaseAnswer, CaseKeys, CaseTurn
from agentflow.errors import AgentflowError
from agentflow.evaluation.expectations import CameTo, CannotTell, unexpected, unmet
from agentflow.evaluation.judge import Judge, NoVerdict, judged
from agentflow.evaluation.made_calls import made_calls
from agentflow.evaluation.stand_in import CaseStandIn
from agentflow.message import TurnState, Usage
from agentflow.portable.written import json_lines
from agentflow.result import TurnResult
from agentflow.runtime import Runtime
from agentflow.secrets.redacting import redact
from agentflow.store.portable import SESSION, Portable
from agentflow.store.records import STATE

Outcome = Literal["pass", "fail", "error"]

_IN_MEMORY = "sqlite://"
_MAX_PAUSES = 100
_NOT_THE_AGENTS = frozenset(
    f"model_error.{kind}" for kind in ("rate_limited", "timeout", "unavailable", "auth", "cut", "script")
)
"""Failures that say nothing about the agent: its model could not be asked, or a recording has no reply."""


@dataclass(slots=True)
class Attempt:
    """What came of an attempt. `error`: it could not be judged, so it counts neither way. `problems` say why.

    `verdicts` are those of the judge, `{turn, verdict, reason}`; `usage` is that of the turns, `judge_usage` its own.
    """

    outcome: Outcome = "pass"
    problems: list[str] = field(default_factory=list)
    answers: list[str | None] = field(default_factory=list)
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    judge_usage: Usage = field(default_factory=Usage)
    duration_ms: int = 0

    def says(self, outcome: Outcome, problems: Sequence[str]) -> None:
        """Take problems in; an attempt with an error stays one."""
        if problems:
            self.outcome = "error" if "error" in (self.outcome, outcome) else outcome
            self.problems += [redact(each) for each in problems]

    def as_dict(self) -> dict[str, Any]:
        return {
            "outcome": self.outcome,
            "problems": self.problems,
            "answers": self.answers,
            "verdicts": self.verdicts,
            "usage": self.usage.as_dict(),
            "cost": _money(self.usage.cost),
            "judge_usage": self.judge_usage.as_dict(),
            "judge_cost": _money(self.judge_usage.cost),
            "duration_ms": self.duration_ms,
        }


@dataclass(frozen=True, slots=True)
class Place:
    """Where attempts run: the project, and what stands in for models, flows and the world."""

    project: Path
    live: frozenset[str] = frozenset()
    flows: Sequence[Callable[..., Any]] = ()
    open_model: OpenModel | None = None


async def attempt(case: CaseKeys, agent_name: str, place: Place, judge: Judge | None) -> Attempt:
    """Go through the case once. What fails is in the attempt; only a bug of ours is raised."""
    began, made = asyncio.get_running_loop().time(), Attempt()
    stand_in = CaseStandIn(place.live)
    try:
        async with Runtime.open(
            place.project,
            db=_IN_MEMORY,
            flows=place.flows,
            open_model=place.open_model,
            serve_queues=False,
            snapshots=stand_in.data,
            stand_in=stand_in,
        ) as runtime:
            run = _Run(runtime, clock.uuid7(), case, stand_in, judge, made)
            await run.begin(agent_name)
            for number, turn in enumerate(case.turns, 1):
                if not await run.turn(number, turn):
                    break
    except AgentflowError as error:
        made.says("error", [f"{error.code}: {error.message}"])
    made.duration_ms = round(1000 * (asyncio.get_running_loop().time() - began))
    return made


@dataclass(frozen=True, slots=True)
class _Run:
    runtime: Runtime
    session_id: str
    case: CaseKeys
    stand_in: CaseStandIn
    judge: Judge | None
    made: Attempt

    async def begin(self, agent_name: str) -> None:
        """The session as it was before the first turn: the agent's state, and what was said."""
        if self.case.agent_state is not None:
            brought = _with_state(self.session_id, agent_name, plain(self.case.agent_state))
            await self.runtime.records.import_session(brought)
        if self.case.history:
            said = [message.as_dict() for message in self.case.history]
            given = {"type": "client.append", "messages": said, "record_only": True}
            await self.runtime.submit(self.session_id, given, agent=self.case.agent)

    async def turn(self, number: int, turn: CaseTurn) -> bool:
        """Run a turn and look at it; false when there is no point in the next one."""
        self.stand_in.begin(turn)
        result = await self._result(turn)
        self.made.answers.append(None if result.answer is None else redact(result.answer))
        self.made.usage += result.usage
        trace = await self.runtime.trace(self.session_id, number)
        session = await self.runtime.session(self.session_id)
        self._look(turn, CameTo(result, made_calls(trace), session["state"]), f"turn {number}: ")
        if self.made.outcome == "pass" and turn.expect.rubric is not None:
            shown = [_spoken(message) for message in session["messages"] if message["id"] != result.message_id]
            await self._judge(number, turn.expect.rubric, shown, result)
        return self.made.outcome != "error" and result.state == turn.expect.state

    async def _result(self, turn: CaseTurn) -> TurnResult:
        messages = [message.as_dict() for message in turn.messages]
        is_one = len(messages) == 1 and messages[0]["role"] == "user"
        said = {"type": "client.message", "message": messages[0]}
        given = {
            **(said if is_one else {"type": "client.append", "messages": messages}),
            "inputs": plain(turn.inputs),
            "client": plain(turn.client) or None,
            "tools": plain(turn.client_tools) or None,
        }
        receipt = await self.runtime.submit(
            self.session_id, given, agent=self.case.agent, limits=plain(turn.limits) or None
        )
        answers = list(turn.answers)
        for _ in range(_MAX_PAUSES):
            result = await self.runtime.result(self.session_id, receipt.turn_id)
            if result.state != TurnState.PAUSED_ASK_USER or not await self._goes_on(result, answers):
                break
        return result

    async def _goes_on(self, result: TurnResult, answers: list[CaseAnswer]) -> bool:
        """Give a paused turn what the case has for it; false when it has nothing."""
        self.stand_in.step += 1
        if result.pending_kind == "tools":
            for call in result.calls:
                given = self.stand_in.given(call["name"], call["arguments"])
                outcome = {"result": given.text} if given.ok else {"error": given.text.removeprefix("Error: ")}
                await self.runtime.settle(self.session_id, call["tool_call_id"], **outcome)
            return True
        if result.pending_kind != "questions" or not answers:
            return False
        said = answers.pop(0)
        await self.runtime.answer(self.session_id, text=said.text, answers=plain(said.choices) or None)
        return True

    def _look(self, turn: CaseTurn, came: CameTo, where: str) -> None:
        try:
            problems, wrong = unmet(turn.expect, came), unexpected(turn.expect, came)
        except CannotTell as error:
            self.made.says("error", [f"{where}{error}", *(where + miss.said for miss in self.stand_in.misses)])
            return
        for miss in self.stand_in.misses:  # nothing has to be known of a call that was wrong already
            self.made.says("fail" if miss.call in wrong else "error", [where + miss.said])
        failed = came.result.error or {}
        if came.result.state != turn.expect.state and failed.get("code") in _NOT_THE_AGENTS:
            self.made.says("error", [f"{where}{failed['code']}: {failed['message']}"])
        else:
            self.made.says("fail", [where + each for each in problems])

    async def _judge(self, number: int, rubric: str, messages: list[Any], result: TurnResult) -> None:
        where = f"turn {number}: rubric: "
        if self.judge is None:
            self.made.says("error", [f"{where}nobody judges it; name a model with --judge llm://NAME"])
            return
        try:
            verdict = await judged(self.judge, rubric, messages, result.answer or "", call_id=result.turn_id)
        except NoVerdict as error:
            self.made.says("error", [f"{where}{error}"])
            return
        self.made.judge_usage += verdict.usage
        self.made.verdicts.append({"turn": number, "verdict": verdict.outcome, "reason": redact(verdict.reason)})
        if verdict.outcome == "fail":
            self.made.says("fail", [f"{where}{verdict.reason}"])


def _with_state(session_id: str, agent_name: str, state: Any) -> str:
    """A session without a turn, as an export has it, whose agent has a state."""
    session: dict[str, Any] = {column.name: None if column.optional else 0 for column in SESSION}
    session |= {"id": session_id, "agent": agent_name, "environment": EVALUATION, "created_at": clock.instant()}
    version = {"number": 1, "kind": STATE, "value": state, "turn": 0, "branch": None, "depth": None}
    return "".join(json_lines(Portable(session, iter([("state_version", version)]))))


def _spoken(message: dict[str, Any]) -> dict[str, Any]:
    return {name: message[name] for name in ("role", "content", "tool_calls", "name") if name in message}


def _money(cost: Decimal | None) -> str | None:
    return None if cost is None else str(cost)
