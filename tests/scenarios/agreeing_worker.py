"""A worker that takes every proposal as it is."""

from __future__ import annotations

from typing import Any

REFERENCE = f"{__name__}:agree"


def agree(request: dict[str, Any]) -> Any:
    return request["proposed"]
