"""Which state of a session an answer shows, and which one a request is for (S7)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote, unquote

from fastapi import Header
from starlette.responses import Response

from agentflow.server.problems import Misfits

IfMatch = Annotated[str | None, Header()]
IfNoneMatch = Annotated[str | None, Header()]

_ETAG = re.compile(r'"(.*)\.(\d+)"')
_EACH = re.compile(r'(?:W/)?("[^"]*")')


def etag_of(status: Mapping[str, Any]) -> dict[str, str]:
    """`"<head>.<seq>"`: the message that the path ends in, and the number of the log's last event."""
    return {"ETag": f'"{quote(status["head_id"] or "", safe="")}.{status["seq"]}"'}


def unless_known(status: Mapping[str, Any], if_none_match: str | None) -> Response | None:
    """304 for a client that has this state already, else null."""
    headers = etag_of(status)
    if if_none_match is None or headers["ETag"] not in _EACH.findall(if_none_match):
        return None
    return Response(status_code=304, headers=headers)


def head_of(if_match: str | None) -> str | None:
    """The message an `If-Match` asks the path to end in; null where it asks for nothing."""
    if if_match is None or if_match.strip() == "*":
        return None
    found = _ETAG.fullmatch(if_match.strip())
    if found is None:
        raise Misfits([{"parameter": "If-Match", "detail": "is no ETag of a session; send the one it came with."}])
    return unquote(found[1])
