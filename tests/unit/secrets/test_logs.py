"""Z4: no record of this process says a secret, whichever logger makes it and however it came to be told."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from agentflow.secrets.known import learn
from agentflow.secrets.logs import guard_logs

CANARY = "canary-in-a-log-line"


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    learn(CANARY, "${LOGGED}")
    before = logging.getLogRecordFactory()
    guard_logs()
    said, logger = io.StringIO(), logging.getLogger("some.library")
    handler = logging.StreamHandler(said)
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    logger.addHandler(handler)
    yield said
    logger.removeHandler(handler)
    logging.setLogRecordFactory(before)


def test_message_arguments_and_tracebacks_are_told_without_it(lines: io.StringIO) -> None:
    logger = logging.getLogger("some.library")
    logger.warning("sent %s with %d headers", {"Authorization": CANARY}, 3)
    logger.warning("key " + CANARY)
    try:
        raise ValueError(f"refused {CANARY}")
    except ValueError:
        logger.exception("it failed", stack_info=True)
    logger.warning("%d of", CANARY)
    said = lines.getvalue()
    assert CANARY not in said
    assert "with 3 headers" in said
    assert "some.library: key ${LOGGED}" in said
    assert "ValueError: refused ${LOGGED}" in said
    assert "Traceback" in said


def test_a_record_without_one_is_what_its_logger_made(lines: io.StringIO) -> None:
    record = logging.getLogger("some.library").makeRecord("a", 20, __file__, 1, "%s left", (3,), None)
    assert (record.msg, record.args) == ("%s left", (3,))


def test_it_is_set_up_once(lines: io.StringIO) -> None:
    factory = logging.getLogRecordFactory()
    guard_logs()
    assert logging.getLogRecordFactory() is factory
