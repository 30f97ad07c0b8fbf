"""The command line as a process that reaches nothing but loopback, and leaves a note of whom it called (B76).

python -m tests.scenarios.loopback_process NOTE.json run clerk "Hello"
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentflow.testing import network
from cli.main import main


def _noting(connect: Callable[..., Any], called: list[str]) -> Callable[..., Any]:
    def noted(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            called.append(f"{address[0]}:{address[1]}")
        return connect(self, address)

    return noted


def _looking_up(getaddrinfo: Callable[..., Any], called: list[str]) -> Callable[..., Any]:
    def noted(host: Any, *args: Any, **options: Any) -> Any:
        called.append(str(host))
        return getaddrinfo(host, *args, **options)

    return noted


def run(note: str, *args: str) -> None:
    """Runs the command line; at its end `note` holds the addresses it `called` and whether `litellm` was loaded."""
    called: list[str] = []
    for name in ("connect", "connect_ex"):
        guarded = network.refusing(getattr(socket.socket, name))
        setattr(socket.socket, name, _noting(guarded, called))
    socket.getaddrinfo = _looking_up(network.looking_up(socket.getaddrinfo), called)
    sys.argv = ["agentflow", *args]
    try:
        main()
    finally:
        Path(note).write_text(json.dumps({"called": called, "litellm": "litellm" in sys.modules}))


if __name__ == "__main__":
    run(*sys.argv[1:])
