"""Asking the interfaces of an agent: each once, over the engine's own door, to a provider on loopback."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentflow import connect_agent
from agentflow.agents.connect import Connection
from tests.stub_server import Answer, StubServer

KEY = "horse-battery-staple"


def asked(
    project: Path, answer: Answer, *interfaces: str, settings: str = "{}"
) -> tuple[tuple[Connection, ...], StubServer]:
    """What came of asking an agent whose interfaces these are; `BASE` in them is the provider's address."""

    async def run() -> tuple[tuple[Connection, ...], StubServer]:
        async with StubServer([answer] * len(interfaces), strict=False) as stub:
            lines = [each.replace("BASE", stub.openai_base) for each in interfaces]
            text = "\n".join(["name: a", "interfaces:", *(f"  {line}" for line in lines), f"settings: {settings}"])
            (project / "agent.yaml").write_text(text + "\n")
            return await connect_agent(project / "agent.yaml", project), stub

    return asyncio.run(run())


MAIN = f"main: {{model: openai/any, api_base: BASE, api_key: {KEY}}}"


def test_each_interface_is_asked_once_and_says_that_it_answers(tmp_path: Path) -> None:
    (tmp_path / "replies.yaml").write_text("replies: [{text: ok}]\n")
    found, stub = asked(
        tmp_path, Answer(text="ok"), MAIN, "second: {model: llm://main, temperature: 0}",
        "played: {model: scripted/replies.yaml}",
    )  # fmt: skip
    assert [(each.interface, each.code, each.scripted) for each in found] == [
        ("main", None, False), ("second", None, False), ("played", None, True),
    ]  # fmt: skip
    assert sorted(body.get("temperature", -1) for body in (each.body for each in stub.requests)) == [-1, 0]
    assert found[0].where.endswith("agent.yaml:3:17")


def test_a_summary_of_another_model_is_asked_as_well(tmp_path: Path) -> None:
    found, stub = asked(
        tmp_path, Answer(text="ok"), MAIN, "x: {model: llm://main}\ncontext:\n  strategy: [{use: summarize, "
        "model: openai/other}]\n  window: 100000",
    )  # fmt: skip
    assert [each.model for each in found] == ["openai/any", "openai/any", "openai/other"]
    assert sorted(each.body["model"] for each in stub.requests) == ["any", "any", "other"]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Answer(status=401, error="no"), "model_error.auth"),
        (Answer(status=404, error="no such model"), "model_error.bad_request"),
        (Answer(raw=b"<html>A page</html>", content_type="text/html"), "model_error.cut"),
        (Answer(text="", finish="length"), None),
        (Answer(text="Once upon", hang="finish"), None),
    ],
)
def test_an_interface_that_does_not_answer_says_why(tmp_path: Path, answer: Answer, code: str | None) -> None:
    """An output limit is an answer, and what is said first is enough; a page of another server is none."""
    (found,), _ = asked(tmp_path, answer, MAIN)
    assert found.code == code
    assert (found.message is None) is (code is None)


@pytest.mark.parametrize(
    ("limit", "settings", "key"),
    [
        (", timeout_secs: 0.05", "{}", "its interface's timeout_secs"),
        ("", "{llm_timeout_secs: 0.05}", "llm_timeout_secs"),
    ],
)
def test_the_time_limit_of_the_interface_holds(tmp_path: Path, limit: str, settings: str, key: str) -> None:
    """D45."""
    interface = MAIN.replace("}", f"{limit}}}")
    (found,), _ = asked(tmp_path, Answer(hang="first"), interface, settings=settings)
    assert found.code == "model_error.timeout"
    assert found.message is not None
    assert f"within 0.05 seconds ({'settings.' if key.startswith('llm') else ''}{key})" in found.message


def test_no_secret_is_shown_whoever_repeats_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A3: the key of the interface, a token under `extra`, a secret of the environment."""
    monkeypatch.setenv("SOME_API_KEY", "plainwords")
    echo = Answer(status=400, error=f"bad: {KEY} shhhhhhh plainwords")
    interface = MAIN.replace("}", ", extra: {extra_headers: {x-token: shhhhhhh}}}")
    (found,), _ = asked(tmp_path, echo, interface)
    assert found.message is not None
    assert "bad: *** *** ${SOME_API_KEY}" in found.message


def test_sub_agents_that_only_a_path_leads_to_are_asked_too(tmp_path: Path) -> None:
    """A4: also theirs, each once; those under agents/ are agents of the project and asked as such."""
    for place, more in (
        ("parts/inner", "sub_agents: [../deeper]"),
        ("parts/deeper", "sub_agents: [../inner]"),
        ("agents/known", ""),
    ):
        folder = tmp_path / place
        folder.mkdir(parents=True)
        (folder / "replies.yaml").write_text("replies: [{text: ok}]\n")
        (folder / "agent.yaml").write_text(
            f"name: {folder.name}\ndescription: d\nmodel: scripted/replies.yaml\n{more}\n"
        )
    (tmp_path / "replies.yaml").write_text("replies: [{text: ok}]\n")
    (tmp_path / "agent.yaml").write_text("name: a\nmodel: scripted/replies.yaml\nsub_agents: [./parts/inner, known]\n")
    found = asyncio.run(connect_agent(tmp_path / "agent.yaml", tmp_path))
    assert [Path(each.where.split(":")[0]).parent.name for each in found] == [tmp_path.name, "inner", "deeper"]
