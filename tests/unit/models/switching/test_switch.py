"""A model exchanged for another while its agent goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentflow import InvalidInput, ModelRequest, ModelSwitch
from agentflow.config.agent_config import Interface
from agentflow.models.protocol import Model, TextDelta

SCRIPTED = "scripted/replies.yaml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "replies.yaml").write_text("replies: [{text: hi, repeat: true}]\n")
    return tmp_path


def _said(model: Model) -> str:
    async def stream() -> str:
        request = ModelRequest("c-1", "main", [{"role": "user", "content": "x"}])
        return "".join([delta.text async for delta in model.stream(request) if isinstance(delta, TextDelta)])

    return asyncio.run(stream())


def test_until_another_is_chosen_a_model_is_what_the_file_says(folder: Path) -> None:
    model = ModelSwitch()(Interface(model=SCRIPTED), folder)
    assert (model.name, model.scripted, _said(model)) == (SCRIPTED, True, "hi")


def test_another_model_is_called_until_it_is_taken_back(folder: Path) -> None:
    switch = ModelSwitch()
    model = switch(Interface(model=SCRIPTED), folder)
    switch.use(SCRIPTED, "anthropic/claude-sonnet-4-5")
    assert (model.name, model.scripted) == ("anthropic/claude-sonnet-4-5", False)
    switch.use(SCRIPTED, SCRIPTED)
    assert (model.name, _said(model)) == (SCRIPTED, "hi")


@pytest.mark.parametrize(("other", "goes_along"), [("openai/gpt-5", True), ("anthropic/claude-sonnet-4-5", False)])
def test_another_provider_is_not_sent_what_the_first_one_was_given(folder: Path, other: str, goes_along: bool) -> None:
    """Z4: a key and an address are their provider's."""
    given = Interface(model="openai/gpt-4o", api_key="sk-of-the-first", api_base="https://first.example", top_p=0.5)
    switch = ModelSwitch()
    model = switch(given, folder)
    switch.use("openai/gpt-4o", other)
    assert model.name == other
    sent = str(vars(vars(model)["_opened"][other]))
    assert ("sk-of-the-first" in sent) is goes_along
    assert ("https://first.example" in sent) is goes_along
    assert "'top_p': 0.5" in sent


@pytest.mark.parametrize("other", ["scripted/other.yaml", " ", "llm://main"])
def test_only_a_providers_model_can_be_chosen(other: str) -> None:
    with pytest.raises(InvalidInput, match="no model of a provider"):
        ModelSwitch().use(SCRIPTED, other)
