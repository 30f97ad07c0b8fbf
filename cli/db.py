"""`agentflow db`: the database itself."""

from .lazy import LazyGroup

COMMANDS = {"upgrade": ".db_upgrade"}

command = LazyGroup("db", table=COMMANDS, help="Look after the database.")
