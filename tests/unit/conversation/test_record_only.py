"""`record_only` takes nothing that only a turn can hold, each named in the refusal (C8)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow.conversation.inbox import TurnOptions, parse_input
from agentflow.errors import InvalidInput

OF_A_TURN: dict[str, Any] = {
    "queue": True,
    "interrupt": True,
    "inputs": {"a": 1},
    "limits": {"max_cost": 1},
    "tools": [{"name": "theirs"}],
    "stream": True,
}
RECORDED = {"type": "client.append", "messages": [{"role": "user", "content": "hi"}], "record_only": True}


@pytest.mark.parametrize("name", OF_A_TURN)
def test_what_only_a_turn_can_hold_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{name}"):
        parse_input({**RECORDED, name: OF_A_TURN[name]})


def test_every_option_of_a_turn_but_the_client_is_looked_at_here() -> None:
    assert set(TurnOptions.__dataclass_fields__) - {"client"} <= set(OF_A_TURN)
