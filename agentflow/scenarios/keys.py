"""Every key of a `*.test.yaml`, declared once; checked and described as those of agent.yaml are (A2, A5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema

from agentflow.config.document.codes import Code
from agentflow.config.document.problems import did_you_mean
from agentflow.config.keys.agent import AGENT_NAME
from agentflow.config.keys.base import Complaint, Items, Keys, Named, Verbatim
from agentflow.scenarios.expected import ExpectKeys
from agentflow.scenarios.reply_schema import REPLY_SCHEMA

Reply = Annotated[Mapping[str, Any], AfterValidator(MappingProxyType), WithJsonSchema(REPLY_SCHEMA)]
"""A reply of the scripted model, as its own files have them."""

SPAN = r"^(next_timer|[0-9]{1,7}(\.[0-9]{1,3})?(s|m|h|d|w))$"
LABEL = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"


class StubKeys(Keys):
    """What a tool gives in place of its flow. Entries that fit a call answer one after the other, the last for good."""

    name: str = Field(min_length=1, description="The tool, as the model calls it.")
    when: Verbatim = Field(default={}, description="Only for calls with these arguments, others may be there besides.")
    result: Any = Field(default=None, description="What it returns.")
    error: str | None = Field(default=None, min_length=1, description="What it fails with instead.")


class EditKeys(Keys):
    """Something else said in place of an earlier message, on a branch beside it."""

    step: str = Field(pattern=LABEL, description="The id of the step that sent the message.")
    text: str = Field(description="What is said instead.")


ACTIONS = (
    "send", "input", "answer", "answers", "result", "edit", "regenerate", "switch", "advance", "stop", "run_all",
    "restart",
)  # fmt: skip


class StepKeys(Keys):
    """One thing that happens: one key of the first group, and what belongs to it."""

    send: str | None = Field(default=None, description="A message of the user.")
    input: Verbatim | None = Field(default=None, description="Any input, as `agentflow submit` takes it.")
    answer: str | None = Field(default=None, description="An answer to the pending question, as one text.")
    answers: Named[Any] | None = Field(default=None, description="The same by header: a text, or a list of labels.")
    result: Any = Field(default=None, description="The result of the first call that waits for its client.")
    edit: EditKeys | None = Field(default=None, description="Say something else in place of an earlier message.")
    regenerate: bool | None = Field(default=None, description="Have the last message of the user answered again.")
    switch: str | None = Field(default=None, pattern=LABEL, description="Go to where the step of this id had ended.")
    advance: str | None = Field(
        default=None,
        pattern=SPAN,
        description="Let time pass, as 90s, 15m, 1h, 2d or 1w; `next_timer`: until the next thing falls due.",
    )
    stop: bool | None = Field(default=None, description="Stop the turn.")
    run_all: bool | None = Field(default=None, description="Let everything run that can.")
    restart: bool | None = Field(default=None, description="End the process in order and start the next one.")

    attach: Items[str] = Field(
        default=(), description="Files that go with `send`: pictures, sounds, PDFs, texts, from the folder of the test."
    )
    id: str | None = Field(default=None, pattern=LABEL, description="What other steps call this one.")
    session: str = Field(default="s-1", min_length=1, description="In which session.")
    inputs: Verbatim = Field(default={}, description="Inputs of the agent, with `send`.")
    limits: Verbatim = Field(default={}, description="Limits for the turn, with `send`.")
    queue: bool | None = Field(default=None, description="Wait behind a turn that runs, with `send`.")
    merge: bool | None = Field(default=None, description="The same, in one turn with what waits already.")
    wait: bool = Field(default=True, description="false: the models say nothing until a later step that waits.")
    replies: Items[Reply] = Field(default=(), description="Further replies of the agent's model.")
    crash_after: int | None = Field(
        default=None,
        ge=1,
        description="The process dies after so many commits of the step; the next step is in another.",
    )
    expect: ExpectKeys | None = Field(default=None, description="What must hold then.")

    def action(self) -> str | None:
        """The key that says what happens; null for a step that only expects something."""
        return next((name for name in ACTIONS if name in self.model_fields_set), None)


class Scenario(Keys):
    """A conversation with an agent and what it must come to. Models answer from `replies`, tools from `tools`."""

    version: int = Field(default=1, ge=1, le=1, description="The version of this format.")
    agent: str = Field(pattern=AGENT_NAME, description="The agent: a folder in the project's agents/.")
    description: str = Field(default="", description="What is claimed.")
    start: str = Field(
        default="2030-01-01T09:00:00Z",
        pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)$",
        description="Where the clock stands at first; it moves by `advance` only.",
    )
    replies: Items[Reply] = Field(default=(), description="What the agent's model says; each must be used.")
    replies_of: Named[Items[Reply]] = Field(default={}, description="The same for other agents, as sub-agents.")
    tools: Items[StubKeys] = Field(default=(), description="Tools that are not run; the others are.")
    history: Items[Verbatim] = Field(
        default=(), description="Messages that were said before the first step, in wire shape."
    )
    steps: Items[StepKeys] = Field(description="What happens, in order.")

    @classmethod
    def cross_check(cls, data: Mapping[str, Any], shared: Mapping[str, str]) -> Iterable[Complaint]:
        known: list[str] = []
        if data.get("steps") == []:
            yield Complaint(Code.OUT_OF_RANGE, "needs one step at least", ("steps",))
        for index, step in _mappings(data.get("steps")):
            at = ("steps", index)
            yield from _one_action(step, at)
            yield from _references(step, at, known)
            label = step.get("id")
            if isinstance(label, str) and label in known:
                yield Complaint(Code.GIVEN_TWICE, "another step has this id", (*at, "id"))
            elif isinstance(label, str):
                known.append(label)
        for index, stub in _mappings(data.get("tools")):
            if ("result" in stub) == ("error" in stub):
                yield Complaint(Code.MISSING_KEY, "needs a result or an error, one of them", ("tools", index))


def _mappings(items: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    return ((i, each) for i, each in enumerate(items if isinstance(items, list) else ()) if isinstance(each, dict))


def _one_action(step: Mapping[str, Any], at: tuple[str | int, ...]) -> Iterator[Complaint]:
    given = [name for name in ACTIONS if name in step]
    if len(given) > 1:
        yield Complaint(Code.GIVEN_TWICE, f"a step does one thing; {given[0]} is one already", (*at, given[1]))
    is_known = all(name in StepKeys.model_fields for name in step)  # what is misspelled is complained of already
    if not given and "expect" not in step and is_known:
        yield Complaint(Code.MISSING_KEY, f"says nothing to do; give it one of {', '.join(ACTIONS)}, or expect", at)
    if not given and "crash_after" in step:
        yield Complaint(Code.NO_EFFECT, "nothing is done here that could be interrupted", (*at, "crash_after"))


def _references(step: Mapping[str, Any], at: tuple[str | int, ...], known: list[str]) -> Iterator[Complaint]:
    edit, switch = step.get("edit"), step.get("switch")
    asked = [((*at, "switch"), switch)] if switch is not None else []
    if isinstance(edit, dict):
        asked.append(((*at, "edit", "step"), edit.get("step")))
    for path, label in asked:
        if isinstance(label, str) and label not in known:
            earlier = f"; there are {', '.join(known)}" if known else "; give that step an id"
            yield Complaint(
                Code.NOT_A_CHOICE, f"no earlier step has the id {label!r}{did_you_mean(label, known) or earlier}", path
            )
