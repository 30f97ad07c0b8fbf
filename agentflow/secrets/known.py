"""The secrets that this process knows, and what stands in their place (Z4).

They are learned where configuration is expanded, where a database's URL is read and where the model library is loaded,
and forgotten with the process. A value of less than eight characters is none: replacing it would spoil other words.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from threading import Lock
from urllib.parse import parse_qsl, quote, quote_plus, unquote

from agentflow.secrets.names import MASK, is_secret

SHORTEST = 8

_SCHEME = re.compile(r"(?i)^(?:bearer|basic|token|apikey)\s+")
_BROKEN_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+]{2,20}(?::[/\\]{0,3}|/{2,3})")
_PARTS = re.compile(r"[@/:?#&=\s]+")
_RANDOM = re.compile(r"(?=[^\W_]*\d)(?=.*[A-Za-z])[\w.~-]{20,}$")
_lock = Lock()


class _Known:
    """`shown` is what stands in a value's place; `pattern` finds all of them, the longest first."""

    shown: Mapping[str, str] = {}
    pattern: re.Pattern[str] | None = None


def learn(value: str, shown: str = MASK) -> None:
    """Never tell this value again; `shown` stands in its place, as `${VAR}` for one of the environment."""
    _add({each: shown for text in _spoken(value) for each in _spellings(text)})


def learn_url(url: str) -> None:
    """The secrets within an address, also a broken one: user and password, tokens of its query and its path."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        broken = _BROKEN_SCHEME.match(url)
        if broken is None or "@" not in url:
            return
        scheme, rest = broken[0], url[broken.end() :]
    user_info, _, place = rest.rpartition("@")
    name, _, password = user_info.partition(":")
    token = name if scheme.lower().startswith("http") and not password else ""  # a database's user is a plain name
    for secret in (password, *_PARTS.split(password), token):
        learn(secret)
        learn(unquote(secret))
    if password:
        learn(base64.b64encode(unquote(user_info).encode()).decode())  # as the header of a request says it
    path, _, query = place.partition("?")
    for key, value in parse_qsl(query):
        if is_secret(key) or key.lower() in ("key", "sig", "code") or _RANDOM.match(value):
            learn(value)
    for segment in path.split("/")[1:]:
        if _RANDOM.match(segment):
            learn(segment)


def learn_environment(environment: Mapping[str, str]) -> None:
    """Every variable that is named like a secret: the model library reads its keys there by itself."""
    for name, value in environment.items():
        if is_secret(name) and name not in ("PWD", "OLDPWD"):  # folders
            learn(value, f"${{{name}}}")


def knows_any() -> bool:
    """Whether there is a secret to leave out."""
    return _Known.pattern is not None


def without_known(text: str) -> str:
    """The text with something else in the place of every value that was learned."""
    pattern = _Known.pattern
    return text if pattern is None else pattern.sub(lambda found: _Known.shown.get(found[0], MASK), text)


def _add(found: Mapping[str, str]) -> None:
    with _lock:
        new = {value: shown for value, shown in found.items() if len(value) >= SHORTEST}
        if new.keys() <= _Known.shown.keys():
            return
        shown = {**new, **_Known.shown}
        longest_first = sorted(shown, key=len, reverse=True)
        _Known.shown, _Known.pattern = shown, re.compile("|".join(map(re.escape, longest_first)))


def _spoken(value: str) -> Iterator[str]:
    """The value, and what of it is told alone: a key without its scheme, a line, a member of a JSON document."""
    yield value
    yield _SCHEME.sub("", value)
    yield from value.splitlines()
    if value.lstrip().startswith("{"):
        try:
            members = json.loads(value)
        except (ValueError, RecursionError):
            return
        for key, member in members.items():
            if isinstance(member, str) and is_secret(key):
                yield from (member, *member.splitlines())


def _spellings(value: str) -> Iterator[str]:
    """The value as texts of other kinds write it: an address, JSON, Python, a header."""
    yield value
    yield value.strip()
    if len(value) >= SHORTEST:
        yield from (quote(value, safe=""), quote(value), quote_plus(value), repr(value)[1:-1])
        yield from (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
        yield base64.b64encode(value.encode("utf-8", "replace")).decode().rstrip("=")
