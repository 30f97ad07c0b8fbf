"""The door to what is kept about conversations: feedback, insights, names, retention."""

from __future__ import annotations

import asyncio
import base64
import io
import shutil
from typing import Any, BinaryIO

from agentflow import clock
from agentflow.clock import NewId
from agentflow.config.last_good import AgentFiles
from agentflow.conversation import arguments
from agentflow.errors import InvalidInput, NotFound, SnapshotNotFound, StepNotFound, no_session
from agentflow.live.event_feed import Feeds
from agentflow.media.files import HASH
from agentflow.media.kinds import found_in
from agentflow.reading.compare.turns import compared_turns
from agentflow.reading.lookup import session_of
from agentflow.reading.sent_request import sent_request
from agentflow.records import moving
from agentflow.records.feedback import parse_comment, parse_rating
from agentflow.records.insights import BY, insights, parse_since, parse_zone
from agentflow.records.naming import given_name
from agentflow.records.retention import Retention, age_of
from agentflow.records.snapshots import as_dict
from agentflow.records.timers import Timer, Timers
from agentflow.store.cause import names_damage
from agentflow.store.protocol import Store
from agentflow.turn.rules.packed_json import unpack

MOST_DAMAGES = 100


@names_damage
class Records:
    """What is kept beside the turns of a project's sessions; reached as `runtime.records`."""

    def __init__(self, store: Store, feeds: Feeds, files: AgentFiles, new_id: NewId) -> None:
        self._store = store
        self._files = files
        self._feeds = feeds
        self._retention = Retention(store, files)
        self._timers = Timers(store, files)
        self._new_id = new_id

    async def feedback(
        self, session_id: str, step_order: int, rating: str | int, comment: str | None = None
    ) -> dict[str, Any]:
        """Keep what a person thought of a step, `up`, `down` or 1 to 5, in place of what was kept before (R11); the
        comment has at most 10,000 characters.

        Returns `{session_id, step_order, rating, comment}`. Raises `SessionNotFound`, `StepNotFound`, `InvalidInput`.
        """
        order = arguments.whole_number(step_order, "step_order", least=1)
        kept, said = parse_rating(rating), parse_comment(comment)
        record = await session_of(self._store, session_id)
        if not await self._store.ledger.rate(record.key, order, kept, said, clock.instant()):
            raise StepNotFound(
                f"Session {session_id!r} has no step {order}; its steps are 1 to {record.steps}.",
                detail={"session_id": session_id, "step_order": order},
            )
        return {"session_id": session_id, "step_order": order, "rating": kept, "comment": said}

    async def insights(self, *, by: str = "agent", since: str | None = None, tz: str = "UTC") -> dict[str, Any]:
        """What the turns of all sessions have done and cost, by `agent`, `day`, `model` or `tool` (R6).

        `since` is how long ago (`7d`, `12h`), a day or an RFC 3339 time, `tz` the zone that days are of. Sessions of
        environment `evaluation` do not count. Returns `{by, since, tz, groups, total}`. Raises `InvalidInput`.
        """
        kind, zone = arguments.one_of(by, "by", BY), parse_zone(tz)
        start = parse_since(since, clock.instant(), zone)
        counted = await self._store.ledger.counts(start or 0)
        begun = None if start is None else clock.rfc3339(start)
        return {"by": kind, "since": begun, "tz": tz, **insights(counted, kind, zone)}

    async def request(self, session_id: str, call: int | str, *, turn: int | str | None = None) -> dict[str, Any]:
        """The exact request of a model call, made again from what is stored (R5).

        `call` is the call's id, or its number in the turn from 1, counting those of sub-agents, planners and summaries;
        `turn` a number or an id, the newest unless given. Returns `{session_id, call_id, purpose, model, parameters,
        messages, tools}`, without credentials. Raises `SessionNotFound`, `TurnNotFound`, `CallNotFound`, and
        `RequestNotKept` for what cannot be made again.
        """
        if isinstance(call, str):
            arguments.text(call, "call")
        else:
            arguments.whole_number(call, "call", least=1)
        return await sent_request(self._store, await session_of(self._store, session_id), call, turn)

    async def blob(self, session_id: str, hash: str) -> dict[str, Any]:
        """A text of a session by its hash, as events, traces and exports name it: `{session_id, hash, text}`.

        Raises `SessionNotFound`, and `NotFound` for a hash the session has no text of.
        """
        record = await session_of(self._store, session_id)
        text = await self._store.ledger.blob(record.key, arguments.text(hash, "hash"))
        if text is None:
            raise NotFound(f"Session {session_id!r} has no text {hash!r}.", detail={"session_id": session_id})
        return {"session_id": session_id, "hash": hash, "text": text}

    async def file(self, session_id: str, hash: str) -> dict[str, Any]:
        """A file of a session by the hash that its messages name it by: `{session_id, hash, media_type, data}`, `data`
        as bytes (W4). Raises `SessionNotFound`, and `NotFound` for a hash the session has no file of.
        """
        record = await session_of(self._store, session_id)
        kept = await self._store.ledger.files(record.key, [arguments.text(hash, "hash")])
        if not HASH.fullmatch(hash) or hash not in kept.bodies:
            raise NotFound(f"Session {session_id!r} has no file {hash!r}.", detail={"session_id": session_id})
        data = await asyncio.to_thread(base64.b64decode, kept.bodies[hash])
        return {"session_id": session_id, "hash": hash, "media_type": found_in(data).media_type, "data": data}

    async def diff(
        self, a: tuple[str, int | str], b: tuple[str, int | str], *, call: int | None = None
    ) -> dict[str, Any]:
        """What two turns, each `(session id, number or id)`, sent to their models, call by call (R6).

        `{a, b, calls, call, first, configuration, prompt, tools, history, model}`: `first` is the first of the last
        five that differs in `call`, which is the first call that does unless given; `calls` has the same of each.
        Raises `SessionNotFound`, `TurnNotFound`, `CallNotFound`, `RequestNotKept`, `InvalidInput`.
        """
        if call is not None:
            arguments.whole_number(call, "call", least=1)
        for name, (_, turn) in (("a", a), ("b", b)):
            if not isinstance(turn, str):
                arguments.whole_number(turn, f"{name}.turn", least=1)
        of_a, of_b = await session_of(self._store, a[0]), await session_of(self._store, b[0])
        return await compared_turns(self._store, (of_a, a[1]), (of_b, b[1]), call)

    async def name(self, session_id: str, name: str | None) -> dict[str, Any]:
        """Give a session the name a person chose, one line of at most 200 characters, or with null take its name away.

        Returns `{session_id, name}`. No name that a model finds goes in place of it (R7). Raises `SessionNotFound`,
        `InvalidInput`.
        """
        chosen = None if name is None else given_name(name)
        record = await session_of(self._store, session_id)
        told = await self._store.ledger.give_name(record.key, chosen, clock.instant())
        if told is None:
            raise no_session(session_id)
        self._feeds.publish(session_id, *told)
        return {"session_id": session_id, "name": chosen}

    async def sweep(self, *, older_than: str | None = None, dry_run: bool = False) -> dict[str, Any]:
        """Delete the sessions that nobody used for as long as `retention_days` says, or for `older_than` (`12h`, `30d`,
        `8w`), with every row of them (R12); with `dry_run` none.

        Returns `{deleted, skipped: [{session_id, why}], swept, dry_run}`: ids of what is gone, or would be; what was
        left because a turn of it is `running` or `queued`; `swept` is false when another process sweeps. Those of
        evaluations stay. Raises `InvalidInput`.
        """
        age = None if older_than is None else age_of(older_than)
        return (await self._retention.sweep(age, dry_run=arguments.flag(dry_run, "dry_run"))).as_dict()

    async def timers(self) -> list[Timer]:
        """What time alone will change, of all sessions, the next one first (T21, X11, R12)."""
        return await self._timers.all()

    async def check(self, session_id: str | None = None) -> list[dict[str, Any]]:
        """What is damaged in the rows of a session, or of all: the first 100 columns that no work of ours leaves so.

        `[{table, column, row, problem}]`; `row` has the columns that name the row, `problem` what the column must do.
        Empty where every row is as it must be. It reads all of them. Raises `SessionNotFound`.
        """
        if session_id is not None:
            await session_of(self._store, session_id)
        found = await self._store.damages(session_id, MOST_DAMAGES)
        return [{"table": each.table, "column": each.column, "row": each.row, "problem": each.wanted} for each in found]

    async def snapshots(self, session_id: str) -> dict[str, Any]:
        """Whether a session is snapshotted, and the data its flows loaded, in order (R8).

        `{session_id, snapshotted, reason, snapshots: [{number, step_order, turn_id, entity, key, hash, chars, problem,
        at}]}`; `snapshotted` is null while nothing is decided, `problem` why data could not be kept, `chars` its size
        as JSON. Raises `SessionNotFound`.
        """
        record = await session_of(self._store, session_id)
        decision = await self._store.ledger.snapshot_decision(record.key)
        snapshotted, reason = decision or (None, None)
        found = await self._store.ledger.snapshots(record.key)
        listed = [as_dict(number, each) for number, each in enumerate(found, 1)]
        return {"session_id": session_id, "snapshotted": snapshotted, "reason": reason, "snapshots": listed}

    async def snapshot(self, session_id: str, number: int) -> dict[str, Any]:
        """One of them with its `data`. Raises `SessionNotFound`, `SnapshotNotFound`, `InvalidInput`."""
        wanted = arguments.whole_number(number, "number", least=1)
        record = await session_of(self._store, session_id)
        found = await self._store.ledger.snapshots(record.key)
        if wanted > len(found):
            there_are = f"they are 1 to {len(found)}" if found else "it has none"
            raise SnapshotNotFound(
                f"Session {session_id!r} has no snapshot {wanted}; {there_are}.",
                detail={"session_id": session_id, "number": wanted},
            )
        taken = found[wanted - 1]
        body = None if taken.hash is None else await self._store.ledger.snapshot_body(record.key, taken.hash)
        if body is None:
            raise SnapshotNotFound(
                f"Snapshot {wanted} of session {session_id!r} has no data: {taken.problem or 'it was erased'}.",
                detail={"session_id": session_id, "number": wanted},
            )
        return {**as_dict(wanted, taken), "data": unpack(body)}

    async def export(self, session_id: str, format: str = "json", *, to: BinaryIO | None = None) -> str | None:
        """A session as a file: `json` or `jsonl` of schema `agentflow.session/1`, which can be imported again, or for
        people `md` or one `html` page that asks nobody for anything (R12).

        Returns the text, or null when it went into the file `to`, however long it is. It is the session as it was at
        one moment; a turn that runs is in it with what it has committed. Secrets that the environment and the agent's
        file hold by now are left out. Raises `SessionNotFound`, `InvalidInput`.
        """
        with await moving.export(self._store.ledger, self._files, session_id, format) as file:
            if to is None:
                return file.read().decode()
            await asyncio.to_thread(shutil.copyfileobj, file, to)
        return None

    async def import_session(
        self, file: BinaryIO | str, *, session_id: str | None = None, copy: bool = False
    ) -> dict[str, Any]:
        """Bring in a session from an export as `json` or `jsonl`: a text, or a file open for reading bytes that can be
        read from its start again. All of it is checked before any of it is written (R12).

        It keeps its id, gets `session_id`, or with `copy` a new one; all other ids stay. A pause can be answered, a
        turn that ran is one that was interrupted. Returns `{session_id, agent_id, rows}`. Raises `SessionTaken` for an
        id that is there already, and `InvalidInput` naming line and field.
        """
        if session_id is not None and arguments.flag(copy, "copy"):
            raise InvalidInput("copy: makes an id of its own; leave it out, or session_id.", detail={"field": "copy"})
        wanted = self._new_id() if copy else None if session_id is None else arguments.session_id(session_id)
        source = io.BytesIO(file.encode("utf-8", "surrogatepass")) if isinstance(file, str) else file
        return await moving.bring(self._store.ledger, source, wanted)
