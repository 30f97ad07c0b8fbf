"""`agentflow db`: the database itself."""

from ..lazy import LazyGroup

COMMANDS = {"check": ".db.check", "upgrade": ".db.upgrade"}

command = LazyGroup("db", table=COMMANDS, help="Look after the database.")
