"""The JSON Schemas of agent.yaml and of cases, and the reference page, all made from the classes of keys (A5).

`python -m agentflow.config.keys.schema FOLDER` writes them to a folder; a test compares those we ship.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from agentflow.config.keys.agent import AgentKeys
from agentflow.config.keys.base import FREE_PREFIX, Keys, fields_by_key, is_container, keys_below, plain
from agentflow.config.keys.case import CaseKeys
from agentflow.config.keys.project import ProjectKeys

DRAFT = "http://json-schema.org/draft-07/schema#"
SCHEMA_FILE, CASE_SCHEMA_FILE, REFERENCE_FILE = "agent.schema.json", "case.schema.json", "REFERENCE.md"


def agent_schema() -> dict[str, Any]:
    """The JSON Schema, draft-07, of agent.yaml."""
    return {"$schema": DRAFT, "title": "agentflow agent.yaml", **schema_of(AgentKeys)}


def case_schema() -> dict[str, Any]:
    """The JSON Schema, draft-07, of a case for `eval run` (R9)."""
    return {"$schema": DRAFT, "title": "agentflow evaluation case", **schema_of(CaseKeys)}


def schema_text(schema: Mapping[str, Any]) -> str:
    """A schema as the file that we ship."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def reference_text() -> str:
    """The reference page: every key with its type, default and meaning."""
    parts, described = [_INTRODUCTION], set[type[Keys]]()
    for file, keys in _FILES:
        parts += [f"## {file}", *sections(keys, "", described)]
    return "\n\n".join(parts) + "\n"


_FILES: tuple[tuple[str, type[Keys]], ...] = (
    ("agent.yaml", AgentKeys), ("agentflow.yaml", ProjectKeys), ("A case for eval run", CaseKeys),
)  # fmt: skip

_INTRODUCTION = """# agent.yaml, agentflow.yaml and cases: every key

This page is made from the program's own declarations; change those, not this page.

Keys that are not listed here are errors, except `x-*` keys, which are yours at any level. Texts may use `${VAR}`,
`${VAR:-default}` and `${VAR:?message}`; `$$` is a plain `$`; in a case they are taken as they are. For every limit 0
means none, unless said otherwise."""


def schema_of(keys: type[Keys], *, variables: bool = True) -> dict[str, Any]:
    """The JSON Schema of a class of keys; with `variables` a number may also come from `${VAR}`."""
    schema = keys.model_json_schema()
    tidied: dict[str, Any] = _tidied(schema, schema.get("$defs", {}), variables)
    return tidied


def _tidied(schema: Any, definitions: Mapping[str, Any], variables: bool) -> Any:
    """Draft-07 from what pydantic writes: no references (their siblings would be ignored), no invented titles."""
    if isinstance(schema, list):
        return [_tidied(each, definitions, variables) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        schema = {**definitions[schema["$ref"].rpartition("/")[2]], **schema}
    tidied = {
        key: _tidied_part(key, value, definitions, variables) for key, value in schema.items() if key not in _DROPPED
    }
    if isinstance(tidied.get("additionalProperties"), dict):
        tidied["patternProperties"] = {f"^{FREE_PREFIX}": {}}
    return tidied


_DROPPED = ("$defs", "$ref", "title")


def _tidied_part(key: str, value: Any, definitions: Mapping[str, Any], variables: bool) -> Any:
    if key == "properties":
        tidied = {name: _tidied(each, definitions, variables) for name, each in value.items()}
        return {name: _or_variable(each) for name, each in tidied.items()} if variables else tidied
    return value if key in ("default", "enum", "required") else _tidied(value, definitions, variables)


def _or_variable(schema: dict[str, Any]) -> dict[str, Any]:
    """A number or boolean may also come from `${VAR}` (A3)."""
    types = {each.get("type") for each in schema.get("anyOf", [schema])}
    if not types & {"integer", "number", "boolean"}:
        return schema
    outside = {key: value for key, value in schema.items() if key in ("anyOf", "description", "default")}
    inside = {key: value for key, value in schema.items() if key not in outside}
    return {"anyOf": [*outside.pop("anyOf", [inside]), {"type": "string", "pattern": r"\$\{"}], **outside}


def sections(keys: type[Keys], title: str, described: set[type[Keys]]) -> Iterator[str]:
    """Markdown: a table of the keys, then a section for each class of keys below them that has none yet."""
    described.add(keys)
    if title:
        yield f"### {title}"
    yield cleandoc(keys.__doc__ or "")
    rows = [_row(name, field) for name, field in fields_by_key(keys).items()]
    yield "\n".join(["| key | value | default | meaning |", "|---|---|---|---|", *rows])
    for name, field in fields_by_key(keys).items():
        below = keys_below(field.annotation)
        if below and below not in described:
            title = f"An entry of {name}" if is_container(field.annotation) else name
            yield from sections(below, title, described)


def _row(name: str, field: FieldInfo) -> str:
    default = "required" if field.is_required() else _default(field.get_default(call_default_factory=True))
    return f"| `{name}` | {_words(field.annotation)} | {default} | {field.description} |"


def _default(value: Any) -> str:
    value = plain(value)
    if value in (None, "", [], {}) and value is not False and value != 0:
        return ""
    return "see below" if isinstance(value, dict) else f"`{json.dumps(value)}`"


_WORDS: dict[Any, str] = {bool: "true or false", int: "whole number", float: "number", str: "text", Any: "any value"}


def _words(annotation: Any) -> str:
    """A type as a reader of YAML calls it."""
    if annotation in _WORDS:
        return _WORDS[annotation]
    arguments = get_args(annotation)
    if get_origin(annotation) is Annotated:
        return _words(arguments[0])
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{each}`" for each in arguments)
    if get_origin(annotation) is tuple:
        return f"list, each {_words(arguments[0])}"
    if get_origin(annotation) is Mapping:
        return f"names, each with {_words(arguments[1])}" if keys_below(annotation) else "mapping"
    if arguments:
        return " or ".join(_words(each) for each in arguments if each is not type(None))
    return "text or keys" if getattr(annotation, "short", None) else "keys"


def write(folder: Path) -> None:
    """Write the files into a folder."""
    (folder / SCHEMA_FILE).write_text(schema_text(agent_schema()), encoding="utf-8")
    (folder / CASE_SCHEMA_FILE).write_text(schema_text(case_schema()), encoding="utf-8")
    (folder / REFERENCE_FILE).write_text(reference_text(), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
