"""What docs/configuration.md shows is valid."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.config.files import agent_of

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_the_page_has_blocks() -> None:
    assert len(BLOCKS) == 3


@pytest.mark.parametrize("block", BLOCKS)
def test_each_block_is_a_valid_agent(tmp_path: Path, block: str) -> None:
    agent_of(tmp_path, block)
