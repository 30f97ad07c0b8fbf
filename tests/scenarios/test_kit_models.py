"""Agents under test whose models are no scripts: served on loopback under the frozen clock, or refused (D66)."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from agentflow.testing import Kit, NetworkRefused
from tests.stub_server import Answer, Call, serve_in_thread

KEY = "horse-battery-staple"
NO_RETRIES = {"llm_retries": 0}


def greet(name: str) -> str:
    """Greet."""
    return f"hello {name}"


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_model_on_loopback_is_called_under_the_frozen_clock(agentflow: Kit, wire: str) -> None:
    """D66: what its libraries define on first use has types over dates."""
    with serve_in_thread([Answer(calls=[Call("greet", '{"name": "Ann"}')]), Answer(text="Greeted.")]) as stub:
        base = stub.openai_base if wire == "openai" else stub.anthropic_base
        agentflow.agent(model={"model": f"{wire}/mine", "api_base": base, "api_key": KEY}, tools=[greet])
        assert agentflow.send("Greet Ann.").answer == "Greeted."
    assert [event.data["result"] for event in agentflow.events("tool.call.completed")] == ["hello Ann"]
    assert agentflow.session()["updated_at"].startswith("2030-01-01T09:00:00")


@pytest.mark.parametrize("model", ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"])
def test_a_real_provider_is_refused_with_the_advice_to_script(agentflow: Kit, model: str) -> None:
    """D66"""
    agentflow.agent(model={"model": model, "api_key": KEY}, settings=NO_RETRIES)
    with pytest.raises(NetworkRefused, match="script the model's replies"):
        agentflow.send("hi")


@pytest.mark.parametrize("model", ["openai/gpt-4o", "anthropic/claude-sonnet-4-5"])
def test_a_provider_without_a_key_is_refused_with_the_same_advice(
    agentflow: Kit, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    """D66: a project is loaded and its script forgotten, where no key is."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    agentflow.agent(model={"model": model}, settings=NO_RETRIES)
    with pytest.raises(NetworkRefused, match=r"credentials.*script the model's replies"):
        agentflow.send("hi")


def test_a_server_on_loopback_that_refuses_the_key_is_a_failed_turn_like_any(agentflow: Kit) -> None:
    with serve_in_thread([Answer(status=401, error="no such key")]) as stub:
        agentflow.agent(model={"model": "openai/mine", "api_base": stub.openai_base, "api_key": KEY})
        assert (agentflow.send("hi").error or {})["code"] == "model_error.auth"


def test_a_scripted_refusal_of_the_key_is_a_failed_turn_like_any(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"error": {"kind": "auth"}}])
    assert (agentflow.send("hi").error or {})["code"] == "model_error.auth"


def test_a_script_takes_the_place_of_a_model_and_a_model_that_of_a_script(agentflow: Kit) -> None:
    agentflow.agent(model={"model": "openai/gpt-4o", "api_key": KEY}, settings=NO_RETRIES)
    agentflow.agent(replies=[{"text": "scripted"}])
    assert agentflow.send("hi").answer == "scripted"
    agentflow.agent(model={"model": "openai/gpt-4o", "api_key": KEY}, settings=NO_RETRIES)
    with pytest.raises(NetworkRefused):
        agentflow.send("hi")


def urllib_() -> None:
    import urllib.request

    urllib.request.urlopen("http://example.com")


def httpx_() -> None:
    import httpx

    httpx.get("http://example.com")


def sockets() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.sendto(b"hi", ("192.0.2.1", 53))


def names() -> None:
    socket.gethostbyname("example.com")


async def httpx_async() -> None:
    import httpx

    async with httpx.AsyncClient() as client:
        await client.get("http://example.com")


async def aiohttp_() -> None:
    import aiohttp

    async with aiohttp.ClientSession() as client:
        await client.get("http://example.com")


@pytest.mark.parametrize("call", [urllib_, httpx_, sockets, names, httpx_async, aiohttp_])
def test_a_tool_that_reaches_out_fails_the_test_whatever_it_reaches_with(agentflow: Kit, call: Any) -> None:
    agentflow.agent(
        tools=[{"flow": call, "name": "call"}],
        replies=[{"tool_calls": [{"name": "call"}]}, {"text": "It did not work."}],
    )
    with pytest.raises(NetworkRefused, match=r"example\.com|192\.0\.2\.1"):
        agentflow.send("hi")
