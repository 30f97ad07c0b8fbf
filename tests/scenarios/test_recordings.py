"""R9: what models reply is recorded in a file, and given again to the same requests without network."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import agentflow as package
from agentflow import InvalidInput, Recorder, Replay
from agentflow.models.assembly import Reply
from agentflow.testing import Kit

ASK = "What is the weather in Linz?"
SCRIPT = {
    "replies": [
        {"tool_calls": [{"name": "weather", "arguments": {"city": "Linz"}, "id": "x-1"}], "usage": {"input": 10}},
        {"text": "It is {{ last_tool }}", "usage": {"input": 20, "output": 3, "cost": 0.25}},
    ]
}


def weather(city: str) -> str:
    """Say the weather."""
    return f"mild in {city}"


@pytest.fixture
def recording(agentflow: Kit, tmp_path: Path) -> Path:
    """A turn with one tool call, recorded from a model that the file names."""
    path = tmp_path / "replies.jsonl"
    agent = agentflow.agent(model={"model": "scripted/talk.yaml"}, tools=[weather])
    (agent.parent / "talk.yaml").write_text(json.dumps(SCRIPT), encoding="utf-8")
    result = _run(agentflow, Recorder(path))
    assert result.answer == "It is mild in Linz"
    return path


def _run(kit: Kit, open_model: Any, text: str = ASK, session: str = "other") -> Any:
    async def work() -> Any:
        async with package.Runtime.open(
            kit.project, db=f"{kit.project}/{session}.db", flows=[weather], open_model=open_model
        ) as runtime:
            return await runtime.run(session, str(kit.project / "agents" / "test"), text)

    return kit.run(work())


def test_a_recorded_turn_is_replayed_with_text_calls_and_usage(agentflow: Kit, recording: Path) -> None:
    replay = Replay(recording)
    result = _run(agentflow, replay, session="again")
    assert result.answer == "It is mild in Linz"
    assert float(result.usage.cost) == 0.25
    assert replay.unused() == ()


def test_replies_are_found_whatever_ids_and_times_the_request_has_now(tmp_path: Path, agentflow: Kit) -> None:
    first = "At 2030-01-01T10:00:00Z order 0b0e7a52-6b0e-4c39-9f5c-1d2f3a4b5c6d?"
    path = tmp_path / "replies.jsonl"
    agent = agentflow.agent(model={"model": "scripted/talk.yaml"})
    (agent.parent / "talk.yaml").write_text(json.dumps({"replies": [{"text": "Sent"}]}), encoding="utf-8")
    _run(agentflow, Recorder(path), first)
    later = first.replace("10:00:00Z", "11:30:00+01:00").replace("0b0e7a52", "ffffffff")
    assert _run(agentflow, Replay(path), later, "again").answer == "Sent"


def test_a_miss_shows_the_nearest_request_and_the_difference(agentflow: Kit, recording: Path) -> None:
    result = _run(agentflow, Replay(recording), ASK.replace("Linz", "Graz"), "again")
    assert result.error["code"] == "model_error.script"
    assert "The nearest is reply 1: message 2 (user) is now" in result.error["message"]
    assert "Graz" in result.error["message"]
    assert "Linz" in result.error["message"]


def test_a_reply_is_given_once(agentflow: Kit, recording: Path) -> None:
    replay = Replay(recording)
    _run(agentflow, replay, session="again")
    result = _run(agentflow, replay, session="and again")
    assert "each reply recorded for this request was given already" in result.error["message"]


def test_a_recording_is_added_to_and_has_each_part_of_a_request_once(agentflow: Kit, recording: Path) -> None:
    _run(agentflow, Recorder(recording), session="second")
    lines = [json.loads(line) for line in recording.read_text("utf-8").splitlines()]
    parts = [line["part"] for line in lines if "part" in line]
    assert len(parts) == len(set(parts))
    assert sum("reply" in line for line in lines) == 4
    assert recording.stat().st_mode & 0o777 == 0o600


def test_a_secret_is_not_written_into_a_recording(tmp_path: Path, agentflow: Kit) -> None:
    """Z4: neither what was asked nor what was replied."""
    path = tmp_path / "replies.jsonl"
    agent = agentflow.agent(model={"model": "scripted/talk.yaml"})
    reply = {"text": "Yours is password=correct-horse {{ last_user }}"}
    (agent.parent / "talk.yaml").write_text(json.dumps({"replies": [reply]}), encoding="utf-8")
    _run(agentflow, Recorder(path), "Use api_key=battery-staple please")
    assert "correct-horse" not in path.read_text("utf-8")
    assert "battery-staple" not in path.read_text("utf-8")
    assert _run(agentflow, Replay(path), "Use api_key=battery-staple please", "again").error is None


def test_braces_in_a_recorded_reply_are_no_placeholders(tmp_path: Path, agentflow: Kit) -> None:
    path = tmp_path / "replies.jsonl"
    agent = agentflow.agent(model={"model": "scripted/talk.yaml"})
    (agent.parent / "talk.yaml").write_text(json.dumps({"replies": [{"text": "{{ last_user }}"}]}), encoding="utf-8")
    assert _run(agentflow, Recorder(path), "{{ name }}").answer == "{{ name }}"
    assert _run(agentflow, Replay(path), "{{ name }}", "again").answer == "{{ name }}"


def test_a_failed_call_is_replayed_with_its_failure(tmp_path: Path, agentflow: Kit) -> None:
    path = tmp_path / "replies.jsonl"
    agent = agentflow.agent(model={"model": "scripted/talk.yaml"})
    script = {"replies": [{"text": "Half of it", "error": {"kind": "auth", "after": 4}}]}
    (agent.parent / "talk.yaml").write_text(json.dumps(script), encoding="utf-8")
    failed = _run(agentflow, Recorder(path)).error
    assert failed["code"] == "model_error.auth"
    assert _run(agentflow, Replay(path), session="again").error["code"] == failed["code"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", ":1: is empty"),
        ("{}\n", ":1: is no recording"),
        ('{"recording":1}\n[]\n', ":2: must be a JSON object"),
        ('{"recording":1}\n{"purpose":"main","model":"m","parts":["p"],"reply":{}}\n', ":2: parts: 'p' stands on no"),
        ('{"recording":1}\n{"purpose":"main","model":"m","parts":[],"reply":{"txt":"a"}}\n', "unknown key"),
        ('{"recording":1}\n{"purpose":"main",\n', ":2: "),
    ],
)
def test_a_file_that_is_no_recording_is_refused_with_its_line(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as refused:
        Replay(path)
    assert why in str(refused.value)
    assert refused.value.detail["field"] == "recording"


def test_the_kit_replays_a_recording_and_counts_what_is_left(agentflow: Kit, recording: Path) -> None:
    agentflow.replay(recording)
    assert agentflow.leftovers() == ["2 recorded replies were not used"]
    assert agentflow.send(ASK).answer == "It is mild in Linz"
    assert agentflow.leftovers() == []


def test_models_that_reply_at_once_leave_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    recorder = Recorder(path)

    def keep(number: int) -> None:
        messages = [{"role": "system", "content": "s" * 50_000}, {"role": "user", "content": str(number)}]
        request = package.ModelRequest(str(number), "main", messages)
        recorder.keep(request, "m", Reply(str(number) * 20_000, "", (), None, "stop", None), None)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(keep, range(40)))
    assert len(Replay(path).unused()) == 40
    assert path.read_text("utf-8").count("s" * 50_000) == 1


def test_litellm_is_not_loaded_for_a_replay(agentflow: Kit, recording: Path) -> None:
    agentflow.agent(model={"model": "openai/gpt-4o"}, tools=[weather])
    before = "litellm" in sys.modules
    assert _run(agentflow, Replay(recording), session="again").answer == "It is mild in Linz"
    assert ("litellm" in sys.modules) == before
