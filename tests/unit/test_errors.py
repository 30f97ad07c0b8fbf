"""The errors are one table: the list their file opens with is what there is, and each has a code of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from agentflow import AgentflowError, ModelError, NotFound, errors


def classes(base: type[AgentflowError], depth: int = 0) -> Iterator[tuple[int, str, str]]:
    """`(depth, name, code)` of a class of errors.py and of those below it, in the order of the file."""
    yield depth, base.__name__, base.code
    for below in base.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from classes(below, depth + 1)


def test_the_file_opens_with_the_whole_hierarchy() -> None:
    listed = re.findall(r"^( *)([A-Z]\w+) {2,}([a-z_]+)", errors.__doc__ or "", re.MULTILINE)
    found = [(len(indent) // 4, name, code) for indent, name, code in listed]
    assert found[0][:2] == (0, "AgentflowError")
    assert found[1:] == list(classes(AgentflowError))[1:]


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [code for _, _, code in classes(AgentflowError)]
    assert len(codes) == len(set(codes))


def test_what_is_gone_is_another_class_than_what_is_malformed() -> None:
    names = {each.__name__ for each in NotFound.__subclasses__()}
    gone = {f"{thing}NotFound" for thing in ("Agent", "Session", "Message", "Turn", "Step", "Call", "Snapshot")}
    assert names == gone | {"RequestNotKept"}


@pytest.mark.parametrize(("kind", "code"), [("auth", "model_error.auth"), ("context_overflow", "context_overflow")])
def test_the_code_of_a_model_error_names_its_kind(kind: errors.ModelErrorKind, code: str) -> None:
    assert ModelError(kind, "No.").as_dict()["code"] == code
