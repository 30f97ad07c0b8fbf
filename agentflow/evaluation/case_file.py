"""The file of a case: read whole and checked, and written for people (R9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentflow.config.document import yamlfile
from agentflow.config.document.yaml_text import yaml_text
from agentflow.config.keys.case import CaseKeys
from agentflow.config.keys.checking import validate
from agentflow.errors import InvalidConfig, InvalidInput

HEAD = "# A case for `agentflow eval run`: edit what is said and expected; `agentflow schema --case` has the keys.\n"


@dataclass(frozen=True, slots=True)
class Case:
    """`name` is what reports call it: the file as it was given."""

    name: str
    keys: CaseKeys


def read_case(path: str | Path) -> Case:
    """Raises `InvalidConfig` with every problem, by line and column."""
    document = yamlfile.read(Path(path), name=str(path))
    return Case(str(path), validate(document, CaseKeys))


def case_text(case: Mapping[str, Any]) -> str:
    """The keys as a file that `read_case` reads. Raises `InvalidInput` for what no file can hold."""
    text = HEAD + yaml_text(dict(case))
    if len(text.encode()) > yamlfile.MAX_BYTES:
        raise InvalidInput(
            f"The case has {len(text.encode()):,} bytes, and a file of one may have {yamlfile.MAX_BYTES:,}: capture a "
            "single turn.",
            detail={"field": "turn"},
        )
    try:
        validate(yamlfile.parse(text, "the case"), CaseKeys)
    except InvalidConfig as error:
        raise InvalidInput(
            f"No case can be made of this that could be read again; another turn may do. {error.message}",
            detail={"field": "turn"},
        ) from None
    return text
