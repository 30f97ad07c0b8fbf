"""S8: the API is described by OpenAPI, made from the routes; a copy stands in docs/."""

from __future__ import annotations

import json
from typing import Any

from agentflow.server.api import api
from agentflow.server.description import written
from tests.guards.source import ROOT

FOUND = api().openapi()


def test_the_committed_copy_is_what_the_routes_say() -> None:
    """Make it anew with `.venv/bin/python -m agentflow.server.api docs/openapi.json`."""
    assert (ROOT / "docs" / "openapi.json").read_text("utf-8") == written(FOUND)


def test_every_reference_leads_somewhere_and_every_route_tells_how_it_refuses() -> None:
    names = FOUND["components"]["schemas"]
    text = json.dumps(FOUND)
    assert {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]} <= set(names)
    operations = [each for path in FOUND["paths"].values() for each in path.values()]
    assert len(operations) > 25
    for operation in operations:
        assert {"4XX", "5XX"} <= set(operation["responses"])
        assert operation["summary"].endswith(".")
        assert "422" not in operation["responses"]


def test_the_inputs_are_those_that_are_taken() -> None:
    from agentflow.conversation.inbox import KINDS

    body: Any = FOUND["paths"]["/api/v1/sessions/{session_id}/inputs"]["post"]["requestBody"]
    shapes = [each["$ref"].rpartition("/")[2] for each in body["content"]["application/json"]["schema"]["oneOf"]]
    described = {
        FOUND["components"]["schemas"][name]["properties"]["type"]["const"]: set(
            FOUND["components"]["schemas"][name]["properties"]
        )
        for name in shapes
    }
    assert described == {name: {"type", *kind.__dataclass_fields__} for name, kind in KINDS.items()}
