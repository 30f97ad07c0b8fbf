"""No test reaches another machine."""

from __future__ import annotations

import asyncio
import socket

import pytest

from agentflow.testing import Kit, NetworkRefused


@pytest.mark.usefixtures("agentflow")
@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1"])
def test_a_connection_to_another_machine_is_refused_with_a_sentence(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as connection, pytest.raises(NetworkRefused, match="script the model's replies"):
        connection.connect((host, 443))


@pytest.mark.usefixtures("agentflow")
def test_a_name_is_not_looked_up() -> None:
    with pytest.raises(NetworkRefused, match=r"'api\.example\.com'"):
        socket.create_connection(("api.example.com", 443))


def test_the_event_loop_is_refused_too(agentflow: Kit) -> None:
    with pytest.raises(NetworkRefused):
        agentflow.run(asyncio.open_connection("192.0.2.1", 443))


def test_loopback_is_open(agentflow: Kit) -> None:
    async def talk() -> bytes:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"hi")
            writer.close()

        async with await asyncio.start_server(serve, "localhost", 0, family=socket.AF_INET) as server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            answer = await reader.read()
            writer.close()
            return answer

    assert agentflow.run(talk()) == b"hi"
