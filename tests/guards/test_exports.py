"""The public names are the ones that are listed, and reaching them is all that loads anything."""

from __future__ import annotations

import importlib.util

import agentflow


def test_every_listed_name_can_be_reached() -> None:
    assert [name for name in agentflow.__all__ if not hasattr(agentflow, name)] == []


def test_the_listed_names_are_the_visible_ones() -> None:
    """`dir(agentflow)` shows the public names and, once loaded, the modules behind them; nothing else."""
    visible = {name for name in dir(agentflow) if not name.startswith("_")}
    modules = {name for name in visible if _is_module(f"agentflow.{name}")}
    assert visible - modules - {"annotations"} == {name for name in agentflow.__all__ if not name.startswith("_")}


def test_the_list_is_sorted_and_has_no_doubles() -> None:
    assert list(agentflow.__all__) == sorted(set(agentflow.__all__))


def test_every_error_that_can_reach_a_caller_is_public() -> None:
    errors = importlib.import_module("agentflow.errors")
    classes = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert classes - {"IllegalTransition"} <= set(agentflow.__all__)  # that one is the machine's own


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
