"""Log records without secrets, whichever library makes them and whichever handler writes them (Z4)."""

from __future__ import annotations

import logging
import traceback
from typing import Any

from agentflow.secrets.redacting import told


def guard_logs() -> None:
    """From now on a record of this process says no secret, in its message, its traceback and its stack."""
    make = logging.getLogRecordFactory()
    if not isinstance(make, _Guarded):
        logging.setLogRecordFactory(_Guarded(make))


class _Guarded:
    """A factory of records over the one that was there."""

    def __init__(self, make: Any) -> None:
        self._make = make

    def __call__(self, *args: Any, **more: Any) -> logging.LogRecord:
        record: logging.LogRecord = self._make(*args, **more)
        _hide(record)
        return record


def _hide(record: logging.LogRecord) -> None:
    try:
        said = record.getMessage()
    except Exception:  # arguments that do not fit: logging itself tells of it when the record is written
        said, record.args = f"{record.msg!r} with {record.args!r}", ()
        record.msg = told(said)
        return
    if (hidden := told(said)) != said:
        record.msg, record.args = hidden, ()
    if record.exc_info and record.exc_info[0] is not None:
        trace = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        if (hidden := told(trace)) != trace:
            record.exc_info, record.exc_text = None, hidden
    if record.stack_info:
        record.stack_info = told(record.stack_info)
