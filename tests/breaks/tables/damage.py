"""Damaged rows: found, told, and not written on."""

from __future__ import annotations

from tests.breaks.entry import Break

_ROWS = "cli/test_damaged_rows.py"

BREAKS = (
    Break(
        "damage-unseen", "store/damage/search.py",
        "            wanted = wanted or misfit(table.name, column, value)\n",
        "",
        (f"{_ROWS}::test_the_damaged_row_is_named_and_what_to_do",),
        "What a column holds is not looked at.",
    ),
    Break(
        "damage-pointers", "store/damage/pointers.py",
        'f"{something}{where} AND NOT EXISTS "',
        'f"{something}{where} AND EXISTS "',
        (f"{_ROWS}::test_check_finds_nothing_in_what_we_wrote",),
        "Rows that are there are missed.",
    ),
    Break(
        "damage-session-row", "store/session/session_row.py",
        "        session._refuse_damaged()\n",
        "",
        (f"{_ROWS}::test_the_damaged_row_is_named_and_what_to_do",),
        "A turn is written on from a damaged head.",
    ),
    Break(
        "damage-cycle", "conversation/tree.py",
        "branch.parent >= branch.number:",
        "branch.parent > branch.number + 9:",
        (f"{_ROWS}::test_the_damaged_row_is_named_and_what_to_do",),
        "Branches that hang on each other are gone up for ever.",
    ),
    Break(
        "elsewhere-host", "config/places.py",
        "if not (trusted or Path.cwd().is_relative_to(root)):",
        "if False:",
        ("cli/test_projects_elsewhere.py::test_the_host_is_named_and_not_asked",),
        "Looking at a project asks the host that it names.",
    ),
)  # fmt: skip
