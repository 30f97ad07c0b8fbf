"""The agent's state and configuration in force on the path of a run, and what a worker changes of them (C6, C30).

Changes ride on the next commit, anchored at the head that it leaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentflow import events
from agentflow.agents.loaded_agent import TEMPLATE, TEXTS, LoadedAgent
from agentflow.conversation import wire
from agentflow.conversation.state import next_version, same_json
from agentflow.errors import InvalidConfig, InvalidInput
from agentflow.store.records import AGENT, STARTED, STATE
from agentflow.store.rows import inserts
from agentflow.text import compact_json
from agentflow.turn.decide.decision import Changes
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.step import Step


class InForce:
    """State and configuration of one run. `started`: `session.start` has been answered."""

    def __init__(self, step: Step, execution: Execution, inputs: Mapping[str, Any]) -> None:
        self.state: Any = None
        self.started = False
        self._step = step
        self._execution = execution
        self._inputs = inputs
        self._of_file = execution.agent
        self._changes: dict[str, Any] = {}
        self._unwritten: list[tuple[str, Any, bool]] = []  # kind, value, whether it holds above every root

    async def load(self) -> None:
        """Read what is in force where the path ends. Raises `InvalidInput` for what cannot be any more."""
        execution, is_main = self._execution, self._execution.parent is None
        versions = await self._step.store.versions(execution.journal.session_key, execution.place, of_session=is_main)
        self._step.versions.seen(versions.last)
        self.state, self.started = versions.state, versions.started
        execution.staging.before_take(self._stage)
        execution.kept_by(self.carry_over)
        if versions.agent:
            self._configure(versions.agent)

    def changed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The keys that differ from what is in force; texts that are templates are named under `template`.

        Raises `InvalidInput` for those that cannot be changed so.
        """
        known = self._execution.agent.config.public()
        differs = {name: value for name, value in given.items() if not _is_known(name, value, known)}
        texts = [name for name in TEXTS if name in given and (name in differs or TEMPLATE in given)]
        if differs.pop(TEMPLATE, None) is True and not texts:
            wire.refuse("agent.template", "says how a text is read, and there is none.")
        if texts:
            differs |= {name: given[name] for name in texts}
            differs[TEMPLATE] = texts if given.get(TEMPLATE) else []
        if differs:
            self._check(differs)
        return differs

    def prompt_with(self, prompt: str, *, template: bool) -> str:
        """The system prompt with another `prompt` in it. Raises `InvalidInput` or `InvalidConfig`."""
        execution = self._execution
        made = self._made({"prompt": prompt, TEMPLATE: ["prompt"] if template else []})
        return made.render_prompt(self._inputs, execution.vars, {"id": execution.journal.session_id})

    def _check(self, changes: Mapping[str, Any]) -> None:
        execution = self._execution
        try:
            self._made(changes).render_prompt(self._inputs, execution.vars, {"id": execution.journal.session_id})
        except InvalidInput as refused:
            raise wire.inside("agent", refused) from None
        except InvalidConfig as error:
            wire.refuse("agent", f"cannot be used: {error.message}")

    def note(self, changes: Changes, *, at_root: bool = False) -> None:
        """From now on. `at_root`: whatever path the session is on (D28)."""
        version = next_version(self.state, changes.state, None)
        if version is not None:
            self.state = version.value
            self._unwritten.append((STATE, version.value, at_root))
        if changes.agent:
            self._configure(changes.agent)
            self._unwritten.append((AGENT, dict(self._changes), at_root))

    def begun(self) -> None:
        """`session.start` has been answered, and is not asked again (D27)."""
        self.started = True
        self._unwritten.append((STARTED, True, True))

    def carry_over(self) -> None:
        """Write what is in force again, at the head of another branch (X18)."""
        waiting = {kind for kind, _, at_root in self._unwritten if not at_root}
        in_force = ((STATE, self.state), (AGENT, dict(self._changes) or None))
        self._unwritten += [
            (kind, value, False) for kind, value in in_force if value is not None and kind not in waiting
        ]

    def _configure(self, changes: Mapping[str, Any]) -> None:
        self._execution.change_agent(self._made(changes))
        self._changes = self._together(changes)
        self._execution.render_prompt(self._inputs)

    def _made(self, changes: Mapping[str, Any]) -> LoadedAgent:
        return self._of_file.changed(self._together(changes))

    def _together(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """These changes on top of the earlier ones: settings one by one, and each text with how it is read."""
        together = {**self._changes, **changes}
        if "settings" in changes:
            together["settings"] = {**(self._changes.get("settings") or {}), **changes["settings"]}
        if TEMPLATE in changes:
            earlier = [name for name in self._changes.get(TEMPLATE, ()) if name not in changes]
            together[TEMPLATE] = sorted({*earlier, *changes[TEMPLATE]})
        return together

    def _stage(self) -> None:
        unwritten, self._unwritten = self._unwritten, []
        execution = self._execution
        for kind, value, at_root in unwritten:
            number = 0 if kind == STARTED else self._step.versions.next()
            place = (None, None) if at_root else execution.place or (None, None)
            execution.staging.add(
                inserts.InsertStateVersion(number, kind, compact_json(value), execution.journal.turn, *place)
            )
            if kind == STATE:
                told = {"version": number, "head_id": None if at_root else execution.staging.position.message_id}
                execution.staging.tell(events.plain(events.STATE_UPDATED, told))


def _is_known(name: str, value: Any, known: Mapping[str, Any]) -> bool:
    if name == "model":
        return bool(_interface(value) == _interface(known.get(name)))
    return name != TEMPLATE and same_json(value, known.get(name))


def _interface(model: Any) -> Any:
    """What `model` names, with or without its scheme; null, as of a file that has `interfaces` alone, is nothing."""
    return model.removeprefix("llm://") if isinstance(model, str) else model
