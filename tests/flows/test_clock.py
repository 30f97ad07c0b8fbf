"""The shipped clock reads agentflow's own, so a test that holds the clock still holds this one still (T38)."""

import freezegun
import pytest

from workflows.clock import current_time


@freezegun.freeze_time("2026-11-30T23:30:00Z", real_asyncio=True)
def test_the_time_has_weekday_date_and_offset() -> None:
    assert current_time() == "Monday 2026-11-30T23:30:00+00:00"


@freezegun.freeze_time("2026-11-30T23:30:00Z", real_asyncio=True)
def test_a_zone_moves_the_day() -> None:
    pytest.importorskip("zoneinfo").ZoneInfo("Europe/Paris")
    assert current_time("Europe/Paris") == "Tuesday 2026-12-01T00:30:00+01:00"


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../etc/passwd", "/etc/passwd", "Europe"])
def test_an_unknown_zone_is_refused_with_an_example(name: str) -> None:
    with pytest.raises(ValueError, match="use an IANA name such as Europe/Paris"):
        current_time(name)
