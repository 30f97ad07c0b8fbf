"""Whom a change concerns."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.dev.touched import touched_agents, touched_tests

ROOT = Path("/project")
TEXTS = {
    ROOT / name: text
    for name, text in {
        "agentflow.yaml": "db: x\n",
        "agents/guide/agent.yaml": "name: guide\ntools: [word_count]\nskills: [../../skills/haiku.md]\n",
        "agents/guide/replies.yaml": "",
        "agents/shop/agent.yaml": "name: shop\ntools: ['orders:find']\n",
        "agents/boss/agent.yaml": "name: boss\nsub_agents: [guide]\n",
        "workflows/texts.py": "def word_count(text): ...\n",
        "workflows/orders.py": "import agentflow\n@agentflow.flow(name='find')\nasync def look(n): ...\n",
        "workflows/unused.py": "def nothing(): ...\n",
        "skills/haiku.md": "",
        "tests/conftest.py": "",
        "tests/helper.py": "",
        "tests/test_guide.py": "agentflow.load(PROJECT, 'guide')\n",
        "tests/shop.test.yaml": "agent: shop\n",
        "tests/test_boss.py": "from helper import x\nagentflow.load(PROJECT, 'boss')\n",
        "tests/test_plain.py": "def test_word_counting(): ...\n",
    }.items()
}


@pytest.mark.parametrize(
    ("changed", "agents", "tests"),
    [
        ("agents/guide/agent.yaml", ["boss", "guide"], ["tests/test_boss.py", "tests/test_guide.py"]),
        ("agents/guide/replies.yaml", ["boss", "guide"], ["tests/test_boss.py", "tests/test_guide.py"]),
        ("agents/boss/agent.yaml", ["boss"], ["tests/test_boss.py"]),
        ("workflows/texts.py", ["boss", "guide"], ["tests/test_boss.py", "tests/test_guide.py"]),
        ("workflows/orders.py", ["shop"], ["tests/shop.test.yaml"]),
        ("workflows/unused.py", [], []),
        ("skills/haiku.md", ["boss", "guide"], ["tests/test_boss.py", "tests/test_guide.py"]),
        ("tests/test_plain.py", [], ["tests/test_plain.py"]),
        ("tests/helper.py", [], ["tests/test_boss.py"]),
    ],
)
def test_a_change_touches_who_says_its_words(changed: str, agents: list[str], tests: list[str]) -> None:
    found = touched_agents([ROOT / changed], TEXTS, ROOT)
    assert found == agents
    assert touched_tests([ROOT / changed], found, TEXTS, ROOT) == [ROOT / name for name in tests]


def test_the_project_s_file_touches_every_agent() -> None:
    assert touched_agents([ROOT / "agentflow.yaml"], TEXTS, ROOT) == ["boss", "guide", "shop"]


def test_a_conftest_touches_the_tests_below_it() -> None:
    found = touched_tests([ROOT / "tests/conftest.py"], [], TEXTS, ROOT)
    assert {path.name for path in found} == {"test_guide.py", "shop.test.yaml", "test_boss.py", "test_plain.py"}


def test_a_file_that_is_gone_touches_whom_it_belonged_to() -> None:
    gone = {path: text for path, text in TEXTS.items() if path.name != "replies.yaml"}
    assert touched_agents([ROOT / "agents/guide/replies.yaml"], gone, ROOT) == ["boss", "guide"]
