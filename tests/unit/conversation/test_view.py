"""Merging views and composing inputs against the path (C7, C9-C17, C26, C27)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentflow.conversation.known import Paused
from agentflow.conversation.tree import Place
from agentflow.conversation.view import NOT_RUN, Merge, Write, append, merge
from agentflow.errors import InvalidInput
from agentflow.message import Message
from tests.unit.conversation.memory_tree import MemoryTree, asking, message, numbered, result


def talk() -> MemoryTree:
    return MemoryTree().add(None, message("u1"), message("a1", "assistant"), message("u2"), message("a2", "assistant"))


def tools() -> MemoryTree:
    """u1, one reply with two calls, their results, the answer."""
    return MemoryTree().add(
        None,
        message("u1"),
        asking("a1", "c1", "c2"),
        result("r1", "c1"),
        result("r2", "c2"),
        message("a2", "assistant"),
    )


def seen(tree: MemoryTree, *messages: Message | str) -> Merge:
    """The merge of a view, in which a recorded message is written as its id."""
    view = [tree.contents[each] if isinstance(each, str) else each for each in messages]
    return merge(tree, tree.head, view, numbered())


def composed(tree: MemoryTree, *messages: Message) -> Merge:
    return append(tree, tree.head, messages, numbered())


def written(outcome: Merge) -> list[tuple[str, str | None]]:
    return [(write.id, write.copied_from) for write in outcome.writes]


class TestMatching:
    def test_an_edit_of_the_very_first_message_is_a_new_root(self) -> None:
        """B45 (d)."""
        tree = talk()
        tree.apply(seen(tree, message("", content="something else")))
        assert tree.ids() == ["$new1"]
        assert tree.parent(tree.node("$new1")) is None
        assert [node.id for node in tree.path(tree.node("a2"))] == ["u1", "a1", "u2", "a2"]

    def test_an_edit_under_the_id_of_another_branch_continues_there(self) -> None:
        """B45 (e), C9: the match is by id alone."""
        tree = talk().add("u1", message("x1", "assistant"), message("x2"))
        tree.move("a2")
        outcome = seen(tree, "u1", message("x2", content="edited"), message("n1"))
        assert outcome.cursor == tree.node("x2")
        assert written(outcome) == [("n1", None)]

    def test_a_changed_text_under_a_known_id_changes_nothing(self) -> None:
        """B45 (f), C9."""
        tree = talk()
        outcome = seen(tree, "u1", message("a1", "assistant", "changed"), "u2", "a2")
        assert (outcome.writes, outcome.head, outcome.head_moved) == ((), "a2", False)

    def test_resending_everything_with_one_more_message_grows_by_that_message(self) -> None:
        """B47: ten turns, two messages each."""
        tree = MemoryTree()
        for turn in range(10):
            outcome = seen(tree, *tree.ids(), message(f"u{turn}"))
            assert (outcome.new_from, written(outcome)) == (2 * turn, [(f"u{turn}", None)])
            tree.apply(outcome).add(f"u{turn}", message(f"a{turn}", "assistant"))
        assert len(tree.order) == 20

    def test_an_alias_names_its_node(self) -> None:
        """C26: a view that names an answering message names the result it became."""
        tree = tools()
        tree.aliases["said"] = "r2"
        outcome = seen(tree, "u1", "a1", "r1", message("said"), "a2", message("n1"))
        assert outcome.cursor == tree.node("a2")
        assert seen(tree, "u1", message("said")).head == "r2"

    def test_the_news_as_delivered_have_their_ids(self) -> None:
        """C12."""
        tree = talk()
        outcome = seen(tree, "u1", message("", content="edited"), "u2")
        assert [each.id for each in outcome.news] == ["$new1", "$new2"]
        assert [each.content for each in outcome.news] == ["edited", "text"]

    def test_a_copy_keeps_the_turn_of_its_original_and_names_the_first_one(self) -> None:
        """C10, X18."""
        tree = talk()
        tree.apply(seen(tree, message("n1"), "u1"))
        write = merge(tree, tree.head, [message("n2"), message("$new1")], numbered("again")).writes[1]
        assert (write.copied_from, write.message) == ("u1", None)
        original = replace(tree.node("u1"), turn=7)
        assert Write("copy", original=original).turn == 7

    def test_an_empty_view_of_an_empty_path_is_refused(self) -> None:
        """C14."""
        with pytest.raises(InvalidInput, match="conversation is empty"):
            seen(MemoryTree())
        with pytest.raises(InvalidInput, match="conversation is empty"):
            seen(talk().move(None))


class TestCompactedBranch:
    """C15: after a `context.replace` the active path holds copies."""

    @pytest.fixture
    def tree(self) -> MemoryTree:
        return talk().replace("S", "u2", "a2")

    def test_old_ids_with_news_stay_on_the_compacted_branch(self, tree: MemoryTree) -> None:
        tree.apply(seen(tree, "u1", "a1", "u2", "a2", message("u3")))
        assert tree.ids() == ["S", "S-1", "S-2", "u3"]

    def test_old_ids_without_news_stay_there_too(self, tree: MemoryTree) -> None:
        whole = seen(tree, "u1", "a1", "u2", "a2")
        assert (whole.writes, whole.head, whole.head_moved) == ((), "S-2", False)
        again = seen(tree, "u1", "a1", "u2")
        assert (again.writes, again.head, again.head_moved) == ((), "S-1", True)

    def test_what_a_replace_left_out_directly_before_its_first_copy_means_the_summary(self, tree: MemoryTree) -> None:
        """An edit of the first kept message, twice."""
        for edited in ("e1", "e2"):
            tree.apply(seen(tree, "u1", "a1", message(edited)))
            assert tree.ids() == ["S", edited]

    def test_a_view_that_ends_before_the_first_copy_has_its_answer(self, tree: MemoryTree) -> None:
        """C13: everything kept was deleted; what was left out stays out."""
        outcome = seen(tree, "u1", "a1")
        assert (outcome.head, outcome.head_moved, outcome.ends_with) == ("S", True, tree.node("a1"))
        tree.apply(outcome)
        tree.apply(seen(tree, "u1", "a1", message("new")))
        assert tree.ids() == ["S", "new"]

    def test_after_a_reset_the_empty_root_stands_for_what_was_left_out(self) -> None:
        tree = talk().replace(None, "u2", "a2")
        for edited in ("e1", "e2"):
            tree.apply(seen(tree, "u1", "a1", message(edited)))
            assert tree.ids() == [edited]
        outcome = seen(tree, "u1", "a1")
        assert (outcome.head, outcome.head_moved, outcome.ends_with) == (None, True, tree.node("a1"))
        tree.apply(outcome)
        view = [tree.contents["u1"], tree.contents["a1"], message("e3")]
        tree.apply(merge(tree, tree.head, view, numbered(), root=tree.root))
        assert tree.ids() == ["e3"]

    def test_hidden_messages_before_the_first_copy_are_not_missed(self) -> None:
        tree = MemoryTree().add(None, message("u1"), message("a1", "assistant"), message("h", hidden=True))
        tree.add("h", message("a2", "assistant")).replace("S", "a2")
        assert seen(tree, "u1", "a1", message("e")).place == tree.node("S").place

    def test_a_kept_message_may_have_been_a_copy_that_news_made(self) -> None:
        tree = talk()
        tree.apply(seen(tree, message("n1"), "u2", "a2")).replace(None, "$new1", "$new2")
        assert seen(tree, "n1", message("e")).place == Place(tree.path()[0].place.branch, 0)

    def test_copies_that_news_made_are_not_meant(self) -> None:
        """C10, C15."""
        tree = talk()
        tree.apply(seen(tree, message("root"), "u2", "a2"))
        assert seen(tree, "u1", "a1", "u2", "a2", message("n")).cursor == tree.node("a2")
        assert seen(tree, "u1", "a1", message("n")).cursor == tree.node("a1")

    def test_an_id_that_was_summarized_away_means_itself(self, tree: MemoryTree) -> None:
        outcome = seen(tree, "u1", message("edit"))
        assert outcome.cursor == tree.node("u1")

    def test_a_copy_of_a_copy_is_found_by_either_old_id(self, tree: MemoryTree) -> None:
        tree.replace("T", "S-2")
        for old in ("a2", "S-2"):
            assert seen(tree, message(old, "assistant"), message("n")).cursor == tree.node("T-1")
        for left_out in ("u2", "S-1"):
            assert seen(tree, message(left_out), message("n")).cursor == tree.node("T")

    def test_a_node_on_the_active_path_is_not_replaced_by_a_later_copy_of_it(self) -> None:
        """An edit after the first message must branch there, though a copy of it stands further down."""
        tree = MemoryTree().add(None, message("u1"), message("a1", "assistant"))
        tree.apply(seen(tree, "u1", message("n1"), "u1"))
        assert seen(tree, "u1", message("n2")).cursor == tree.node("u1")


class TestHiddenMessages:
    """C14, D32: a continuation belongs to the place before it."""

    @pytest.fixture
    def tree(self) -> MemoryTree:
        tree = MemoryTree().add(None, message("u1"), message("a1", "assistant"), message("h1", hidden=True))
        return tree.add("h1", message("a2", "assistant"), message("h2", hidden=True), message("a3", "assistant"))

    @pytest.mark.parametrize(("seen_ids", "cursor"), [(["u1"], "u1"), (["u1", "a1"], "h1"), (["u1", "a1", "a2"], "h2")])
    def test_a_view_without_the_last_visible_reply_ends_after_what_was_hidden(
        self, tree: MemoryTree, seen_ids: list[str], cursor: str
    ) -> None:
        outcome = seen(tree, *seen_ids)
        assert (outcome.head, outcome.head_moved, outcome.writes) == (cursor, True, ())

    def test_the_whole_view_changes_nothing(self, tree: MemoryTree) -> None:
        assert seen(tree, "u1", "a1", "a2", "a3").head_moved is False

    def test_news_go_under_the_visible_message(self, tree: MemoryTree) -> None:
        assert seen(tree, "u1", "a1", message("n")).cursor == tree.node("a1")

    def test_hidden_messages_of_another_branch_are_not_in_the_way(self, tree: MemoryTree) -> None:
        tree.add("u1", message("other", "assistant"), message("h3", hidden=True))
        assert seen(tree, "u1", "a1").head == "a1"

    def test_the_same_holds_on_a_compacted_branch(self, tree: MemoryTree) -> None:
        tree.replace("S", "a2", "h2", "a3")
        assert seen(tree, "u1", "a1", "a2").head == "S-2"


class TestFieldsOfTheEngine:
    """Z6: what a read adds is ignored on a recorded message and refused on a new one."""

    @pytest.mark.parametrize("field", [{"hidden": True}, {"summary": True}, {"copied_from": "u1"}])
    def test_marks_of_a_new_message_are_refused_and_those_of_a_known_one_ignored(self, field: dict[str, Any]) -> None:
        tree = talk()
        known = [message(id, role, **field) for id, role in (("u1", "user"), ("a1", "assistant"))]
        outcome = merge(tree, tree.head, [*known, message("n")], numbered())
        assert [write.message for write in outcome.writes] == [message("n")]
        (name,) = field
        with pytest.raises(InvalidInput, match=rf"messages\[2\]\.{name}") as refused:
            merge(tree, tree.head, [*known, message("n", **field)], numbered())
        assert refused.value.detail == {"field": f"messages[2].{name}"}
        with pytest.raises(InvalidInput, match=name):
            append(tree, tree.head, [message("n", **field)], numbered())


class TestWholeExchanges:
    """C16."""

    def test_a_result_without_id_is_the_recorded_result_of_its_call(self) -> None:
        tree = tools()
        outcome = seen(tree, "u1", "a1", result("", "c1"), result("other", "c2"), "a2", message("n1"))
        assert (outcome.new_from, written(outcome)) == (5, [("n1", None)])

    def test_of_several_results_the_one_on_the_active_path_is_meant_then_the_oldest(self) -> None:
        tree = MemoryTree().add(None, message("u1"), asking("a1", "c1"), result("old", "c1"))
        tree.add("a1", result("newer", "c1"), message("a2", "assistant"))
        assert seen(tree, "u1", "a1", result("", "c1")).head == "newer"
        tree.move("u1")
        assert seen(tree, "u1", "a1", result("", "c1")).head == "old"

    def test_a_client_that_numbers_its_calls_afresh_names_the_next_result_of_that_number(self) -> None:
        tree = MemoryTree().add(
            None,
            message("u1"),
            asking("a1", "call_1"),
            result("r1", "call_1"),
            message("u2"),
            asking("a2", "call_1"),
            result("r2", "call_1"),
        )
        assert seen(tree, "u1", "a1", result("", "call_1"), "u2", "a2", result("", "call_1")).head == "r2"
        assert seen(tree, "u1", "a1", result("", "call_1")).head == "r1"

    def test_a_new_call_under_a_used_number_keeps_its_own_result(self) -> None:
        tree = MemoryTree().add(None, message("u1"), asking("a1", "call_1"), result("r1", "call_1", "Paris"))
        for compose in (merge, append):
            news = [message("u9"), asking("a9", "call_1"), result("", "call_1", "Rome")]
            outcome = compose(tree, tree.head, news, numbered())
            assert [w.message.content for w in outcome.writes if w.message and w.role == "tool"] == ["Rome"]

    def test_a_cut_into_an_exchange_gets_copies_of_the_missing_results_first(self) -> None:
        tree = tools()
        outcome = seen(tree, "u1", "a1", "r1", message("n1"))
        assert outcome.new_from == 3
        assert written(outcome) == [("$new1", "r2"), ("n1", None)]
        outcome = seen(tree, "u1", "a1", message("n1"))
        assert written(outcome) == [("$new1", "r1"), ("$new2", "r2"), ("n1", None)]
        assert [each.id for each in outcome.news] == ["n1"]

    def test_a_call_that_never_ran_gets_the_placeholder(self) -> None:
        tree = MemoryTree().add(None, message("u1"), asking("a1", "c1"))
        outcome = seen(tree, "u1", "a1", message("n1"))
        placeholder = outcome.writes[0].message
        assert placeholder == Message("$new1", "tool", NOT_RUN, tool_call_id="c1")

    def test_the_result_of_another_exchange_with_the_same_call_id_is_not_copied(self) -> None:
        tree = MemoryTree().add(None, message("u1"), asking("a1", "c1"), result("r1", "c1"))
        tree.add("u1", asking("b1", "c1"))
        first = seen(tree, "u1", "b1", message("n1")).writes[0]
        assert first.message is not None
        assert first.message.content == NOT_RUN

    def test_a_late_result_in_the_news_answers_the_open_call(self) -> None:
        tree = MemoryTree().add(None, message("u1"), asking("a1", "c1", "c2"))
        outcome = seen(tree, "u1", "a1", result("late", "c2"))
        assert written(outcome) == [("$new1", None), ("late", None)]
        assert [write.tool_call_id for write in outcome.writes] == ["c1", "c2"]

    def test_a_view_that_stops_inside_an_exchange_moves_there_and_completes_it(self) -> None:
        """The turn that follows must read whole exchanges."""
        tree = tools()
        outcome = seen(tree, "u1", "a1")
        assert (outcome.head_moved, outcome.cursor, outcome.new_from) == (True, tree.node("a1"), 2)
        assert written(outcome) == [("$new1", "r1"), ("$new2", "r2")]

    def test_a_message_after_a_move_into_an_exchange_completes_it_first(self) -> None:
        tree = tools().move("r1")
        outcome = composed(tree, message("n1"))
        assert written(outcome) == [("$new1", "r2"), ("n1", None)]
        assert outcome.new_from == 3

    def test_a_whole_exchange_in_the_news_is_copied(self) -> None:
        tree = tools()
        outcome = seen(tree, message("e1"), "a1", result("", "c1"), "r2", "a2")
        assert [copy for _, copy in written(outcome)] == [None, "a1", "r1", "r2", "a2"]

    @pytest.mark.parametrize(
        ("view", "named"),
        [
            ([message("n"), asking("a", "c7")], "c7"),
            ([message("n"), asking("a", "c7"), message("n2")], "c7"),
            ([message("n"), asking("a", "c7", "c8"), result("", "c8")], "c7"),
            ([message("n"), result("", "c7")], "c7"),
            ([message("n"), asking("a", "c7"), result("", "c7"), result("", "c7")], "c7"),
            ([message("n"), asking("a", "c7"), result("", "c7"), message("m"), result("", "c7")], "c7"),
            ([message("n"), asking("a", "c7"), result("", "c7"), message("m"), result("", "c8")], "c8"),
        ],
    )
    def test_news_that_split_an_exchange_are_refused_by_the_calls_name(self, view: list[Message], named: str) -> None:
        with pytest.raises(InvalidInput, match=f"'{named}'") as refused:
            seen(tools(), *view)
        assert refused.value.detail == {"tool_call_id": named}
        with pytest.raises(InvalidInput, match=f"'{named}'"):
            composed(MemoryTree(), *view)


class TestAppending:
    """C7, C12."""

    def test_a_recorded_id_is_dropped_wherever_it_was_recorded(self) -> None:
        tree = talk().add("u1", message("x1", "assistant"))
        outcome = composed(tree, message("u2"), message("n1"), message("a2", "assistant"))
        assert (written(outcome), outcome.new_from) == ([("n1", None)], 2)

    def test_nothing_new_leaves_the_head_without_an_event(self) -> None:
        tree = talk()
        outcome = composed(tree, message("u1"))
        assert (outcome.writes, outcome.head, outcome.head_moved, outcome.new_from) == ((), "a2", False, 4)

    def test_a_recorded_result_is_dropped_with_its_call(self) -> None:
        tree = tools()
        outcome = composed(tree, tree.contents["a1"], result("", "c1"), result("", "c2"), message("n1"))
        assert written(outcome) == [("n1", None)]

    def test_a_second_new_id_in_one_input_gets_a_fresh_one(self) -> None:
        outcome = composed(talk(), message("c1"), message("c1", content="b"))
        assert [(write.id, write.message.content) for write in outcome.writes if write.message] == [
            ("c1", "text"),
            ("$new1", "b"),
        ]

    def test_a_known_message_on_an_emptied_path_is_refused(self) -> None:
        with pytest.raises(InvalidInput, match="conversation is empty"):
            composed(talk().move(None), message("u1"))


class TestPendingQuestion:
    """C26, C27: a turn waits at the head for the answer to `ask_user`."""

    @pytest.fixture
    def tree(self) -> MemoryTree:
        tree = MemoryTree().add(None, message("u1"), asking("a1", "look", "ask"), result("r1", "look"))
        tree.questions.add("r1")
        return tree

    def test_user_messages_at_the_question_are_the_answer(self, tree: MemoryTree) -> None:
        for outcome in (
            composed(tree, message("n1", content="Pro"), message("", content="please")),
            seen(tree, "u1", "a1", "r1", message("n1", content="Pro"), message("", content="please")),
        ):
            assert (bool(outcome.paused), outcome.writes, outcome.head) == (True, (), "r1")
            assert [(each.id, each.content) for each in outcome.news] == [("n1", "Pro"), ("", "please")]

    def test_other_roles_at_the_question_are_refused(self, tree: MemoryTree) -> None:
        with pytest.raises(InvalidInput, match="question is pending"):
            seen(tree, "u1", "a1", "r1", message("n1"), message("n2", "assistant"))
        with pytest.raises(InvalidInput, match="question is pending"):
            composed(tree, result("", "ask"))

    def test_a_view_that_adds_nothing_leaves_the_question_pending(self, tree: MemoryTree) -> None:
        for outcome in (seen(tree, "u1", "a1", "r1"), seen(tree)):
            assert (bool(outcome.paused), outcome.news, outcome.writes, outcome.head_moved) == (True, (), (), False)

    def test_a_view_that_branches_earlier_runs_and_leaves_the_question_open(self, tree: MemoryTree) -> None:
        outcome = seen(tree, "u1", message("n1"))
        assert (outcome.paused, written(outcome)) == (None, [("n1", None)])
        tree.apply(outcome)
        back = seen(tree, "u1", "a1", "r1")
        assert (bool(back.paused), back.head_moved, back.head) == (True, True, "r1")
        answer = seen(tree, "u1", "a1", "r1", message("n2", content="yes"))
        assert ([each.content for each in answer.news], answer.head_moved) == (["yes"], True)

    def test_a_question_off_the_exchange_pauses_too(self) -> None:
        """T22: the planner asks while the path ends in the user's message."""
        tree = MemoryTree().add(None, message("u1"))
        tree.questions.add("u1")
        assert composed(tree, message("n1", content="yes")).paused


class TestAtCallsOfTheClient:
    """C39: results come in any order, from whoever shows the calls."""

    @pytest.fixture
    def tree(self) -> MemoryTree:
        tree = MemoryTree().add(None, message("u1"), asking("a1", "look", "show", "pick"), result("r1", "look"))
        tree.clients.add("r1")
        return tree

    @pytest.mark.parametrize("prefix", [("u1", "a1"), ("u1", "a1", "r1")])
    def test_a_view_is_at_the_pause_anywhere_in_the_exchange(self, tree: MemoryTree, prefix: tuple[str, ...]) -> None:
        outcome = seen(tree, *prefix, result("n1", "show"))
        assert outcome.paused == Paused("tools", tree.node("r1").place)
        assert ([each.id for each in outcome.news], outcome.writes) == (["n1"], ())

    def test_results_that_are_recorded_come_along_and_are_no_news(self, tree: MemoryTree) -> None:
        outcome = seen(tree, "u1", "a1", result("n1", "show"), "r1", message("n2"))
        assert [each.id for each in outcome.news] == ["n1", "n2"]

    def test_other_roles_than_tool_and_user_are_refused(self, tree: MemoryTree) -> None:
        with pytest.raises(InvalidInput, match="left to the client"):
            composed(tree, message("n1", "assistant"))

    def test_a_view_that_branches_before_the_exchange_leaves_the_pause(self, tree: MemoryTree) -> None:
        assert seen(tree, "u1", message("n1")).paused is None
