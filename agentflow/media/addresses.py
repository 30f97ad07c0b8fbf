"""Addresses in content parts, none of which is ever fetched by us or by a library of ours (Z10)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any


def addresses(part: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Every address in a content part that is no text: where it stands, as `image_url.url`, the address, and whether
    it is one that may be handed on (Z10).

    That is data itself, and an `https:` address where one is expected; never one in the place of an id, which a
    library would fetch.
    """
    if part.get("type") == "text":
        return
    for path, key, value in _all_texts(part, ""):
        if key in _NAMES:
            continue
        is_place = key in _PLACES
        if is_place or _ADDRESS.match(value):
            yield path, value, value.startswith("data:") or (is_place and _SECURE.match(value) is not None)


_NAMES = ("name", "filename", "title")  # of a file, which nobody looks up
_PLACES = frozenset({
    "url", "uri", "image_url", "audio_url", "video_url", "file_url", "document_url", "file_uri", "image_uri",
})  # fmt: skip
_ADDRESS = re.compile(r"\s*(?:[a-z][a-z0-9+.-]{0,30}:(?://|\\\\)|//|www\.|file:|data:)", re.IGNORECASE)
_SECURE = re.compile(r"https://[^\s\\\x00-\x1f\x7f]+\Z")


def _all_texts(value: Any, path: str, key: str = "") -> Iterator[tuple[str, str, str]]:
    if isinstance(value, str):
        yield path, key, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _all_texts(item, f"{path}.{name}" if path else str(name), str(name))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _all_texts(item, f"{path}[{index}]", key)
