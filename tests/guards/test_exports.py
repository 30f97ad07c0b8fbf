"""The public names are listed in one place for each reader (people, type checkers, imports), and the lists agree."""

from __future__ import annotations

import ast
import importlib
from inspect import ismodule

import agentflow
from tests.guards.source import ROOT, tree

PUBLIC = [name for name in agentflow.__all__ if not name.startswith("_")]


def test_every_listed_name_can_be_reached() -> None:
    assert [name for name in agentflow.__all__ if not hasattr(agentflow, name)] == []


def test_the_list_is_what_is_visible() -> None:
    """A fresh interpreter's `dir`, and after every name was used, but for the package's own modules."""
    assert dir(agentflow) == sorted(agentflow.__all__)
    for name in agentflow.__all__:
        getattr(agentflow, name)
    own = {name for name, value in vars(agentflow).items() if not name.startswith("_") and not ismodule(value)}
    assert own - {"annotations"} == set(PUBLIC)


def test_the_list_is_what_type_checkers_see() -> None:
    (block,) = (node for node in tree(ROOT / "agentflow" / "__init__.py").body if isinstance(node, ast.If))
    typed = [alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(typed) == sorted(PUBLIC)


def test_a_listed_name_is_the_one_of_its_home() -> None:
    for home, names in agentflow._HOMES.items():
        module = importlib.import_module(home)
        for name in names:
            assert getattr(agentflow, name) is getattr(module, name)
    assert sorted(name for names in agentflow._HOMES.values() for name in names) == sorted(PUBLIC)


def test_the_list_is_sorted_and_has_no_doubles() -> None:
    assert list(agentflow.__all__) == sorted(set(agentflow.__all__))


def test_every_error_that_can_reach_a_caller_is_public() -> None:
    errors = importlib.import_module("agentflow.errors")
    classes = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert classes - {"IllegalTransition"} <= set(PUBLIC)  # that one is the machine's own


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(agentflow, "Runtme")
