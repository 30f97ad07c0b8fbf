"""The black-box conversation cases, as far as the pure core decides them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path as File
from typing import Any

import pytest

from agentflow.conversation.inbox import ClientAppend, ClientMessage, ClientMessages, parse_input
from agentflow.conversation.queue import Entry, delivered, enqueue, repeated
from agentflow.conversation.state import Version, next_version, state_at
from agentflow.conversation.tree import Path
from agentflow.conversation.view import Merge, append, merge
from agentflow.message import Message
from tests.unit.conversation.memory_tree import MemoryTree, message, numbered

CASES = {
    case["id"]: case
    for case in json.loads((File(__file__).parents[2] / "cases" / "conversation_cases.json").read_text())["cases"]
}
AREAS = {"merge", "append", "head", "queue", "queue-merge", "turns", "state"}

NEED_THE_ENGINE = {
    "regen-001": "the order of a turn's events",
    "regen-004": "a model call that fails",
    "turn-001": "a running turn refuses a submit (C18)",
    "turn-002": "the replay of a running turn (C19)",
    "turn-011": "a decision that fails",
    "queue-001": "turn.completed before the next turn.started (T10)",
    "queue-004": "whether the session is idle (C21)",
    "queue-005": "a turn that fails does not drop the queue (C24)",
    "merge-q-007": "whether the session is idle (C22)",
    "void-005": "a late result that is ignored (C20)",
}
PURE = [id for id, case in CASES.items() if case["area"] in AREAS and id not in NEED_THE_ENGINE]

# What an expectation says about the engine around the core: codes, events, and when a turn runs.
ENGINE_ONLY = {
    "http",
    "trigger",
    "state_checked",
    "turn_runs",
    "queued",
    "turns_started_count",
    "one_at_a_time",
    "events_in_order",
}


class Session:
    """The smallest engine: it stores, queues and lets nobody answer but the case."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.tree = MemoryTree()
        for each in given["messages"]:
            self.tree.add(each["parent"], message(each["id"], each["role"], each["content"]))
        self.tree.move(given["head"])
        self.busy = given["turn"] is not None
        self.entries: list[Entry] = []
        self.versions: list[Version] = []
        for version in given.get("state_versions", ()):
            self.versions.append(Version(version["value"], self.tree.node(version["anchor"]).place))
        self.given_versions = len(self.versions)
        self.calls = given.get("calls", ())
        self.new_id = numbered()
        self.merges: list[Merge] = []
        self.started: list[tuple[str, Any, list[str]]] = []
        self.turn_ids: list[str] = []
        self.given_nodes = len(self.tree.order)

    def submit(self, op: dict[str, Any]) -> None:
        submit = parse_input(op["input"])
        assert isinstance(submit, ClientMessage | ClientAppend | ClientMessages)
        if not self.busy:
            self.deliver(submit)
        elif (waiting := repeated(self.entries, submit)) is not None:
            self.turn_ids.append(waiting.turn_id)
        else:
            entry, joined = enqueue(self.entries, submit, self.new_id)
            self.entries[len(self.entries) - joined :] = [entry]
            self.turn_ids.append(entry.turn_id)

    def deliver(self, submit: ClientMessage | ClientAppend | ClientMessages) -> None:
        compose = merge if isinstance(submit, ClientMessages) else append
        self.merges.append(compose(self.tree, self.tree.head, submit.messages, self.new_id))
        self.tree.apply(self.merges[-1])
        written = [write.id for write in self.merges[-1].writes]
        self.started.append((submit.turn_id or "", submit.client.state, written))

    def finish_turn(self, op: dict[str, Any]) -> None:
        if reply := op.get("reply"):
            self.reply(reply["id"], reply["content"])
        if self.entries:
            self.deliver(delivered(self.entries.pop(0)))

    def model_reply(self, op: dict[str, Any]) -> None:
        self.reply(self.new_id(), op["content"])

    def reply(self, id: str, content: str) -> None:
        self.tree.add(self.tree.head.id if self.tree.head else None, Message(id, "assistant", content))

    def decision_response(self, op: dict[str, Any]) -> None:
        """C33: the messages of a response are merged as a view, then its state is anchored at the head (C30)."""
        view = [message(each["id"], each["role"], each["content"]) for each in op.get("messages", ())]
        self.tree.apply(merge(self.tree, self.tree.head, view, self.new_id))
        assert self.tree.head is not None
        version = next_version(self.state, op.get("state"), self.tree.head.place)
        self.versions += [version] if version else []

    def accept_proposal(self, op: dict[str, Any]) -> None:
        """Nothing to decide: what the case proposes was done when it was delivered."""

    @property
    def path(self) -> Path:
        return Path.to(self.tree.branches, self.tree.head.place if self.tree.head else None)

    @property
    def state(self) -> Any:
        return state_at(self.path, self.versions)

    def voided(self) -> list[str]:
        anchors = {c["id"]: self.tree.node(c["anchor"]).place if c["anchor"] else None for c in self.calls}
        return [id for id, anchor in anchors.items() if anchor not in self.path]

    def recorded(self) -> list[dict[str, Any]]:
        rows = []
        for node in self.tree.order[self.given_nodes :]:
            parent = self.tree.parent(node)
            content = self.tree.contents[node.id].content
            rows.append({"id": node.id, "parent": parent.id if parent else None, "role": node.role, "content": content})
        return rows

    def new_versions(self) -> list[Version]:
        return self.versions[self.given_versions :]

    def events(self) -> dict[str, int]:
        return {
            "head.moved": sum(each.head_moved for each in self.merges),
            "state.updated": len(self.new_versions()),
            "worker.state.updated": len(self.new_versions()),
        }

    def anchor_of_new_version(self) -> str:
        (version,) = self.new_versions()
        return next(node.id for node in self.tree.order if node.place == version.anchor)


def fresh_ids_named(expected: Any, session: Session) -> Any:
    """`$newN` in a case is any fresh id: the N-th recorded row."""
    rows = session.recorded()
    text = json.dumps(expected)
    for index, row in enumerate(rows, start=1):
        text = text.replace(f'"$new{index}"', json.dumps(row["id"]))
    return json.loads(text)


def children(session: Session, id: str) -> list[str]:
    return [n.id for n in session.tree.order if (p := session.tree.parent(n)) is not None and p.id == id]


CHECKS: dict[str, Callable[[Session, Any], bool]] = {
    "new_from": lambda s, v: s.merges[-1].new_from == v,
    "recorded": lambda s, v: s.recorded() == v,
    "recorded_count": lambda s, v: len(s.recorded()) == v,
    "recorded_ids": lambda s, v: [row["id"] for row in s.recorded()] == v,
    "recorded_chain": lambda s, v: s.tree.ids() == v,
    "no_duplicate_ids": lambda s, v: len(s.tree.contents) == len(s.tree.order),
    "head": lambda s, v: (s.tree.head.id if s.tree.head else None) == v,
    "head_moved_event": lambda s, v: s.merges[-1].head_moved is v,
    "path": lambda s, v: s.tree.ids() == v,
    "untouched_ids": lambda s, v: [node.id for node in s.tree.order[: s.given_nodes]] == v,
    "children_count": lambda s, v: {id: len(children(s, id)) for id in v} == v,
    "events_count": lambda s, v: {name: s.events()[name] for name in v} == v,
    "events_absent": lambda s, v: not any(s.events()[name] for name in v),
    "state": lambda s, v: s.state == v,
    "anchor": lambda s, v: s.anchor_of_new_version() == v,
    "state_update_anchor": lambda s, v: s.anchor_of_new_version() == v,
    "voided": lambda s, v: s.voided() == v,
    "turn_id": lambda s, v: s.turn_ids == v,
    "same_turn_id": lambda s, v: len({s.turn_ids[index] for index in v}) == 1,
    "turns_started": lambda s, v: [turn_id for turn_id, _, _ in s.started] == v,
    "turn_messages": lambda s, v: {turn_id: ids for turn_id, _, ids in s.started} == v,
    "trigger_client_state": lambda s, v: s.started[-1][1] == v,
    "queued_messages": lambda s, v: [m.id for entry in s.entries for m in delivered(entry).messages] == v,
}


@pytest.mark.parametrize("id", PURE)
def test_a_case_is_decided_as_it_says(id: str) -> None:
    """C5-C30, and B45, B47, B55 where the cases cover them."""
    case = CASES[id]
    session = Session(case["given"])
    for op in case["when"]:
        getattr(session, op["op"])(op)
    checked = {name: value for name, value in case["expect"].items() if name not in ENGINE_ONLY}
    assert checked, "a case without a pure expectation belongs to NEED_THE_ENGINE"
    for name, value in checked.items():
        assert CHECKS[name](session, fresh_ids_named(value, session)), f"{id}: {name} should be {value}"


def test_every_case_for_the_engine_exists_and_has_an_area_of_ours() -> None:
    assert {CASES[id]["area"] for id in NEED_THE_ENGINE} <= AREAS
