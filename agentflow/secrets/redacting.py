"""Free text without secrets: those this process knows, and whatever is written as one (Z4).

Every pattern looks at a text once: nothing in front of a word is repeated, and names before one are bounded (Z3).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from agentflow.secrets.known import without_known
from agentflow.secrets.names import MASK, is_secret

_NAMES = (
    r"(?:passw(?:or)?d|pwd|passphrase|secret|token|(?:api|access|private|account|subscription)[_-]?key|authorization"
    r"|credential|signature)s?"
)
_UNLIKE_A_WORD = r"(?!\$\{|\*\*\*|\d{1,7}\b)(?=[\"']?(?:[^\s,;\"']{0,200}[\d!@#$%^&*+/~]|[^\s,;\"']{20}))[^\s,;]{6,}"
_WRITTEN: tuple[tuple[str, re.Pattern[str]], ...] = (
    # a private key, whole or cut
    (
        "PRIVATE KEY",
        re.compile(
            r"(?P<label>-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----)"
            r"(?:[A-Za-z0-9+/=\s]|\\[nr]|Proc-Type:[^\n]{0,80}|DEK-Info:[^\n]{0,120}){40,20000}"
        ),
    ),
    # password=..., also of a driver's connection string
    (
        "=",
        re.compile(
            rf"(?P<label>{_NAMES}[\"']?\s{{0,3}}=\s{{0,3}})(?!\d{{1,7}}\b)(?:\"[^\"\n]{{1,999}}\"|'[^'\n]{{1,999}}'|[^\s,;&)\"'<>]+)",
            re.I,
        ),
    ),
    # "api_key": "..." of JSON and of Python
    (":", re.compile(rf"(?P<label>{_NAMES}[\"']\s{{0,3}}:\s{{0,3}}[\"'])[^\"'\n]+", re.I)),
    # a header as it is sent
    (
        ":",
        re.compile(
            r"(?P<label>\b(?:authorization|cookie|(?:x-)?api-key)\s{0,3}:\s{0,3})(?:(?:bearer|basic)\s{1,3})?[^\s\"',;]+",
            re.I,
        ),
    ),
    ("", re.compile(r"(?P<label>\b(?:bearer\s(?=\S{8})|basic\s(?=[A-Za-z+/]{0,40}[\d=])))[\w.~+/=-]+", re.I)),
    # ?key=... of an address
    (
        "=",
        re.compile(
            r"(?P<label>[?&;](?:key|sig|code|auth|[\w.-]{0,40}(?:signature|credential|token))=)[^\s&#\"'<>]+", re.I
        ),
    ),
    ("%3", re.compile(r"(?P<label>%3A%2F%2F)[^\s%]{0,200}%3A[^\s%]{0,200}(?=%40)", re.I)),
    # the same percent-encoded: client_secret%3D..., %22password%22%3A%22...
    (
        "%3",
        re.compile(
            rf"(?P<label>{_NAMES}(?:%3D|%22%3A(?:%20|\+){{0,2}}%22))[^\s&\"'<>%]+(?:%(?!26|22|20|0A)[^\s&\"'<>%]{{0,999}}){{0,99}}",
            re.I,
        ),
    ),
    # password: ... of a log or of YAML, --password ... of a command, where it reads like no word
    (":", re.compile(rf"(?P<label>{_NAMES}\s{{0,3}}:\s{{1,3}}){_UNLIKE_A_WORD}", re.I)),
    (
        "-",
        re.compile(rf"(?P<label>(?<![\w-])--?(?:[a-z]{{1,20}}-){{0,3}}{_NAMES}[\s\"']{{1,4}}){_UNLIKE_A_WORD}", re.I),
    ),
    # curl -u me:..., mysql -p..., sshpass -p ...
    (
        "-",
        re.compile(
            r"(?P<label>(?<![\w-])(?:-u|--user|--proxy-user)[\s=\"']{1,4}[^\s:\"'/]{1,100}:)(?!//|\d{1,7}\b)[^\s\"']+",
            re.I,
        ),
    ),
    ("-", re.compile(r"(?P<label>(?<!\S)-p)(?!\d{1,7}\b)(?=[^\s/]{0,200}\d)[^\s/,;]{6,}")),
    ("sshpass", re.compile(r"(?P<label>\bsshpass\s{1,3}-p\s{0,3})\S+")),
    # a line of .netrc
    (
        "login",
        re.compile(
            r"(?P<label>\b(?:machine\s{1,5}\S{1,255}|default)\s{1,5}login\s{1,5}\S{1,255}\s{1,5}password\s{1,5})\S+",
            re.I,
        ),
    ),
)
"""Each form, with what a text must have in it to hold one: that is looked for first, since it takes no time."""
_WORDS = re.compile(r"\S+")

MOST_TOLD = 50_000  # characters that are looked through for what somebody is only told
_LONGEST_SECRET = 5_000  # characters: half of one at the cut is not known any more


def redact(text: str) -> str:
    """The text with `***`, or the variable that it came from, in the place of every secret."""
    text = mask_urls(without_known(text))
    for needed, pattern in _WRITTEN:
        if needed in text:
            text = pattern.sub(_masked, text)
    return text


def _masked(found: re.Match[str]) -> str:
    return found["label"] + MASK


def told(text: str) -> str:
    """The same for an error, a log record or another text that is only told: of a long one its beginning (Z3)."""
    if len(text) <= MOST_TOLD:
        return redact(text)
    return redact(text[:MOST_TOLD])[:-_LONGEST_SECRET] + "…"


def redact_json(value: Any, text: Callable[[str], str] = redact) -> Any:
    """The same for every text of a JSON value, whole where its key is named like a secret."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        return {key: MASK if _is_hidden(key, item) else redact_json(item, text) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact_json(item, text) for item in value]
    return value


def mask_urls(text: str) -> str:
    """A text whose addresses do not say who asks, as they are written or broken: one look at each word (Z3)."""
    return _WORDS.sub(_without_user, text) if "://" in text else text


def _is_hidden(key: Any, item: Any) -> bool:
    return isinstance(item, str) and is_secret(key)


def _without_user(word: re.Match[str]) -> str:
    scheme, separator, rest = word[0].partition("://")
    user, at, place = rest.rpartition("@")
    # a name alone is a token where pages are asked, and a plain name where a database is
    is_user = at and (":" in user or (scheme.lower().endswith(("http", "https")) and not set(user) & set("/?#")))
    return f"{scheme}{separator}{MASK}@{place}" if is_user else word[0]
