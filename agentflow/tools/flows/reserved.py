"""The names of the tools every agent can have without a flow."""

from __future__ import annotations

ASK_USER = "ask_user"
TASK = "task"
DELEGATE = "delegate"
WRITE_TODOS = "write_todos"
READ_SKILL = "read_skill"
READ_REFERENCE = "read_reference"

BUILTIN_NAMES = frozenset({ASK_USER, TASK, DELEGATE, WRITE_TODOS, READ_SKILL, READ_REFERENCE})
"""Names no flow and no entry under `tools:` may have (A4)."""
