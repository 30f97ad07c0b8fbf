"""`agentflow sessions`: the stored conversations."""

from .lazy import LazyGroup

COMMANDS = {
    "ls": ".sessions_ls",
    "show": ".sessions_show",
    "tree": ".sessions_tree",
    "checkout": ".sessions_checkout",
    "rm": ".sessions_rm",
}

command = LazyGroup("sessions", table=COMMANDS, help="List, read, branch and delete stored conversations.")
