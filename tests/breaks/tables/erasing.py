"""What `observability: false` takes away."""

from __future__ import annotations

from tests.breaks.entry import Break

BREAKS = (
    Break(
        "erase-message", "store/ended/erase.py",
        '"message", ',
        "",
        ("contract/test_store_erase.py",),
        "Rows of message stay.",
        unnoticed="Every message of a turn belongs to one of its executions, whose messages are erased anyway.",
    ),
    Break(
        "erase-execution", "store/ended/erase.py",
        '("message", "execution", ',
        '("message", ',
        ("contract/test_store_erase.py::test_an_erased_turn_keeps_its_id_its_steps_and_its_questions",),
        "Rows of execution stay.",
    ),
    Break(
        "erase-llm_call", "store/ended/erase.py",
        '"llm_call", ',
        "",
        ("contract/test_store_erase.py::test_an_erased_turn_keeps_its_id_its_steps_and_its_questions",),
        "Rows of llm_call stay.",
    ),
    Break(
        "erase-tool_call", "store/ended/erase.py",
        '"tool_call", ',
        "",
        ("contract/test_store_erase.py::test_an_erased_turn_keeps_its_id_its_steps_and_its_questions",),
        "Rows of tool_call stay.",
    ),
    Break(
        "erase-todo_list", "store/ended/erase.py",
        '"todo_list", ',
        "",
        ("contract/test_store_erase.py::test_an_erased_turn_keeps_its_id_its_steps_and_its_questions",),
        "Rows of todo_list stay.",
    ),
    Break(
        "erase-state", "store/ended/erase.py",
        ', "state_version"',
        "",
        ("contract/test_store_erase.py",),
        "The agent's state stays.",
    ),
    Break(
        "erase-copies", "store/ended/erase.py",
        "    tx.execute(_COPIES, key, key, turn)\n",
        "",
        ("scenarios/test_observability.py::test_nothing_stays_of_what_a_compaction_copied",),
        "What a compaction copied stays.",
    ),
    Break(
        "erase-request", "store/ended/erase.py",
        '"UPDATE turn SET request = NULL, tools_hash',
        '"UPDATE turn SET tools_hash',
        ("contract/test_store_erase.py",),
        "What the request said beside its messages stays.",
    ),
    Break(
        "erase-tools", "store/ended/erase.py",
        "tools_hash = NULL, plan",
        "plan",
        ("contract/test_store_erase.py",),
        "The client's tools stay.",
    ),
    Break(
        "erase-plan", "store/ended/erase.py",
        "plan = NULL, ",
        "",
        ("contract/test_store_erase.py",),
        "The plan of a turn stays.",
    ),
    Break(
        "erase-answer", "store/ended/erase.py",
        "answer_id = NULL, answer_chars",
        "answer_chars",
        ("contract/test_store_erase.py",),
        "A step names an answer that is gone.",
    ),
    Break(
        "erase-hook-error", "store/ended/erase.py",
        "UPDATE hook_run SET error = NULL WHERE",
        "UPDATE hook_run SET error = error WHERE",
        ("scenarios/test_hooks.py::test_without_observability_nothing_of_what_a_hook_said_stays",),
        "What a hook failed with stays.",
    ),
    Break(
        "erase-alias", "store/ended/erase.py",
        "kind = 'message' AND NOT",
        "kind = 'x' AND NOT",
        ("scenarios/test_observability.py::test_a_view_that_names_what_was_erased_is_new",),
        "Names of erased messages stay.",
    ),
    Break(
        "erase-blob", "store/ended/erase.py",
        '"DELETE FROM blob WHERE session_key = ? "',
        '"DELETE FROM blob WHERE session_key = ? AND 1 = 0 "',
        ("contract/test_store_erase.py::test_an_erased_turn_keeps_its_id_its_steps_and_its_questions",),
        "Prompts of erased turns stay.",
    ),
    Break(
        "erase-event", "store/ended/erase.py",
        "value if name in _EVENT_KEYS_KEPT else None",
        "value",
        ("contract/test_store_erase.py::test_the_texts_of_its_events_read_as_null",),
        "Texts stay in the log.",
    ),
    Break(
        "erase-head", "store/ended/erase.py",
        "UPDATE session SET branch = NULL, depth = NULL",
        "UPDATE session SET branch = branch, depth = depth",
        ("contract/test_store_erase.py::test_an_erased_turn_keeps_its_id_its_steps_and_its_questions",),
        "The head names a message that is gone.",
    ),
)  # fmt: skip
