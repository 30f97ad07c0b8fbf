"""`agentflow db`: the database itself."""

from ..lazy import LazyGroup

COMMANDS = {"upgrade": ".db.upgrade"}

command = LazyGroup("db", table=COMMANDS, help="Look after the database.")
