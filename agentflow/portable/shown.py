"""Texts as a file for people may hold them: nothing in them steers a terminal or turns the order of signs (Z5)."""

from __future__ import annotations

import re

_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")


def shown_text(text: str) -> str:
    """The text with line ends as line feeds and a sign for each character that cannot be seen."""
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))
