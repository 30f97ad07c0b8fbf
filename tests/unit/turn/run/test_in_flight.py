"""The open calls of an execution: when it first spoke, and which call may run once more (T12, X16)."""

from __future__ import annotations

import asyncio

from agentflow.errors import ModelError
from agentflow.models.protocol import TextDelta
from agentflow.turn.run.in_flight import InFlight, OpenStream


def stream(started: float, first_token_ms: int | None = None) -> OpenStream:
    return OpenStream("r-1", "main", "m", "", 0, started, False, first_token_ms=first_token_ms)


def test_a_step_first_spoke_with_its_first_reply() -> None:
    in_flight = InFlight(100.0)
    for started, first_token_ms in ((101.0, None), (102.0, 5), (200.0, 1)):
        in_flight.go_out(stream(started, first_token_ms))
        in_flight.close_stream()
    assert in_flight.first_token_ms == 2005


def test_a_call_runs_once_more_only_if_it_was_too_long_and_nobody_has_seen_any_of_it() -> None:
    async def test() -> None:
        too_long, other = ModelError("context_overflow", "too long"), ModelError("server", "broken")
        silent, speaking = stream(0), stream(0)
        speaking.assembler.feed(TextDelta("I th"))
        for out, error, again in ((silent, too_long, True), (silent, other, False), (speaking, too_long, False)):
            in_flight = InFlight(0)
            in_flight.go_out(out)
            assert in_flight.take_back(error) is again
            assert (in_flight.waiting, in_flight.stream) == (("r-1", None) if again else (None, out))

    asyncio.run(test())
