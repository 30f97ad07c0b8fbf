"""`ctx.get_with_snap`: loads an entity's data for a flow, and stages a snapshot of it for the next commit (R8).

A flow runs on a thread, or as a task on a loop; what is staged is staged on the turn's loop, and only while somebody
waits for the flow: a call that was given up leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any

from agentflow import clock
from agentflow.agents.data_source import EVALUATION
from agentflow.errors import InvalidInput, SnapshotNotFound, StoreError
from agentflow.store.rows.changes import DecideSnapshots
from agentflow.store.rows.inserts import InsertSnapshot, InsertSnapshotData
from agentflow.text import preview, sanitise
from agentflow.tools.calls import on_a_thread
from agentflow.tools.flows.context import FlowContext, Loader
from agentflow.tools.flows.signature import context_parameter
from agentflow.turn.calls.from_thread import wait_from_thread
from agentflow.turn.rules import snapshots
from agentflow.turn.rules.packed_json import Packed, Unpackable, pack
from agentflow.turn.rules.snapshots import SnapshotDecision
from agentflow.turn.run.execution import Execution
from agentflow.turn.run.step import Step

MAX_NAME, MAX_KEY = 100, 500  # characters
MAX_OF_STEP = 10_000_000  # characters of JSON that one step keeps

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)


class EntityData:
    """Loads for the flows of one execution; called on whatever thread or loop a flow runs."""

    def __init__(self, step: Step, execution: Execution) -> None:
        self._step = step
        self._execution = execution
        self._loop = asyncio.get_running_loop()

    def load(self, context: FlowContext, entity: str, key: str | int, loader: Loader) -> Any:
        """The data, or an awaitable of it where a loop runs; see `FlowContext.get_with_snap`."""
        name, of = _names(entity, key)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._on_this_thread(context, name, of, key, loader)
        return self._on_a_loop(context, name, of, key, loader)

    def _on_this_thread(self, context: FlowContext, entity: str, of: str, key: str | int, loader: Loader) -> Any:
        if self._step.source.environment == EVALUATION:
            return self._captured(entity, of)
        value = self._call(loader, key, context)
        if isinstance(value, Awaitable):
            value = wait_from_thread(_awaited(value), self._loop, context.cancelled)
        if wait_from_thread(self._is_taken(), self._loop, context.cancelled):
            self._keep(context, entity, of, _packed(value))
        return value

    async def _on_a_loop(self, context: FlowContext, entity: str, of: str, key: str | int, loader: Loader) -> Any:
        if self._step.source.environment == EVALUATION:
            return self._captured(entity, of)
        here = asyncio.get_running_loop()
        if inspect.iscoroutinefunction(loader):
            value = self._call(loader, key, context)
        else:
            value = await on_a_thread(here, lambda: self._call(loader, key, context))
        value = await _awaited(value)
        if await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._is_taken(), self._loop)):
            self._keep(context, entity, of, await on_a_thread(here, lambda: _packed(value)))
        return value

    def _captured(self, entity: str, key: str) -> Any:
        captured = self._step.source.captured
        if (entity, key) not in captured:
            known = ", ".join(f"{each} {of!r}" for each, of in list(captured)[:20]) or "nothing"
            raise SnapshotNotFound(
                f"There is no captured data of {entity} {key!r}, and evaluation loads nothing; there is: {known}.",
                detail={"entity": entity, "key": key},
            )
        return deepcopy(captured[entity, key])

    def _call(self, loader: Loader, key: str | int, context: FlowContext) -> Any:
        if isinstance(loader, str):
            flow = self._step.source.find_flow(loader, self._execution.agent.config.folder)
            function, takes_context = flow.function, flow.context
        else:
            function = loader
            takes_context = context_parameter(loader, "the loader") if inspect.isroutine(loader) else None
        return _called(function, key, {} if takes_context is None else {takes_context: context})

    async def _is_taken(self) -> bool:
        """Whether this turn's data is snapshotted; when that cannot be known, it is not, and the next turn asks."""
        taken = self._step.snapshots
        async with taken.deciding:
            if taken.decision is None:
                taken.decision = await self._decided()
        return taken.decision.taken

    async def _decided(self) -> SnapshotDecision:
        main, session_id = self._main(), self._execution.journal.session_id
        settings = main.agent.config.settings
        if (of_turn := snapshots.of_turn(self._step.source.environment, settings)) is not None:
            return of_turn
        try:
            kept = await self._step.store.ledger.snapshot_decision(self._step.claimed.key)
        except StoreError as error:
            main.agent.logger.warning("no snapshots of session %s in this turn: %s", session_id, error)
            return SnapshotDecision(False, "undecided")
        if kept is not None:
            return SnapshotDecision(*kept)
        made = snapshots.of_session(settings, session_id)
        self._execution.staging.add(DecideSnapshots(int(made.taken), made.reason))
        return made

    def _main(self) -> Execution:
        main = self._execution
        while main.parent is not None:
            main = main.parent
        return main

    def _keep(self, context: FlowContext, entity: str, key: str, packed: Packed | Unpackable) -> None:
        self._loop.call_soon_threadsafe(self._stage, context, entity, key, packed)

    def _stage(self, context: FlowContext, entity: str, key: str, packed: Packed | Unpackable) -> None:
        """Stage what was loaded, unless it is what this step loaded last of this entity."""
        taken, journal = self._step.snapshots, self._execution.journal
        if context.cancelled():
            return
        if isinstance(packed, Packed) and taken.chars + packed.chars > MAX_OF_STEP:
            packed = Unpackable(f"this step has kept {taken.chars} characters already", packed.chars)
        problem = str(packed) if isinstance(packed, Unpackable) else None
        hash_ = packed.hash if isinstance(packed, Packed) else None
        if taken.is_known(entity, key, hash_ or problem):
            return
        if isinstance(packed, Packed):
            taken.chars += packed.chars
            self._execution.staging.add(InsertSnapshotData(packed.hash, packed.body))
        else:
            self._execution.agent.logger.warning("no snapshot of %s %r is taken: %s", entity, key, problem)
        number, at = taken.next(), clock.instant()
        self._execution.staging.add(
            InsertSnapshot(journal.step, number, journal.turn, entity, key, hash_, packed.chars, problem, at)
        )


def _names(entity: str, key: str | int) -> tuple[str, str]:
    """The entity and its key as they are kept. Raises `InvalidInput` for what is none."""
    if not isinstance(entity, str) or not 0 < len(entity) <= MAX_NAME:
        raise InvalidInput(f"get_with_snap: the entity is a text of at most {MAX_NAME} characters.")
    if isinstance(key, bool) or not isinstance(key, str | int) or len(str(key)) > MAX_KEY:
        raise InvalidInput(
            f"get_with_snap: the key of {entity!r} is a text or a number of at most {MAX_KEY} characters."
        )
    return sanitise(entity), sanitise(str(key))


def _called(function: Callable[..., Any], key: str | int, context: dict[str, Any]) -> Any:
    """Call a loader with the key, which goes to the first parameter that does not take the context."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some functions of C have none
        return function(key)
    first = next((each for each in parameters if each.name not in context), None)
    if first is None:
        raise TypeError(f"the loader {getattr(function, '__name__', function)!r} has no parameter for the key")
    return function(key, **context) if first.kind in _POSITIONAL else function(**{first.name: key}, **context)


async def _awaited(value: Any) -> Any:
    return await value if isinstance(value, Awaitable) else value


def _packed(value: Any) -> Packed | Unpackable:
    """The data packed, or why it cannot be; nothing about it fails a flow that has its data."""
    try:
        return pack(value)
    except Unpackable as error:
        return error
    except Exception as error:  # data that changes while it is read can fail in any way
        return Unpackable(preview(f"it cannot be read: {type(error).__name__}: {error}"))
