"""The key `planning`: a switch, or keys (T31, T33); what an interface reads (W4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentflow.clock import now
from agentflow.config.agent_config import AgentConfig, load_agent
from agentflow.config.prompt import system_prompt
from agentflow.errors import InvalidConfig

GOOD = "name: support\nmodel: scripted/replies.yaml\n"


def loaded(folder: Path, text: str) -> AgentConfig:
    path = folder / "agent.yaml"
    path.write_text(GOOD + text)
    return load_agent(path, variables={"ON": "true"})


@pytest.mark.parametrize("line", ["", "planning: false\n", "planning:\n"])
def test_without_planning_there_is_none(tmp_path: Path, line: str) -> None:
    assert loaded(tmp_path, line).planning is None


@pytest.mark.parametrize("line", ["planning: true\n", "planning: {}\n", "planning: ${ON}\n"])
def test_true_alone_means_todos_without_a_planner(tmp_path: Path, line: str) -> None:
    planning = loaded(tmp_path, line).planning
    assert planning is not None
    assert planning.planner is None


@pytest.mark.parametrize("name", ["main", "thinker"])
def test_a_planner_is_an_interface_by_name(tmp_path: Path, name: str) -> None:
    keys = f"planning: {{planner: llm://{name}}}\ninterfaces: {{thinker: {{model: x/y}}}}\n"
    planning = loaded(tmp_path, keys).planning
    assert planning is not None
    assert planning.planner == f"llm://{name}"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("planning: {planner: llm://thiker}\ninterfaces: {thinker: {model: x/y}}", "did you mean 'thinker'?"),
        ("planning: {planner: anthropic/claude}", "planning.planner: must "),
        ("planning: {planer: llm://main}", "planning.planer: unknown key, did you mean 'planner'?"),
        ("planning: 3", "planning: must be a mapping of keys, not the number 3"),
    ],
)
def test_a_planner_that_is_not_there_is_an_error_at_its_place(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(InvalidConfig, match=r"agent\.yaml:3:") as caught:
        loaded(tmp_path, line + "\n")
    assert said in str(caught.value)


def test_what_an_interface_reads_is_a_list(tmp_path: Path) -> None:
    """W4: and an empty one is another thing than none."""
    keys = "interfaces: {sees: {model: x/y, reads: [image, pdf]}, blind: {model: x/y, reads: []}, any: {model: x/y}}\n"
    interfaces = loaded(tmp_path, keys).interfaces
    assert [interfaces[name].reads for name in ("sees", "blind", "any")] == [("image", "pdf"), (), None]


def test_the_prompt_tells_of_the_list_with_planning_only(tmp_path: Path) -> None:
    """A1: after the prompt, before the response guidelines."""
    rest = "prompt: Help.\nresponse_guidelines: [Be brief.]\n"

    def prompt(text: str) -> str:
        return system_prompt(loaded(tmp_path, text + rest), inputs={}, vars={}, session={}, today=now().date())

    assert "write_todos" not in prompt("")
    planned = prompt("planning: true\n")
    assert planned.index("Help.") < planned.index("write_todos") < planned.index("Be brief.")
