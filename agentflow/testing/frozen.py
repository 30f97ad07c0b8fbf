"""One frozen clock for everything in the process: whatever tells the time tells this one (T38).

freezegun does most of it. What it leaves out is added here: functions that read the clock by themselves, code that runs
close below a thread's start, and pydantic, which neither knows freezegun's classes nor asks the frozen clock what is
past. Waiting stays real: event loops, locks, queues and child processes take their timeouts from the machine's clock.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import freezegun.api
import pydantic
import pytest
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

# Without the first pytest would take its own durations from the frozen clock; the others measure how long they wait.
_KEEP_REAL_TIME = ["_pytest.timing", "subprocess", "concurrent.futures"]

_NANOSECONDS = 1_000_000_000


class FrozenClock(Protocol):
    """What the kit needs of freezegun's frozen time."""

    def tick(self, delta: timedelta) -> Any: ...


@contextmanager
def frozen(start: str) -> Iterator[FrozenClock]:
    """Hold the clock at `start`, an instant in ISO format, until `tick` moves it."""
    with (
        freezegun.freeze_time(start, real_asyncio=True, ignore=_KEEP_REAL_TIME) as clock,
        pytest.MonkeyPatch.context() as patch,
    ):
        # freezegun spares whoever is called near one of its ignored modules, as every thread's function is near
        # `threading`. Only those modules themselves are to be spared.
        patch.setattr(freezegun.api, "call_stack_inspection_limit", 1)
        for name, function in _CLOCKS.items():
            real = getattr(time, name)
            for module in [each for each in sys.modules.values() if getattr(each, "__dict__", {}).get(name) is real]:
                patch.setattr(module, name, function)
        for fake, schema in _SCHEMAS.items():
            patch.setattr(fake, "__get_pydantic_core_schema__", schema, raising=False)
        yield clock


def _ctime(seconds: float | None = None) -> str:
    return _real_ctime(time.time() if seconds is None else seconds)


def _asctime(moment: Any = None) -> str:
    return _real_asctime(time.localtime() if moment is None else moment)


def _clock_gettime(clock: int) -> float:
    return _clock_gettime_ns(clock) / _NANOSECONDS


def _clock_gettime_ns(clock: int) -> int:
    if clock == time.CLOCK_REALTIME:
        return time.time_ns()
    return time.monotonic_ns() if clock == time.CLOCK_MONOTONIC else _real_clock_gettime_ns(clock)


_real_ctime, _real_asctime, _real_clock_gettime_ns = time.ctime, time.asctime, time.clock_gettime_ns

_CLOCKS: dict[str, Callable[..., Any]] = {
    "ctime": _ctime,
    "asctime": _asctime,
    "clock_gettime": _clock_gettime,
    "clock_gettime_ns": _clock_gettime_ns,
}


def _plain(schema: Callable[[], CoreSchema]) -> Any:
    return classmethod(lambda cls, source, handler: schema())


def _compared(schema: Callable[[], CoreSchema], kind: str, *, past: bool) -> Any:
    """A date or time that must lie on one side of the frozen clock, with pydantic's own words for one that does not."""
    side = "past" if past else "future"

    def check(value: Any) -> Any:
        now = datetime.now(UTC) if isinstance(value, datetime) and value.tzinfo else datetime.now()  # noqa: DTZ005  # naive as the value is
        today: Any = now if isinstance(value, datetime) else now.date()
        if not (value < today if past else value > today):
            noun = "Date" if kind == "date" else "Input"
            raise PydanticCustomError(f"{kind}_{side}", f"{noun} should be in the {side}")
        return value

    def made(cls: type, source: Any, handler: pydantic.GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(check, schema() if cls is source else handler(source))

    return classmethod(made)


_SCHEMAS: dict[type, Any] = {
    freezegun.api.FakeDate: _plain(core_schema.date_schema),
    freezegun.api.FakeDatetime: _plain(core_schema.datetime_schema),
    pydantic.PastDate: _compared(core_schema.date_schema, "date", past=True),
    pydantic.FutureDate: _compared(core_schema.date_schema, "date", past=False),
    pydantic.PastDatetime: _compared(core_schema.datetime_schema, "datetime", past=True),
    pydantic.FutureDatetime: _compared(core_schema.datetime_schema, "datetime", past=False),
}
