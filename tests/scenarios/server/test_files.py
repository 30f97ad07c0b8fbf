"""W4: files over HTTP and AG-UI; what a browser gets of one can do nothing there."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from agentflow.testing import Kit
from tests.pictures import part, pdf, png, url, wav
from tests.scenarios.server.conftest import Server

CAT = png(said=b"a cat")


def message(*parts: Any) -> dict[str, Any]:
    return {"type": "client.message", "agent_id": "test", "message": {"role": "user", "content": list(parts)}}


def test_a_part_is_sent_as_json_and_its_bytes_are_read_by_their_hash(agentflow: Kit, server: Server) -> None:
    """W4: as a download, of the type that its bytes say."""
    agentflow.agent(replies=[{"text": "a cat"}])
    receipt = server.post("/sessions/s-1/inputs", message(part(CAT, "cat.html")))
    agentflow.result(receipt.json["turn_id"])
    (shown,) = server.get("/sessions/s-1").json["messages"][0]["content"]
    assert (shown["type"], shown["name"], "data" in shown) == ("image", "cat.html", False)
    answer = server.get(f"/sessions/s-1/blobs/{shown['hash']}")
    assert (answer.status, answer.body, answer.header("content-type")) == (200, CAT, "image/png")
    assert answer.header("x-content-type-options") == "nosniff"
    assert str(answer.header("content-disposition")).startswith("attachment")
    assert server.get("/sessions/s-2/blobs/" + shown["hash"]).status == 404
    assert server.get("/sessions/s-1/blobs/file-" + "0" * 32).code == "not_found"


@pytest.mark.parametrize("address", ["file:///etc/passwd", "http://169.254.169.254/", "ftp://x/y", "gopher://x"])
def test_an_address_is_refused_with_its_place(agentflow: Kit, server: Server, address: str) -> None:
    """Z10, F06"""
    agentflow.agent(replies=[])
    given = message({"type": "text", "text": "see"}, {"type": "image", "url": address})
    refused = server.post("/sessions/s-1/inputs", given)
    assert (refused.status, refused.json["errors"][0]["pointer"]) == (422, "/message/content/1/url")
    of_agui = {"type": "image", "source": {"type": "url", "value": address}}
    run = {
        "threadId": "t-1",
        "runId": "r-1",
        "tools": [],
        "messages": [{"id": "u", "role": "user", "content": [of_agui]}],
    }
    assert server.ask("POST", "/agui/test", run).status == 422


def test_parts_of_every_kind_come_from_a_browser_and_go_back_by_their_hash(agentflow: Kit, server: Server) -> None:
    """G1"""

    def source(data: bytes, media_type: str) -> dict[str, Any]:
        return {"type": "data", "value": base64.b64encode(data).decode(), "mimeType": media_type}

    agentflow.agent(replies=lambda request: {"text": "seen"})
    parts = [
        {"type": "text", "text": "see"},
        {"type": "image", "source": source(CAT, "image/png")},
        {"type": "audio", "source": source(wav(), "audio/wav")},
        {"type": "document", "source": source(pdf(), "application/pdf"), "metadata": {"filename": "a.pdf"}},
    ]
    said = {"id": "u-1", "role": "user", "content": parts}

    def run(number: int, *messages: dict[str, Any]) -> Any:
        body = {"threadId": "t-1", "runId": f"r-{number}", "tools": [], "messages": messages}
        answer = server.ask("POST", "/agui/test", body)
        assert answer.status == 200, answer.body
        return agentflow.requests[-1].messages[-1]["content"]

    sent = run(1, said)
    assert [each["type"] for each in sent] == ["text", "image_url", "input_audio", "file"]
    assert (sent[1], sent[3]["file"]["filename"]) == (url(CAT), "a.pdf")
    kept = agentflow.path("t-1")[0]["content"]
    assert kept[3]["name"] == "a.pdf"
    again = {"type": "image", "source": {"type": "file", "value": kept[1]["hash"], "mimeType": "image/png"}}
    assert run(2, said, {"id": "u-2", "role": "user", "content": [again]}) == [url(CAT)]
