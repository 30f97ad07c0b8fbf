"""What a test reads of its sessions, and what it claims of their events."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from agentflow import Event, Runtime, drawn_tree, missing_event
from agentflow.testing.shown.golden import compare, golden_log
from agentflow.testing.shown.trace import short_trace

T = TypeVar("T")

SESSION = "s-1"


class KitReading:
    """The reading half of a `Kit`, which runs the work and has the runtime."""

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What the work returns."""
        raise NotImplementedError

    @property
    def runtime(self) -> Runtime:
        """The process under test."""
        raise NotImplementedError

    def events(self, *types: str, session: str = SESSION, after_seq: int = 0) -> list[Event]:
        """The session's log, or what of it is of these types."""

        async def logged() -> list[Event]:
            return [event async for event in self.runtime.events(session, after_seq)]

        return [event for event in self.run(logged()) if not types or event.type in types]

    def assert_events(
        self, *wanted: str | tuple[str, Mapping[str, Any]], session: str = SESSION, after_seq: int = 0
    ) -> None:
        """Claim that these events happened in this order, others may be between them: types, or a type with some of
        its data. A failure shows the log in short lines.
        """
        events = self.events(session=session, after_seq=after_seq)
        pairs = [(each, {}) if isinstance(each, str) else each for each in wanted]
        missing = missing_event(events, pairs)
        assert missing is None, f"{missing[1]}\n{short_trace(events)}" if missing else ""

    def assert_no_event(
        self, type: str, data: Mapping[str, Any] | None = None, *, session: str = SESSION, after_seq: int = 0
    ) -> None:
        """Claim that no event of this type, with this data of all it tells, happened; fails as `assert_events` does."""
        events = self.events(session=session, after_seq=after_seq)
        is_missing = missing_event(events, [(type, data or {})]) is not None
        assert is_missing, f"{type} happened\n{short_trace(events)}"

    def assert_golden(self, path: str | Path, session: str = SESSION) -> None:
        """Claim that the log is what the file holds, ids renamed and times relative. A file that is not there is
        written, and the claim fails once; delete the file to have it anew.
        """
        compare(golden_log(self.events(session=session)), Path(path))

    def tree_text(self, session: str = SESSION) -> str:
        """The tree as text, as `agentflow sessions tree` prints it."""
        return "\n".join(drawn_tree(self.tree(session)))

    def status(self, session: str = SESSION) -> dict[str, Any]:
        """As `Runtime.status`."""
        return self.run(self.runtime.status(session))

    def session(self, session: str = SESSION) -> dict[str, Any]:
        """As `Runtime.session`."""
        return self.run(self.runtime.session(session))

    def path(self, session: str = SESSION) -> list[dict[str, Any]]:
        """The messages on the active path, root first, in wire shape."""
        return list(self.session(session)["messages"])

    def tree(self, session: str = SESSION) -> dict[str, Any]:
        """As `Runtime.tree`."""
        return self.run(self.runtime.tree(session))

    def usage(self, session: str = SESSION) -> dict[str, Any]:
        """The session's totals: `{input, output, cache_read, cache_write, total, cost, turns}`."""
        return dict(self.session(session)["totals"])
