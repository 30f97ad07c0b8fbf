"""An exception of the model library, with its causes, as the facts the error table reads. Pure but for the clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from agentflow import clock
from agentflow.models.errors import Facts, codes_in

_CHAIN_LIMIT = 10
_TEXT_LIMIT = 4000


def facts_of(error: BaseException, *, streaming: bool) -> Facts:
    """What the exception and its causes know together.

    The library wraps what happened several times and on the way changes statuses (413 becomes 400), names and
    headers: names and codes are gathered from all layers, status and `Retry-After` are the innermost answer's own.
    """
    layers = list(_layers(error))
    text = str(error)[:_TEXT_LIMIT]
    headers = [found for layer in layers for found in _headers(layer)]
    return Facts(
        text=text,
        status=next((status for layer in reversed(layers) if (status := _answered(layer)) is not None), None),
        names=frozenset(type(layer).__name__ for layer in layers),
        codes=codes_in(text).union(*map(_codes, layers)),
        retry_after=next((wait for each in headers if (wait := retry_after(each)) is not None), None),
        streaming=streaming,
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the provider asks to wait, from `retry-after-ms` or `retry-after` (seconds or a date)."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    return seconds if seconds is not None or not value else _until(value)


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value else -1.0
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _until(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    return max((moment.replace(tzinfo=moment.tzinfo or UTC) - clock.now()).total_seconds(), 0.0)


def _layers(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen and len(seen) < _CHAIN_LIMIT:
        seen.add(id(error))
        yield error
        original = getattr(error, "original_exception", None)
        error = original if isinstance(original, BaseException) else error.__cause__ or error.__context__


def _headers(layer: BaseException) -> Iterator[Mapping[str, str]]:
    for owner in (getattr(layer, "response", None), layer):
        for name in ("headers", "litellm_response_headers"):
            found = getattr(owner, name, None)
            if isinstance(found, Mapping):
                yield found


def _answered(layer: BaseException) -> int | None:
    """The status of a real answer; the library makes up responses, but those have no headers."""
    response: Any = getattr(layer, "response", None)
    status = getattr(response, "status_code", None)
    return status if isinstance(status, int) and getattr(response, "headers", None) and status != 200 else None


def _codes(layer: BaseException) -> frozenset[str]:
    body = getattr(layer, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else {}
    given = [getattr(layer, "code", None), getattr(layer, "type", None)]
    given += [inner.get("code"), inner.get("type")] if isinstance(inner, dict) else []
    return frozenset(str(code).lower() for code in given if isinstance(code, str | int) and code != "")
