"""What a chat shows of a session."""

from __future__ import annotations

from typing import Any

from cli.chat.views import (
    branch_lines,
    branches,
    call_lines,
    context_lines,
    first_words,
    question_lines,
    queue_lines,
    user_messages,
)

CONTEXT: dict[str, Any] = {
    "window": 1000,
    "tokens": 250,
    "sections": [{"name": "history", "tokens": 200, "chars": 800}],
    "room": [],
}
ROOM = {
    "by": "strategy[0]", "use": "summarize", "tokens": 250, "threshold": 200, "idle_secs": None, "due": True,
    "summarized": 4, "kept": 2, "tokens_after": 90,
}  # fmt: skip


def _node(identifier: str, parent: str | None, role: str = "user") -> dict[str, Any]:
    message = {"id": identifier, "role": role, "content": f"text of {identifier}"}
    return {"message": message, "parent_id": parent, "copied_from": None, "turn_id": None}


def test_a_branch_is_told_by_what_it_has_for_itself() -> None:
    """C2: the head, and every leaf beside it."""
    nodes = [_node("u1", None), _node("a1", "u1"), _node("u2", "a1"), _node("u3", "a1"), _node("a3", "u3")]
    found = branches({"head_id": "a3", "nodes": nodes})
    assert [(each["id"], each["is_head"], each["messages"], each["words"]) for each in found] == [
        ("u2", False, 1, "user: text of u2"),
        ("a3", True, 2, "user: text of u3"),
    ]
    assert list(branch_lines(found)) == [
        "  1. 1 message, user: text of u2",
        "* 2. 2 messages, user: text of u3",
        "/branch N goes to one of them",
    ]


def test_a_head_above_the_leaves_is_one_of_them() -> None:
    nodes = [_node("u1", None), _node("a1", "u1")]
    assert [each["id"] for each in branches({"head_id": "u1", "nodes": nodes})] == ["u1", "a1"]
    assert branches({"head_id": None, "nodes": []}) == []


def test_the_context_says_how_full_it_is_and_what_would_go() -> None:
    """X8: the size, its parts, when room is made, and how much of the conversation that takes."""
    lines = list(context_lines({**CONTEXT, "room": [ROOM]}))
    assert lines[0] == f"250 of 1,000 tokens [{'#' * 8}{'.' * 22}] 25 %"
    assert "history" in lines[1]
    assert "200 tokens" in lines[1]
    assert lines[2] == (
        "strategy[0]: summarize above 200 tokens, due before the next call; "
        "4 messages would go and 2 stay (about 90 tokens)"
    )
    later = {**ROOM, "due": False, "summarized": 0, "threshold": None, "idle_secs": 60.0}
    assert list(context_lines({**CONTEXT, "room": [later]}))[2] == (
        "strategy[0]: summarize after 60 s without a message, now 250; nothing would go yet"
    )
    assert "not known" in next(context_lines({**CONTEXT, "window": None}))


def test_the_queue_says_what_waits_and_what_can_be_done() -> None:
    """C21."""
    waiting = [{"kind": "client.message", "texts": ["a\nb", "c"], "turn_id": "t"}]
    running = {"queue": waiting, "status": "running", "pending": False}
    assert list(queue_lines(running)) == [
        "  1. a b / c",
        "they run when the turn has ended; /queue drop N takes one back",
    ]
    assert "/queue run" in list(queue_lines({**running, "status": "idle"}))[-1]
    assert list(queue_lines({**running, "queue": []})) == ["nothing waits"]


def test_a_question_shows_its_options_by_number() -> None:
    question = {
        "header": "Plan", "question": "Which?", "multi_select": True,
        "options": [{"label": "Pro\nfake", "description": "for\nteams"}, {"label": "Free"}],
    }  # fmt: skip
    assert list(question_lines(question)) == [
        "Plan: Which?", "  1. Pro fake: for teams", "  2. Free", "numbers (1,2), or your own words",
    ]  # fmt: skip
    assert list(question_lines({**question, "options": []})) == ["Plan: Which?"]


def test_a_call_shows_all_of_its_arguments_and_hides_nothing_in_them() -> None:
    """F42: zero-width, bidirectional and tag characters are written out, however long the arguments are."""
    harm = "rm -rf /"
    arguments = {"text": "a\u200bb\u202ec\U000e0100\x1b" + " " * 3000 + harm}
    lines = list(call_lines({"name": "shell", "arguments": arguments}))
    assert "characters of arguments" in lines[0]
    assert r"a\u200bb\u202ec\ue0100\u001b" in lines[1]
    assert harm in lines[1]


def test_the_first_words_are_one_line_and_short() -> None:
    assert first_words("a\n b\x1b[2J") == "a b[2J"
    assert first_words("x" * 10_000_000, 10) == "x" * 7 + "..."
    assert first_words([{"type": "text", "text": "see"}, {"type": "image_url"}]) == "see [image_url]"
    assert first_words(None) == ""


def test_hidden_messages_are_not_the_users() -> None:
    roles = [{"role": "user"}, {"role": "assistant"}, {"role": "user", "hidden": True}, {"role": "user"}]
    assert user_messages(roles) == [0, 3]
