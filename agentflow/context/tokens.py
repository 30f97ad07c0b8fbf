"""How much the model would read (X5): the provider's own count where there is one, characters where there is none."""

from __future__ import annotations

from dataclasses import dataclass

from agentflow.media.counting import CHARS_PER_TOKEN


@dataclass(frozen=True, slots=True)
class Report:
    """What the last main call of this execution on this path said and sent.

    `input_tokens` is the normalised input, cached tokens included; null or 0 means that the provider reported
    nothing. `request_chars` is the length of that call's request (`BuiltRequest.chars`).
    """

    input_tokens: int | None
    request_chars: int


def estimate(chars: int) -> int:
    """Tokens of that many characters, rounded up; of a difference too, so it may be negative."""
    return -(-chars // CHARS_PER_TOKEN)


def tokens_to_read(report: Report | None, request_chars: int) -> int:
    """Tokens of the request about to go out, never below 0 (X5)."""
    if report is None or not report.input_tokens:
        return estimate(request_chars)
    return max(report.input_tokens + estimate(request_chars - report.request_chars), 0)


def reported(report: Report) -> int:
    """Tokens the reported call itself read; its own characters stand in for a missing count."""
    return report.input_tokens or estimate(report.request_chars)


def room_chars(limit: int, tokens: int, request_chars: int) -> int:
    """Characters that fit in `limit` tokens, at the density of a request of `request_chars` counted as `tokens`."""
    return request_chars * limit // tokens if tokens > 0 else limit * CHARS_PER_TOKEN
