"""What a project to start from is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Template:
    """`files` are texts by their path in the project; `commands` are what to try first, in order, none needs a key."""

    about: str
    files: Mapping[str, str]
    commands: Sequence[str]
