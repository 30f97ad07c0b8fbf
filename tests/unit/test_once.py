"""One turn from synchronous code, and where it is not the right call."""

from __future__ import annotations

import asyncio
import gc
import warnings
from pathlib import Path
from typing import Any

import pytest

from agentflow import InvalidInput, run_turn, with_runtime


async def nothing(runtime: Any) -> None:
    raise AssertionError(f"never called with {runtime}")


def test_inside_a_running_loop_it_says_what_to_write_and_leaks_nothing(tmp_path: Path) -> None:
    """D72"""

    async def notebook() -> None:
        with pytest.raises(InvalidInput, match=r"await runtime\.run"):
            run_turn("support", "hi", project=tmp_path)
        with pytest.raises(InvalidInput, match=r"await runtime\.run"):
            with_runtime(nothing, tmp_path)
        gc.collect()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(notebook())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("session", ["", "\n", "x" * 201, 5])
def test_a_session_id_that_is_none_is_refused_and_not_replaced(tmp_path: Path, session: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^session_id: "):
        run_turn("support", "hi", session=session, project=tmp_path, db=str(tmp_path / "agentflow.db"))


def test_a_project_that_is_no_path_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^project: "):
        with_runtime(nothing, 5)  # type: ignore[arg-type]  # what is tested


def test_a_turn_from_synchronous_code_names_its_chat_before_it_returns(tmp_path: Path) -> None:
    """R7: a process of one turn gives naming a bounded time."""
    agent = tmp_path / "agents" / "cafe"
    agent.mkdir(parents=True)
    (agent / "agent.yaml").write_text("name: cafe\nmodel: scripted/replies.yaml\n")
    title = "{when: {purpose: title}, text: Price of a cup, delay_secs: 0.02, repeat: true}"
    (agent / "replies.yaml").write_text(f"replies:\n- {title}\n- {{text: It costs 7., repeat: true}}\n")
    assert run_turn("cafe", "What does it cost?", session="s-1", project=tmp_path).answer == "It costs 7."
    assert with_runtime(lambda runtime: runtime.status("s-1"), tmp_path)["name"] == "Price of a cup"
