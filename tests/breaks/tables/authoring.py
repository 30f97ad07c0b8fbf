"""What an author is told and what is mended for them: edits, turns side by side, a database."""

from __future__ import annotations

from tests.breaks.entry import Break

BREAKS = (
    Break(
        "mend-uncovers", "config/mending.py",
        "if _kind(each) not in known and each.edit is None]",
        "if False]",
        ("unit/config/test_mending.py",),
        "An edit is made that uncovers a mistake nobody mends.",
    ),
    Break(
        "mend-close", "config/keys/checks/certain.py",
        'return key.replace("-", "").replace("_", "").lower()',
        "return key[:4].lower()",
        ("unit/config/test_mending.py",),
        "A key that is only close is renamed.",
    ),
    Break(
        "mend-twice", "config/keys/checks/certain.py",
        " or (*path[:-1], new) in document.places:",
        ":",
        ("unit/config/test_mending.py::test_what_is_not_certain_stays_as_it_is",
         "unit/config/test_mending.py::test_mending_leaves_fewer_mistakes_of_no_new_kind_and_is_done_at_once"),
        "A key is renamed to one that stands there already.",
    ),
    Break(
        "mend-mode", "agents/mend.py",
        "        os.chmod(beside, rights)\n",
        "",
        ("cli/test_validate.py::test_fix_mends_what_is_certain_in_the_agent_and_its_project",),
        "A mended file loses its rights.",
    ),
    Break(
        "diff-order", "reading/compare/differences.py",
        'SECTIONS = ("configuration", "prompt",',
        'SECTIONS = ("prompt", "configuration",',
        ("unit/reading/compare/test_differences.py", "scenarios/records/test_diff.py"),
        "What follows of a change stands above its cause.",
    ),
    Break(
        "diff-tools-order", "reading/compare/differences.py",
        ' or _order(a["tools"], b["tools"])',
        "",
        ("unit/reading/compare/test_differences.py",),
        "Tools in another order pass for the same.",
    ),
    Break(
        "drift-index", "store/sql/condition.py",
        "for name in sorted(indexes - found_indexes)",
        "for name in ()",
        ("contract/test_database_health.py",),
        "A missing index is not seen.",
    ),
    Break(
        "drift-held", "store/sql/condition.py",
        "            return True\n        writing",
        "            return False\n        writing",
        ("contract/test_database_health.py::test_who_keeps_others_from_writing_is_seen",),
        "Who keeps everybody from writing is not seen.",
    ),
    Break(
        "scenario-text", "scenarios/checked.py",
        "    if complaint is not None:\n",
        "    if False:\n",
        ("unit/scenarios/test_checked.py",),
        "A test without Python passes whatever the text is that it expects.",
    ),
    Break(
        "scenario-plain", "scenarios/checked.py",
        "    if wanted != found:\n",
        "    if False:\n",
        ("unit/scenarios/test_checked.py",),
        "A test without Python passes whatever the state, the queue or the error is.",
    ),
    Break(
        "scenario-count", "scenarios/checked.py",
        "    if wanted != len(found):\n",
        "    if False:\n",
        ("unit/scenarios/test_checked.py",),
        "Calls, requests and messages that a test without Python does not expect go unnoticed.",
    ),
    Break(
        "scenario-event", "scenarios/checked.py",
        "    if missing is not None:\n",
        "    if False:\n",
        ("unit/scenarios/test_checked.py",),
        "A test without Python passes without the events it expects.",
    ),
)  # fmt: skip
