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
