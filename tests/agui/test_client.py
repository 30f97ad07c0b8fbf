"""The protocol's own client talks to a real server (G6); needs `@ag-ui/client`, which `.ci/run` installs.

`AGENTFLOW_TEST_AGUI` names the folder `node_modules` that has it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from agentflow.server import create_app

MODULES = os.environ.get("AGENTFLOW_TEST_AGUI")
pytestmark = pytest.mark.skipif(
    MODULES is None or shutil.which("node") is None, reason="AGENTFLOW_TEST_AGUI is not set, or there is no node"
)

AGENT = """
version: 1
name: talker
prompt: You talk.
model: scripted/talk.yaml
tools: [look]
sub_agents: [helper]
worker: deciding.py:decide
"""
HELPER = """
version: 1
name: helper
description: Helps.
prompt: You help.
model: scripted/helper.yaml
"""
TALK = """
replies:
  - {when: {last_user: hello}, text: "Hello, who is there?", chunk_size: 4, delay_secs: 0.05, repeat: true}
  - {when: {last_user: slowly}, text: "Once upon a time.", chunk_size: 2, delay_secs: 0.1, repeat: true}
  - {when: {last_user: fail}, error: {kind: auth}, repeat: true}
  - {when: {last_user: count}, text: Counted., repeat: true}
  - when: {last_user: look it up, has_tool_result: false}
    text: I look.
    tool_calls: [{name: look, arguments: {place: box}}]
    repeat: true
  - when: {last_user: draw, has_tool_result: false}
    tool_calls: [{name: show_chart, arguments: {of: sales}}]
    repeat: true
  - when: {last_user: which plan, has_tool_result: false}
    tool_calls: [{name: ask_user, arguments: {questions: [{header: Plan, question: "Which?"}]}}]
    repeat: true
  - when: {last_user: ask the helper, has_tool_result: false}
    tool_calls: [{name: task, arguments: {agent: helper, prompt: Help.}}]
    repeat: true
  - {when: {has_tool_result: true}, text: "It says: {{ last_tool }}", repeat: true}
"""
FLOWS = '''
"""What the talker can do."""


def look(place: str) -> str:
    """Look somewhere."""
    return f"nothing in {place}"
'''
DECIDING = '''
"""Counts who asks for it."""


def decide(request):
    last = request["messages"][-1] if request.get("messages") else {}
    if request["trigger"]["type"] == "client.messages" and last.get("content") == "count me":
        return {**request["proposed"], "state": {"counted": 1}}
    return request["proposed"]
'''


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("project")
    for name, text in {
        "agents/talker/agent.yaml": AGENT, "agents/talker/talk.yaml": TALK, "agents/talker/deciding.py": DECIDING,
        "agents/helper/agent.yaml": HELPER, "agents/helper/helper.yaml": "replies: [{text: Helped., repeat: true}]",
        "workflows/looking.py": FLOWS,
    }.items():  # fmt: skip
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    app = create_app(folder, db=f"sqlite:///{folder / 'talk.db'}")
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", timeout_graceful_shutdown=2))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def came(base: str) -> dict[str, Any]:
    script = Path(__file__).with_name("talk.mjs")
    done = subprocess.run(
        ["node", str(script), str(MODULES), base], capture_output=True, text=True, timeout=120, check=True
    )
    told: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return told


SCENES = {
    "chat": {
        "roles": ["user", "assistant"], "last": "Hello, who is there?", "outcome": {"type": "success"}, "usage": 1,
        "streamed": 5,
    },
    "tool": {
        "roles": ["user", "assistant", "tool", "assistant"], "result": "nothing in box",
        "last": "It says: nothing in box",
    },
    "clientTool": {
        "pending": 1, "roles": ["user", "assistant", "tool", "assistant"], "last": "It says: shown",
    },
    "question": {
        "reason": "ask_user", "roles": ["user", "assistant", "tool", "assistant"], "last": "It says: Plan: Pro",
    },
    "branches": {"regenerated": True, "back": True},
    "reload": {"roles": ["user", "assistant"], "last": "Once upon a time."},
    "retry": {"roles": ["user", "assistant"], "last": "Once upon a time."},
    "subAgent": {
        "name": "helper", "ended": True, "roles": ["user", "assistant", "tool", "assistant", "user", "assistant"],
        "last": "Hello, who is there?",
    },
    "state": {"kept": {"mine": True}, "state": {"counted": 1}},
    "error": {"type": "RUN_ERROR", "code": "model_error.auth"},
    "cancelled": {"outcome": {"type": "cancelled"}, "roles": ["user", "assistant"]},
}  # fmt: skip


@pytest.mark.parametrize("scene", SCENES)
def test_the_protocols_own_client_goes_through(came: dict[str, Any], scene: str) -> None:
    """G6: its verification included; a run, cut and sent again, leaves no ghost in the transcript."""
    assert came[scene] == SCENES[scene]
