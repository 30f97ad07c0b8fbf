"""`agentflow eval`: cases made of conversations, and agents that go through them again."""

from ..lazy import LazyGroup

COMMANDS = {
    "capture": ".evaluation.capture",
    "run": ".evaluation.run",
}

command = LazyGroup("eval", table=COMMANDS, help="Make cases of conversations, and run agents against them.")
