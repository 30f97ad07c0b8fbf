"""Laws of the merge over random trees and views (C9-C17)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from agentflow.clock import NewId
from agentflow.conversation.history import exchanges
from agentflow.conversation.tree import Node
from agentflow.conversation.view import Merge, append, merge
from agentflow.errors import InvalidInput
from agentflow.message import Message
from tests.unit.conversation.memory_tree import MemoryTree, asking, message, result


@dataclass(frozen=True)
class Part:
    """A piece of a view: a recorded node by number, or something new. `named` false sends no id."""

    kind: str
    number: int
    named: bool


PARTS = st.builds(
    Part,
    st.sampled_from(["known", "known", "known", "user", "assistant", "exchange", "lone result", "open call"]),
    st.integers(min_value=0, max_value=200),
    st.booleans(),
)
INPUTS = st.lists(st.tuples(st.sampled_from(["merge", "merge", "append"]), st.lists(PARTS, max_size=6)), max_size=8)


def messages_of(tree: MemoryTree, parts: Sequence[Part], new_id: NewId) -> list[Message]:
    view: list[Message] = []
    for part in parts:
        id = new_id() if part.named else ""
        call = f"c{part.number % 12}"
        if part.kind == "known" and tree.order:
            node = tree.order[part.number % len(tree.order)]
            known = tree.contents[node.id]
            view.append(
                message(
                    node.id if part.named else "",
                    known.role,
                    "resent",
                    tool_calls=known.tool_calls,
                    tool_call_id=known.tool_call_id,
                )
            )
        elif part.kind == "exchange":
            view += [asking(id, call, f"{call}b"), result("", f"{call}b"), result(new_id(), call)]
        elif part.kind == "lone result":
            view.append(result(id, call))
        elif part.kind == "open call":
            view.append(asking(id, call))
        else:
            view.append(message(id, "assistant" if part.kind == "assistant" else "user"))
    return view


def ids_from(start: int) -> NewId:
    numbers = count(start)
    return lambda: f"fresh{next(numbers)}"


def run(tree: MemoryTree, kind: str, messages: Sequence[Message], start: int) -> Merge | None:
    """The outcome, or null when the input is refused."""
    try:
        return (merge if kind == "merge" else append)(tree, tree.head, messages, ids_from(start))
    except InvalidInput:
        return None


def check(tree: MemoryTree, kind: str, messages: list[Message], outcome: Merge) -> None:
    recorded = {node.id for node in tree.order}
    assert not {write.id for write in outcome.writes} & recorded, "no node is written again"
    news = outcome.writes[len(outcome.writes) - len(outcome.news) :]
    assert [write.id for write in news] == [each.id for each in outcome.news]
    if kind == "append":
        assert outcome.new_from == (tree.head.place.depth if tree.head else 0)
        assert outcome.cursor == tree.head
        return
    # C10: the news are a contiguous suffix of the view, in order; everything before them is recorded.
    suffix = messages[outcome.new_from :]
    assert [each.role for each in suffix] == [each.role for each in outcome.news]
    assert all(each.id in recorded or each.role == "tool" for each in messages[: outcome.new_from])
    assert not suffix or suffix[0].id not in recorded
    # C14: only the last known id of the prefix matters.
    if outcome.new_from and messages[outcome.new_from - 1].id in recorded:
        short = merge(tree, tree.head, messages[outcome.new_from - 1 :], ids_from(5_000))
        assert (short.cursor, len(short.writes), short.head_moved) == (
            outcome.cursor,
            len(outcome.writes),
            outcome.head_moved,
        )


@settings(max_examples=150, deadline=None)
@given(INPUTS)
def test_any_sequence_of_inputs_keeps_the_laws(inputs: list[tuple[str, list[Part]]]) -> None:
    """Deterministic, append-only, contiguous, provider-valid, and resending changes nothing (C13, C17, B47)."""
    tree = MemoryTree()
    sent = ids_from(10_000)
    for step, (kind, parts) in enumerate(inputs):
        messages = messages_of(tree, parts, sent)
        outcome = run(tree, kind, messages, step * 100)
        assert run(tree, kind, messages, step * 100) == outcome
        if outcome is None:
            continue
        check(tree, kind, messages, outcome)
        before = list(tree.order)
        tree.apply(outcome)
        assert tree.order[: len(before)] == before
        path = [tree.contents[node.id] for node in tree.path()]
        assert path
        assert not any(exchange.open for exchange in exchanges(path))
        resent = merge(tree, tree.head, [message(id) for id in tree.ids()], ids_from(90_000))
        assert (resent.writes, resent.head_moved, resent.head) == ((), False, tree.ids()[-1])


@settings(max_examples=50, deadline=None)
@given(INPUTS, st.integers(min_value=0, max_value=200))
def test_every_node_can_be_gone_back_to(inputs: list[tuple[str, list[Part]]], number: int) -> None:
    """A view that ends at any node of any branch leads there, and only adds results that are missing (C11, C16)."""
    tree = MemoryTree()
    sent = ids_from(10_000)
    for step, (kind, parts) in enumerate(inputs):
        outcome = run(tree, kind, messages_of(tree, parts, sent), step * 100)
        if outcome is not None:
            tree.apply(outcome)
    if not tree.order:
        return
    node = tree.order[number % len(tree.order)]
    moved = tree.head != node
    outcome = merge(tree, tree.head, [message(each.id) for each in tree.path(node)], ids_from(90_000))
    assert (outcome.cursor, outcome.head_moved) == (node, moved)
    assert all(write.role == "tool" for write in outcome.writes)
    tree.apply(outcome)
    assert [each for each in tree.path() if each in tree.path(node)] == tree.path(node)


def replaced(tree: MemoryTree, number: int, summary: str | None) -> tuple[list[Node], int] | None:
    """Replace the path by its end, from an exchange on; the path before and where its kept part begins."""
    old = tree.path()
    sizes = [len(group.messages()) for group in exchanges(tree.contents[node.id] for node in old)]
    starts = [sum(sizes[:index]) for index in range(1, len(sizes))]
    if not starts or len({node.original for node in old}) < len(old):
        return None
    start = starts[number % len(starts)]
    tree.replace(summary, *(node.id for node in old[start:]))
    return old, start


@settings(max_examples=150, deadline=None)
@given(INPUTS, st.lists(st.tuples(st.integers(0, 50), st.booleans()), min_size=1, max_size=3))
def test_old_ids_mean_the_branch_that_the_last_replace_made(
    inputs: list[tuple[str, list[Part]]], replaces: list[tuple[int, bool]]
) -> None:
    """C15: kept messages mean their copies, the last one left out means the summary or the empty root."""
    tree = MemoryTree()
    sent = ids_from(10_000)
    for step, (kind, parts) in enumerate(inputs):
        outcome = run(tree, kind, messages_of(tree, parts, sent), step * 100)
        if outcome is not None:
            tree.apply(outcome)
    olds = []
    for number, (cut, summarizes) in enumerate(replaces):
        if (made := replaced(tree, cut, f"S{number}" if summarizes else None)) is not None:
            olds.append(made)
    if not olds:
        return
    here = {node.original: node for node in tree.path()}
    first_copy = next(node for node in tree.path() if node.copied_from)
    news = message("edit")
    for old, _ in olds:
        view = [replace(tree.contents[node.id], id=node.id) for node in old]
        whole = {sum(len(each.messages()) for each in exchanges(view)[: index + 1]) for index in range(len(view))}
        for end in sorted(whole):
            kept = here.get(old[end - 1].original)
            if kept is None:
                continue
            again, edited = (merge(tree, tree.head, [*view[:end], *more], ids_from(90_000)) for more in ([], [news]))
            assert (again.cursor, again.writes) == (edited.cursor, ()) == (kept, ())
            assert [write.id for write in edited.writes] == ["edit"]
    old, start = olds[-1]
    edited = merge(tree, tree.head, [message(node.id, node.role) for node in old[:start]] + [news], ids_from(95_000))
    assert edited.cursor == tree.parent(first_copy)
    tree.apply(edited)
    left_out = {node.original for node in old[:start]}
    assert not left_out & {node.original for node in tree.path()}
    twice = merge(tree, tree.head, [message(node.id, node.role) for node in old[:start]] + [message("edit2")], sent)
    tree.apply(twice)
    assert [node.id for node in tree.path() if node.written_as != "summary"] == ["edit2"]
