"""Whether this process is agentflow's alone: then what a big library leaves in memory may be settled for good."""

from __future__ import annotations


class _Process:
    is_ours = False


def own_process() -> None:
    """Say that this process runs agentflow and nothing else, as a command, a server or a worker does.

    What litellm's import leaves behind is then put out of the garbage collector's sight for good (`gc.freeze`): a
    full collection later costs a tenth, and the process ends a second sooner. In a process that is shared with other
    code the collector is only held off while the import runs.
    """
    _Process.is_ours = True


def is_own_process() -> bool:
    return _Process.is_ours
