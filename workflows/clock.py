"""The time of day, which a model cannot know."""

from __future__ import annotations

from datetime import UTC
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from agentflow import clock


def current_time(timezone: str = "UTC") -> str:
    """The current date and time, with weekday and offset, in a time zone.

    Args:
        timezone: An IANA name such as `Europe/Paris`.
    """
    local = clock.now().astimezone(UTC if timezone == "UTC" else _zone(timezone))
    return f"{local:%A} {local.isoformat(timespec='seconds')}"


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # what an odd name gives depends on the files it looks for
        raise ValueError(f"there is no time zone {name!r}; use an IANA name such as Europe/Paris") from None
