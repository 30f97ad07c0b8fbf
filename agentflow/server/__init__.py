"""The server: everything a `Runtime` can do over HTTP, as an ASGI application; needs the extra `server`.

A request goes through app (who answers what) → access (who may) → routes (one file a subject) → wire, streams.
settings say what the server was started with, opening what lives while it serves, problems how errors are answered,
listening how `agentflow serve` runs it all.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentflow.server.app import App, app_of, create_app
    from agentflow.server.listening import serve
    from agentflow.server.opening import lifespan
    from agentflow.server.settings import read_settings

_HOME = {
    "App": "app",
    "app_of": "app",
    "create_app": "app",
    "lifespan": "opening",
    "read_settings": "settings",
    "serve": "listening",
}

__all__ = ["App", "app_of", "create_app", "lifespan", "read_settings", "serve"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'agentflow.server' has no attribute {name!r}")
    return getattr(importlib.import_module(f"agentflow.server.{_HOME[name]}"), name)
