"""Data as YAML that a person reads and edits, and that `yamlfile` reads back to the same data."""

from __future__ import annotations

import re
from typing import Any

import yaml

from agentflow.config.document.scalars import CORE

_TAG = "tag:yaml.org,2002:"
_WIDTH = 100
_BLOCK = re.compile(r"(?:\S(?:[^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]*\S)?)?")
"""A line that a block scalar holds as it is: no blanks around it, nothing that is a line end somewhere else."""
_ODD = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")


def yaml_text(value: Any) -> str:
    """JSON as block-style YAML: keys in their order, a text of several lines as a block."""
    text: str = yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=_WIDTH)
    return text


class _Dumper(yaml.SafeDumper):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 -- the library's attribute, emptied of YAML 1.1

    def ignore_aliases(self, data: Any) -> bool:
        """Equal data is written twice: who edits one means one."""
        return True


for _kind in CORE:
    _Dumper.add_implicit_resolver(_TAG + _kind.name, _kind.shape, list(_kind.first))
_Dumper.add_implicit_resolver(_TAG + "merge", re.compile("^<<$"), ["<"])


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    lines = text.removesuffix("\n").split("\n")
    is_block = "\n" in text and lines[0] != "" and lines[-1] != "" and all(map(_BLOCK.fullmatch, lines))
    style = "|" if is_block else '"' if _ODD.search(text) else None
    return dumper.represent_scalar(_TAG + "str", text, style=style)


_Dumper.add_representer(str, _text)
