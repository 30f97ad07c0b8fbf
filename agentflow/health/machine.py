"""What agentflow needs of the machine: Python, its libraries, a port to serve on."""

from __future__ import annotations

import errno
import importlib.metadata
import re
import socket
import sys
from collections.abc import Iterator

from agentflow.health.check import Check

PACKAGE = "agentflow-sessions"
OLDEST = (3, 11)

_NAME = re.compile(r"[A-Za-z0-9._-]+")


def machine_checks(port: int, python: tuple[int, int] = sys.version_info[:2]) -> Iterator[Check]:
    """All of them; `port` is looked at on loopback."""
    yield _python(python)
    yield _libraries()
    yield _port(port)


def _python(found: tuple[int, int]) -> Check:
    said = f"this is {found[0]}.{found[1]}"
    if found < OLDEST:
        return Check("python", "failed", said, f"install Python {OLDEST[0]}.{OLDEST[1]} or later")
    return Check("python", "ok", said)


def _libraries() -> Check:
    try:
        required = importlib.metadata.requires(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return Check("libraries", "warning", f"{PACKAGE} is not installed here", f"pip install {PACKAGE}")
    names = [found[0] for each in required if "extra ==" not in each and (found := _NAME.match(each))]
    missing = [name for name in names if not _is_installed(name)]
    if missing:
        return Check("libraries", "failed", f"missing: {', '.join(missing)}", f"pip install {' '.join(missing)}")
    return Check("libraries", "ok", f"all {len(names)} are there")


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _port(port: int) -> Check:
    """Only who serves needs one: a taken port is a warning."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError as error:
            why = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror}"
            return Check("port", "warning", f"port {port} {why}", "serve on another one, with --port")
    return Check("port", "ok", f"port {port} is free")
