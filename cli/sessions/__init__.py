"""`agentflow sessions`: the stored conversations."""

from ..lazy import LazyGroup

COMMANDS = {
    "ls": ".sessions.ls",
    "show": ".sessions.show",
    "tree": ".sessions.tree",
    "checkout": ".sessions.checkout",
    "feedback": ".sessions.feedback",
    "name": ".sessions.name",
    "snapshots": ".sessions.snapshots",
    "export": ".sessions.export",
    "import": ".sessions.bring_in",
    "rm": ".sessions.rm",
    "run-queue": ".sessions.run_queue",
}

command = LazyGroup(
    "sessions", table=COMMANDS, help="List, read, name, branch, rate, export, import and delete stored conversations."
)
