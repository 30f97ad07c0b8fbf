"""What every store promises of reads: paths, trees, steps, sessions (C2, C5, X18, R4, T29)."""

from __future__ import annotations

from decimal import Decimal

from agentflow import events
from agentflow.conversation.tree import Node, Place
from agentflow.message import Message, ToolCall, Usage
from agentflow.store.records import PathEntry
from agentflow.store.requests import ListSessions
from agentflow.store.rows import changes, inserts
from agentflow.store.rows.messages import copy_row, message_row
from agentflow.text import compact_json
from tests.contract.book import NOW, Book, Turn, assistant, ended, user


def ids(path: list[PathEntry]) -> list[str]:
    return [entry.message.id for entry in path]


def test_a_path_runs_through_the_branches_it_forked_from(book: Book) -> None:
    """C2, C5: siblings below a fork are not on it."""

    async def test() -> None:
        turn = await book.begin()
        await book.say(turn, *(user("x", f"a{depth}") for depth in range(1, 5)))
        await fork(book, turn, 2, Place(1, 2), "b3", "b4", "b5")
        await fork(book, turn, 3, Place(2, 4), "c5")
        read = book.store.path
        assert ids(await read(turn.key, Place(1, 4), lean_before=None)) == ["a1", "a2", "a3", "a4"]
        assert ids(await read(turn.key, Place(2, 5), lean_before=None)) == ["a1", "a2", "b3", "b4", "b5"]
        assert ids(await read(turn.key, Place(3, 5), lean_before=None)) == ["a1", "a2", "b3", "b4", "c5"]
        assert ids(await read(turn.key, Place(1, 1), lean_before=None)) == ["a1"]
        assert await read(turn.key, None, lean_before=None) == []

    book.run(test)


def test_a_message_comes_back_as_it_was_written(book: Book) -> None:
    """C1, T15: parts, calls, results, provider data, hidden marks."""
    written = (
        Message("1", "user", [{"type": "text", "text": "ü"}, {"type": "image", "url": "u"}]),
        Message("2", "assistant", None, (ToolCall("c", "f", '{"a": 1}'),), provider={"model": "m", "thinking": ["x"]}),
        Message("3", "tool", "result", (), "c", "f"),
        Message("4", "user", "continue", hidden=True),
        Message("5", "assistant", ""),
    )

    async def test() -> None:
        turn = await book.begin()
        await book.say(turn, *written)
        read = await book.store.path(turn.key, turn.head, lean_before=None)
        assert tuple(entry.message for entry in read) == written
        assert [entry.place for entry in read] == [Place(1, depth) for depth in range(1, 6)]
        assert {entry.turn for entry in read} == {turn.number}

    book.run(test)


def test_a_lean_path_leaves_out_results_and_bare_calls_of_earlier_turns(book: Book) -> None:
    """R4."""

    async def test() -> None:
        for number in (1, 2):
            turn = await book.begin()
            call = ToolCall(f"c{number}", "f", "{}")
            reply = Message(f"reply{number}", "assistant", None, (call,))
            result = Message(f"tool{number}", "tool", "r", (), call.id, "f")
            answer = Message(f"answer{number}", "assistant", "a")
            await book.say(turn, user("q", f"user{number}"), reply, result, answer)
            if number == 1:
                await book.end(turn, ended(turn))
        lean = await book.store.path(turn.key, turn.head, lean_before=2)
        assert ids(lean) == ["user1", "answer1", "user2", "reply2", "tool2", "answer2"]

    book.run(test)


def test_a_copy_is_read_with_the_content_of_its_original(book: Book) -> None:
    """X18, C10: the copy's row stores no content, and keeps its original's turn."""

    async def test() -> None:
        turn = await book.begin()
        original = Message("o", "assistant", "text", (ToolCall("c", "f", "{}"),), provider={"model": "m"})
        await book.say(turn, original, Message("r", "tool", "result", (), "c", "f"))
        await book.end(turn, ended(turn))
        later = await book.begin()
        nodes = [Node("o", Place(1, 1), "assistant", ("c",), None, 1), Node("r", Place(1, 2), "tool", (), "c", 1)]
        copies = [copy_row(f"copy-{node.id}", node, 2, at, later.number, 2) for at, node in enumerate(nodes, 1)]
        assert [copy.content for copy in copies] == [None, None]
        await book.append(later, [inserts.InsertBranch(2, None, 0), *copies])
        first, second = await book.store.path(later.key, Place(2, 2), lean_before=None)
        assert first.message == Message("copy-o", "assistant", "text", original.tool_calls, provider={"model": "m"})
        assert second.message == Message("copy-r", "tool", "result", (), "c", "f")
        assert (first.turn, second.turn) == (1, 1)
        tree = await book.store.tree(later.key)
        assert [node.copied_from for node in tree.nodes] == [None, None, "o", "r"]

    book.run(test)


def test_the_tree_has_every_node_under_its_parent(book: Book) -> None:
    """C1: several roots, branches of branches; a sub-agent's own tree is not the session's."""

    async def test() -> None:
        turn = await book.begin()
        await book.say(turn, user("x", "a1"), user("x", "a2"))
        await fork(book, turn, 2, Place(1, 1), "b2", "b3")
        await fork(book, turn, 3, None, "r1")
        child = [inserts.InsertBranch(4, None, 0, 2), message_row(user("x", "child"), 4, 1, turn.number, 2)]
        await book.append(turn, child)
        turn.head = Place(2, 3)
        await book.append(turn, [])
        tree = await book.store.tree(turn.key)
        assert {node.message.id: node.parent_id for node in tree.nodes} == {
            "a1": None, "a2": "a1", "b2": "a1", "b3": "b2", "r1": None,
        }  # fmt: skip
        assert tree.head_id == "b3"
        assert {node.turn_id for node in tree.nodes} == {turn.id}

    book.run(test)


def test_a_step_has_all_a_result_needs(book: Book) -> None:
    """R5, X6: the answer is what the user saw of the message."""

    async def test() -> None:
        turn = await book.begin()
        answer = assistant("seen<ABORTED BY USER>")
        await book.say(turn, user("q"), answer)
        await book.end(turn, ended(turn, answer=answer, chars=4))
        found = await book.store.step(turn.key, turn.id)
        assert found is not None
        assert (found.number, found.turn, found.turn_id) == (1, 1, turn.id)
        assert (found.turn_state, found.state) == ("done", "done")
        assert (found.answer, found.first_token_ms, found.opened_at, found.completed_at) == ("seen", 7, NOW, NOW)
        assert found.usage == Usage(1, 2, None, None, Decimal("0.5"))
        assert (found.limit, found.error, found.done_seq) == (None, None, None)
        assert await book.store.step(turn.key, "no such turn") is None

    book.run(test)


def test_an_answer_of_no_characters_is_none(book: Book) -> None:
    """T24: the stop marker alone is no answer."""

    async def test() -> None:
        turn = await book.begin()
        answer = assistant("<ABORTED BY USER>")
        await book.say(turn, answer)
        await book.end(turn, ended(turn, answer=answer, chars=0))
        found = await book.store.step(turn.key, turn.id)
        assert found is not None
        assert found.answer is None

    book.run(test)


def test_the_last_step_of_a_turn_and_its_last_done_are_found(book: Book) -> None:
    """T42: a turn that was paused has several steps and a `done` for each."""

    async def test() -> None:
        turn = await book.begin()
        pause = events.done(turn.id, None, "paused_ask_user", 1)
        await book.append(turn, [inserts.InsertStep(2, turn.number, "running", NOW, None)], [pause])
        end = events.done(turn.id, None, "done", 2)
        ends = [
            changes.EndTurn(
                "done", NOW, compact_json({"code": "x"}), "max_cost", None, None, None, None, None, 1, "running"
            )
        ]
        await book.end(turn, ends, [end, events.plain("session.named", {"name": "n"})])
        found = await book.store.step(turn.key, turn.id)
        assert found is not None
        assert (found.number, found.done_seq, found.limit, found.error) == (2, 3, "max_cost", {"code": "x"})
        assert [step.number for step in await book.store.steps(turn.key)] == [1, 2]

    book.run(test)


def test_sessions_are_listed_by_last_use_and_agent(book: Book) -> None:
    async def test() -> None:
        agent, other = f"agent-{book.session_id}", f"other-{book.session_id}"
        for name, of, at in (("a", agent, 1), ("b", agent, 3), ("c", other, 4), ("d", agent, 2)):
            await book.begin(f"{book.session_id}-{name}", agent=of, at=NOW + at)
        found = (await book.store.sessions(ListSessions(agent))).sessions
        assert [record.id[-1] for record in found] == ["b", "d", "a"]
        assert (await book.store.sessions(ListSessions("nobody"))).sessions == []
        everybody = (await book.store.sessions(ListSessions(limit=1_000_000))).sessions
        own = [record.id[-1] for record in everybody if record.agent in (agent, other)]
        assert own == ["c", "b", "d", "a"]

    book.run(test)


def test_a_page_says_what_follows_and_a_session_used_meanwhile_keeps_its_place(book: Book) -> None:
    """D19, F30: every session once, in the order they had as the list was begun; equal times go by their number."""

    async def test() -> None:
        agent = f"agent-{book.session_id}"
        turns = [await book.begin(f"{book.session_id}-{name}", agent=agent, at=NOW) for name in "abcde"]
        await book.begin(f"{book.session_id}-f", agent=agent, at=NOW + 1)
        asked: ListSessions | None = ListSessions(agent, limit=2, moment=NOW + 1)
        pages, more = [], []
        while asked is not None:
            page = await book.store.sessions(asked)
            pages.append([record.id[-1] for record in page.sessions])
            more.append(page.more)
            asked = page.following
            if len(pages) == 1:  # one that was shown and one that was not are used, and one is new
                for turn in (turns[4], turns[0]):
                    await book.end(turn, ended(turn), [events.plain("session.named", {"name": "n"})], at=NOW + 5)
                await book.begin(f"{book.session_id}-g", agent=agent, at=NOW + 9)
        assert (pages, more) == ([["f", "e"], ["d", "c"], ["b", "a"]], [4, 2, 0])

    book.run(test)


def test_an_unknown_session_reads_as_none(book: Book) -> None:
    async def test() -> None:
        assert await book.store.session("no such session") is None
        assert await book.store.events("no such session", 0) == []

    book.run(test)


async def fork(book: Book, turn: Turn, number: int, at: Place | None, *names: str) -> None:
    """A branch with messages under a place; null: another root."""
    parent, depth = at if at is not None else (None, 0)
    placed = [
        message_row(user("x", name), number, depth + offset, turn.number, turn.number)
        for offset, name in enumerate(names, 1)
    ]
    await book.append(turn, [inserts.InsertBranch(number, parent, depth), *placed])
