"""`agentflow sessions`: the stored conversations."""

from .lazy import LazyGroup

COMMANDS = {
    "ls": ".sessions_ls",
    "show": ".sessions_show",
    "rm": ".sessions_rm",
}

command = LazyGroup("sessions", table=COMMANDS, help="List, read and delete stored conversations.")
