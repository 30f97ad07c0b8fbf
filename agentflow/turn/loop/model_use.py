"""How a call of the loop is made: of which model, with which prompt and messages (C33)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentflow.agents.loaded_agent import TEMPLATE
from agentflow.conversation.history import BuiltRequest, History, build_request, wire_chars
from agentflow.models.fallback.candidates import Asked, Candidates
from agentflow.models.fallback.fitting import Need
from agentflow.models.protocol import Model
from agentflow.turn.decide.actions import CallModel
from agentflow.turn.run.execution import Execution


@dataclass(frozen=True, slots=True)
class ModelUse:
    """`candidates` are asked in turn, `model` is the one of the moment (W5). `verbatim` messages are sent as they are,
    without the prompt.
    """

    candidates: Candidates
    model: Model
    prompt: str
    tools: Sequence[dict[str, Any]]
    tools_chars: int
    verbatim: Sequence[dict[str, Any]] | None
    streamed: bool

    @classmethod
    def of(cls, call: CallModel, execution: Execution, inputs: Mapping[str, Any]) -> ModelUse:
        """What an `llm.call` says, the rest from the configuration. The last call before a limit has no tools (T39)."""
        agent = execution.agent
        tools, chars = ((), 0) if call.limit is not None else (agent.schemas, agent.schemas_chars)
        candidates = agent.candidates_for(call.interface, call.model)
        return cls(
            candidates, candidates.models[0], _prompt(call, execution, inputs), tools, chars,
            call.messages, call.stream is not False,
        )  # fmt: skip

    def asked(self, execution: Execution) -> Asked:
        """Who is asked now, in order; what the request needs is looked at only where there is a choice (W5)."""
        need, now = Need(0, False, frozenset()), asyncio.get_running_loop().time()
        if len(self.candidates.models) > 1:
            built = self.request(execution)
            need = Need.of(built.messages, built.chars, with_tools=bool(self.tools))
        return self.candidates.asked(need, now)

    def request(self, execution: Execution) -> BuiltRequest:
        if self.verbatim is not None:
            return BuiltRequest(list(self.verbatim), _chars(self.verbatim, self.model.name) + self.tools_chars)
        transcript = execution.transcript
        if self.model.name == execution.agent.model.name:
            return transcript.request(self.prompt, self.tools_chars)
        # Written anew: what one provider gave is no other's (T15).
        current = History(self.model.name, before=transcript.earlier)
        current.extend(transcript.messages, model=self.model.name)
        return build_request(self.prompt, transcript.earlier, transcript.step_texts, current, self.tools_chars)


def _chars(messages: Sequence[dict[str, Any]], model: str) -> int:
    return sum(wire_chars(each, model) for each in messages)


def _prompt(call: CallModel, execution: Execution, inputs: Mapping[str, Any]) -> str:
    if call.messages is not None:
        return ""
    if call.prompt is None:
        return execution.prompt
    changed = execution.agent.changed({"prompt": call.prompt, TEMPLATE: ["prompt"] if call.template else []})
    return changed.render_prompt(inputs, execution.vars, {"id": execution.journal.session_id})
