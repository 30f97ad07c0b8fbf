"""Z4, D79: a canary in each place of a credential, looked for in everything that is stored, sent or shown."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import logging
import os
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import quote

import pytest

from agentflow.store.sql.tables import Base
from agentflow.testing.postgres import schema
from cli.main import run
from tests.scenarios.support import reading

# name of a place -> the canary that stands there; `${NAME}` in a file below, or the text itself after LITERAL_
_NAMES = """
API_KEY API_KEY_WITH_SCHEME API_BASE_PASSWORD API_BASE_QUERY API_BASE_PATH HEADER HEADER_AUTHORIZATION
EXTRA_BODY EXTRA_LIST EXTRA_NESTED EXTRA_USER AWS_SECRET AWS_TOKEN AZURE_TOKEN VERTEX_DOCUMENT
ORGANIZATION PROXY_ADDRESS SECOND_API_KEY SECOND_API_BASE PROJECT_API_KEY PROJECT_EXTRA
WORKER_USER WORKER_PASSWORD WORKER_QUERY WORKER_PATH WORKER_SECRET FAILING_WORKER FAILING_WORKER_SECRET
CHILD_API_KEY CHILD_HEADER CHILD_WORKER_SECRET DATABASE_PASSWORD DATABASE_OPTION
LITERAL_API_KEY LITERAL_HEADER LITERAL_PASSWORD LITERAL_QUERY LITERAL_SECRET LITERAL_DEFAULT
WRONG_TYPE WRONG_LIST WRONG_CHOICE WRONG_EXTRA PROVIDER_VARIABLE
"""
PLACES = {
    name: f"canary-{number:02}-of/{name.lower().replace('_', '.')}+"
    for number, name in enumerate(re.findall(r"\w+", _NAMES), 1)
}
PUBLIC = {
    "PROMPT": "canary-that-a-prompt-says",
    "DESCRIPTION": "canary-that-a-description-says",
    "INPUT": "canary-that-an-input-gives-a-prompt",
}

WELL = """
settings: {llm_retries: 0}
interfaces:
  main: {model: llm://CALLED}
  first:
    model: openai/any
    api_key: ${API_KEY}
    api_base: http://HOST/v1/${API_BASE_PATH}
    extra:
      extra_headers: {X-Place: "${HEADER}", Authorization: "Bearer ${HEADER_AUTHORIZATION}", X-Mine: LITERAL_HEADER}
      extra_body: {place: "${EXTRA_BODY}", list: [{deep: "${EXTRA_LIST}"}], more: {and: {more: "${EXTRA_NESTED}"}}}
      user: ${EXTRA_USER}
  cloud:
    model: openai/other
    api_key: Bearer ${API_KEY_WITH_SCHEME}
    api_base: https://host/v1?sig=${API_BASE_QUERY}
    extra:
      aws_secret_access_key: ${AWS_SECRET}
      aws_session_token: ${AWS_TOKEN}
      azure_ad_token: ${AZURE_TOKEN}
      vertex_credentials: '{"type": "service_account", "private_key": "${VERTEX_DOCUMENT}"}'
      organization: ${ORGANIZATION}
      proxy: http://${PROXY_ADDRESS}@proxy:3128
  second:
    model: openai/second
    api_key: ${SECOND_API_KEY}
    api_base: http://me:${API_BASE_PASSWORD}@HOST/${SECOND_API_BASE}
  literal:
    model: openai/literal
    api_key: LITERAL_API_KEY
    api_base: https://me:LITERAL_PASSWORD@host/v1?access_token=LITERAL_QUERY
    extra: {client_secret: LITERAL_SECRET}
  fallback: {model: openai/fallback, api_key: "${NOT_SET:-LITERAL_DEFAULT}"}
  keyless: {model: openai/keyless, api_base: "http://HOST/v1"}
"""
AGENTS = {
    "echoed": "description: ${DESCRIPTION}\nprompt: 'Say ${PROMPT}.'\nsub_agents: [child]\n"
    + WELL.replace("CALLED", "first"),
    "second": WELL.replace("CALLED", "second"),
    "keyless": WELL.replace("CALLED", "keyless"),
    "shared": "model: llm://everybody\n",
    "worked": "model: scripted/replies.yaml\n"
    "inputs: {access_token: {default: '${INPUT}'}}\n"
    "worker: 'http://${WORKER_USER}:${WORKER_PASSWORD}@HOST/decide/${WORKER_PATH}?token=${WORKER_QUERY}'\n"
    "worker_secret: ${WORKER_SECRET}\n",
    "refused": "model: scripted/replies.yaml\n"
    "worker: http://HOST/refuse?code=${FAILING_WORKER}\nworker_secret: ${FAILING_WORKER_SECRET}\n",
    "child": "description: It helps.\nmodel: scripted/replies.yaml\n"
    "interfaces: {other: {model: openai/x, api_key: '${CHILD_API_KEY}',"
    " extra: {extra_headers: {X-C: '${CHILD_HEADER}'}}}}\n"
    "worker: http://HOST/decide\nworker_secret: ${CHILD_WORKER_SECRET}\n",
    "wrong": "model: scripted/replies.yaml\n"
    "settings: {max_iterations: '${WRONG_TYPE}', on_limit: '${WRONG_CHOICE}'}\ntools: ${WRONG_LIST}\n"
    "interfaces: {other: {model: openai/x, temperature: '${WRONG_TYPE}', extra: '${WRONG_EXTRA}'}}\n",
}
PROJECT = (
    "interfaces: {everybody: {model: openai/shared, api_base: 'http://HOST/v1', api_key: '${PROJECT_API_KEY}',"
    " extra: {extra_body: {of: '${PROJECT_EXTRA}'}}}}\n"
)


class Server(BaseHTTPRequestHandler):
    """A provider that repeats all it was sent when it refuses, and a worker that agrees, or does the same."""

    bodies: list[bytes]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "/decide" in self.path or "/refuse" in self.path:
            type(self).bodies.append(body)
        if "/decide" in self.path:
            self._answer(200, json.dumps(json.loads(body)["proposed"]))
            return
        said = f"bad request {self.path} {dict(self.headers)} {body.decode()[:3000]} {os.environ['API_KEY']}"
        self._answer(400, json.dumps({"error": {"message": said, "type": "invalid_request_error"}}))

    def _answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextlib.contextmanager
def served() -> Iterator[tuple[str, list[bytes]]]:
    handler = type("Handler", (Server,), {"bodies": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}", handler.bodies  # type: ignore[attr-defined]  # type() hides it
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def logged() -> Iterator[io.StringIO]:
    """All that any library logs, at its loudest."""
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    names = (None, "LiteLLM", "LiteLLM Router", "httpx", "httpcore", "openai", "aiohttp", "agentflow", "asyncio")
    before = [(logging.getLogger(name), logging.getLogger(name).level) for name in names]
    for logger, _ in before:
        logger.setLevel(logging.DEBUG)
        if logger.name in ("root", "LiteLLM"):
            logger.addHandler(handler)
    try:
        yield said
    finally:
        for logger, level in before:
            logger.setLevel(level)
            logger.removeHandler(handler)


def _filled(text: str, host: str) -> str:
    for name, canary in PLACES.items():
        if name.startswith("LITERAL"):
            text = text.replace(name, quote(canary, safe="") if "PASSWORD" in name or "QUERY" in name else canary)
    return text.replace("HOST", host)


def _write(folder: Path, host: str) -> None:
    (folder / "agentflow.yaml").write_text(_filled(PROJECT, host))
    for name, keys in AGENTS.items():
        agent = folder / "agents" / name
        agent.mkdir(parents=True)
        (agent / "agent.yaml").write_text(f"name: {name}\n{_filled(keys, host)}")
        (agent / "replies.yaml").write_text("replies: [{text: Well., repeat: true}]\n")


def _environment() -> dict[str, str]:
    """In an address a value is written as addresses want it, and the database's cannot be reached."""
    in_address = ("API_BASE", "SECOND_API_BASE", "PROXY", "WORKER_", "FAILING_WORKER", "DATABASE")
    given = {
        name: quote(canary, safe="") if name.startswith(in_address) and "SECRET" not in name else canary
        for name, canary in PLACES.items()
    }
    del given["PROVIDER_VARIABLE"]
    return {**given, **PUBLIC, "OPENAI_API_KEY": PLACES["PROVIDER_VARIABLE"], "NO_PROXY": "*"}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Everything that a project with a canary in every place said, by where it said it."""
    folder = tmp_path_factory.mktemp("project")
    found: dict[str, str] = {}

    def command(name: str, *args: str) -> None:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            run([*args, "--project", str(folder)])
        found[name] = out.getvalue()
        found[f"{name}, standard error"] = err.getvalue()

    with (
        served() as (host, bodies),
        mock.patch.dict(os.environ, _environment()),
        mock.patch("sys.stdin", None),
        logged() as said,
    ):
        os.environ.pop("AGENTFLOW_DB", None)
        _write(folder, host)
        for agent in AGENTS:
            command(f"run {agent}", "run", agent, "Hello.", "-s", agent, "--jsonl")
        for agent in ("echoed", "worked", "refused", "second"):
            command(f"sessions show {agent}", "sessions", "show", agent, "--json")
            command(f"sessions tree {agent}", "sessions", "tree", agent, "--json")
            command(f"events {agent}", "events", agent)
            command(f"trace {agent}", "trace", agent, "--json")
            command(f"trace {agent} as text", "trace", agent)
            command(f"explain {agent}", "explain", agent, "-s", agent, "--json")
        command("sessions ls", "sessions", "ls", "--json")
        command("validate", "validate", *(str(folder / "agents" / agent) for agent in AGENTS))
        for address in (
            f"postgresql://me:{os.environ['DATABASE_PASSWORD']}@127.0.0.1:1/x?application_name=a",
            f"postgresql://me:{PLACES['DATABASE_PASSWORD']}@127.0.0.1:1/x",
            f"postgresql://me@127.0.0.1:1/x?password={os.environ['DATABASE_OPTION']}",
            f"host=h user=me password={PLACES['DATABASE_PASSWORD']}",
            f"mysql://me:{PLACES['DATABASE_PASSWORD']}@h/x",
        ):
            command(f"sessions ls --db {address[:8]}{len(found)}", "sessions", "ls", "--db", address)
            command(f"run --db {address[:8]}{len(found)}", "run", "echoed", "Hello.", "--db", address)
        found["worker requests"] = b"\n".join(bodies).decode()
        found["the database's files"] = b"".join(path.read_bytes() for path in folder.glob("agentflow.db*")).decode(
            "latin-1"
        )
        found["logs"] = said.getvalue()
    return found


def test_a_canary_is_in_no_row_of_postgres(tmp_path: Path) -> None:
    server = os.environ.get("AGENTFLOW_TEST_POSTGRES")
    if server is None:
        pytest.skip("AGENTFLOW_TEST_POSTGRES is not set")
    environment, nobody = mock.patch.dict(os.environ, _environment()), mock.patch("sys.stdin", None)
    with schema(server) as url, served() as (host, _), environment, nobody:
        _write(tmp_path, host)
        for agent in ("echoed", "worked", "refused", "second"):
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                run(["run", agent, "Hello.", "-s", agent, "--project", str(tmp_path), "--db", url])
        with reading(url) as select:
            stored = "\n".join(repr(select(f"SELECT * FROM {table}")) for table in Base.metadata.tables)
    assert "${API_KEY}" in stored
    assert "${WORKER_SECRET}" in stored
    spelled = {name: (canary, canary.split("+")[0], quote(canary, safe="")) for name, canary in PLACES.items()}
    assert [name for name, told in spelled.items() if any(each in stored for each in told)] == []


def test_every_output_was_made(outputs: dict[str, str]) -> None:
    """A canary is not found in nothing either."""
    assert "bad request" in outputs["events echoed"]
    assert "model_error" in outputs["run second"]
    assert "worker_failed" in outputs["run refused"]
    assert '"state": "done"' in outputs["run worked"]
    assert "max_iterations" in outputs["validate"]
    assert "${API_KEY}" in outputs["the database's files"]
    assert "${WORKER_SECRET}" in outputs["worker requests"]
    assert len(outputs["logs"]) > 10_000
    assert "POST" in outputs["logs"]


@pytest.mark.parametrize("place", PLACES)
def test_a_canary_is_in_no_output(outputs: dict[str, str], place: str) -> None:
    canary = PLACES[place]
    spelled = {canary, quote(canary, safe=""), quote(canary), base64.b64encode(canary.encode()).decode().rstrip("=")}
    spelled.add(canary.split("+")[0])  # the part that no spelling changes but an address
    assert [name for name, said in outputs.items() if any(each in said for each in spelled)] == []


@pytest.mark.parametrize("place", PUBLIC)
def test_what_is_public_by_rule_is_stored_as_it_is(outputs: dict[str, str], place: str) -> None:
    """Prompts, descriptions and inputs are what the model reads: who puts a secret there gives it away."""
    assert PUBLIC[place] in outputs["the database's files"]
