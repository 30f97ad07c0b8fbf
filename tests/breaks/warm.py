"""A process that has every library loaded and runs each set of tests in a fork: a break costs no imports but ours.

It reads a JSON list of arguments of pytest a line, and answers each with `[exit code, output]`; a null code means that
the tests did not end in time.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
import tempfile
import traceback

SECS = 120
_OURS = {"agentflow", "cli", "agentflow_cli", "workflows", "tests"}
_LOADED = (
    "pytest", "freezegun", "httpx", "agentflow.testing.plugin", "agentflow.store.sql_store",
    "agentflow.store.sql.schema", "agentflow.runtime",
)  # fmt: skip


def main() -> None:
    for module in _LOADED:
        importlib.import_module(module)
    for name in [name for name in sys.modules if name.partition(".")[0] in _OURS]:
        del sys.modules[name]  # only the libraries stay: a fork loads what is ours as it is then
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_run(json.loads(line))) + "\n")
        sys.stdout.flush()


def _run(arguments: list[str]) -> tuple[int | None, str]:
    with tempfile.TemporaryFile("w+") as output:
        pid = os.fork()
        if not pid:
            _be_pytest(arguments, output.fileno())
        running = os.pidfd_open(pid)
        ended, _, _ = select.select([running], [], [], SECS)
        os.close(running)
        if not ended:
            os.killpg(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        output.seek(0)
        return (os.waitstatus_to_exitcode(status) if ended else None), output.read()


def _be_pytest(arguments: list[str], output: int) -> None:
    """The forked process, which does not come back."""
    import pytest

    os.setsid()
    for stream in (1, 2):
        os.dup2(output, stream)
    importlib.invalidate_caches()
    code = 70
    try:
        code = int(pytest.main(arguments))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
