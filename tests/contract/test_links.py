"""Z10: an address in a content part is handed on or left out; neither we nor the library ask it for anything."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from agentflow.conversation.wire import message_of
from agentflow.errors import AgentflowError, ModelError
from agentflow.media.provider import filled
from agentflow.models.litellm_model import LitellmModel
from agentflow.models.protocol import ModelRequest
from agentflow.models.wire.links import FETCHING
from tests.pictures import part, pdf, png
from tests.stub_server import Answer, StubServer

DOWNLOADING = ("anthropic", "gemini", "ollama_chat", "cohere_chat", "bedrock", "vertex_ai")
PICTURE = "data:image/png;base64,iVBORw0KGgo="


class Listener:
    """Somebody at an address, who counts who comes."""

    def __init__(self) -> None:
        self.connections = 0

    async def __aenter__(self) -> Listener:
        self._server = await asyncio.start_server(self._met, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        writer.close()


def _parts(address: str, link: str) -> list[dict[str, Any]]:
    file = {"type": "file", "file": {"file_id": link}}
    return [{"type": "text", "text": "See."}, {"type": "image_url", "image_url": {"url": address}}, file]


async def _asked(provider: str, address: str) -> tuple[int, str, str | None]:
    """How often the address was asked, what the provider was sent, and how the call failed."""
    async with Listener() as listener, StubServer(lambda _: Answer(text="Well."), strict=False) as stub:
        base = stub.anthropic_base if provider == "anthropic" else stub.openai_base
        model = LitellmModel(
            f"{provider}/any",
            api_base=base,
            api_key="horse-battery",
            extra={
                "aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_region_name": "us-east-1",
            }
            if provider == "bedrock"
            else {"api_version": "2024-10-21"}
            if provider == "azure"
            else None,
        )  # fmt: skip
        messages = [
            {
                "role": "user",
                "content": _parts(address.format(port=listener.port), f"http://127.0.0.1:{listener.port}/x.pdf"),
            }
        ]
        failure = None
        try:
            async for _ in model.stream(ModelRequest("s", "main", messages, chars=10)):
                pass
        except AgentflowError as error:
            failure = str(error)
        await model.close()
        return listener.connections, json.dumps([each.body for each in stub.requests]), failure


@pytest.mark.parametrize("provider", sorted(FETCHING))
def test_a_provider_that_fetches_gets_the_address(provider: str) -> None:
    asked, sent, failure = asyncio.run(_asked(provider, "https://127.0.0.1:{port}/a.png"))
    assert (asked, failure) == (0, None)
    assert "/a.png" in sent
    assert "x.pdf" not in sent
    assert "[file: left out" in sent


@pytest.mark.parametrize(
    "address", ["https://127.0.0.1:{port}/a.png", "http://127.0.0.1:{port}/a.png", "file:///etc/passwd"]
)
@pytest.mark.parametrize("provider", [*DOWNLOADING, "openai"])
def test_the_library_asks_nobody_for_a_part(provider: str, address: str) -> None:
    """Also for what never came in through the door: a hook's message, a row of an older version."""
    asked, sent, failure = asyncio.run(_asked(provider, address))
    assert asked == 0
    assert "mage" not in (failure or "")
    if sent != "[]" and not (provider == "openai" and address.startswith("https")):
        assert "[image_url: left out" in sent
        assert "a.png" not in sent
        assert "passwd" not in sent


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_file_in_its_form_reaches_the_provider_and_a_refusal_names_it(provider: str) -> None:
    """W4, F37: what the library makes of our parts, and what it makes of a provider's refusal."""

    async def asked() -> tuple[str, ModelError]:
        refusal = "messages.0.content.1.image.source.base64: The image was specified using the image/png media type"
        async with StubServer([Answer(status=400, error=refusal)], strict=False) as stub:
            base = stub.anthropic_base if provider == "anthropic" else stub.openai_base
            model = LitellmModel(f"{provider}/any", api_base=base, api_key="horse-battery")
            sent = message_of({"role": "user", "content": [part(png(), "a.png"), part(pdf(), "b.pdf")]})
            said = filled(
                [{"role": "user", "content": sent.content}], {f.hash: f.body for f in sent.files}, model.reads
            )
            with pytest.raises(ModelError) as refused:
                async for _ in model.stream(ModelRequest("s", "main", said, chars=10)):
                    pass
            await model.close()
            return json.dumps([each.body for each in stub.requests]), refused.value

    body, error = asyncio.run(asked())
    assert base64.b64encode(png()).decode() in body
    assert base64.b64encode(pdf()).decode() in body
    assert (error.kind, "image" in str(error)) == ("bad_request", True)


def test_data_is_sent_to_everybody() -> None:
    _, sent, failure = asyncio.run(_asked("anthropic", PICTURE))
    assert failure is None
    assert "iVBORw0KGgo=" in sent
