"""Who asks, once that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Subject:
    """`open`: anybody who reaches a server without a key; `key`: a backend; `token`: a browser.

    `name` tells subjects apart where something is counted or kept for one.
    """

    kind: Literal["open", "key", "token"]
    name: str


ANYBODY = Subject("open", "open")
