"""The YAML door: text in, plain data and the place of every key and value out (A2).

Scalars are read by the YAML 1.2 core schema, so `no`, `on` and `12:30` stay text. Keys are text. Duplicate keys,
odd tags and unset variables are collected, so that they are reported together with what a schema complains about;
what leaves nothing to read (broken syntax, an alias bomb, a file that is too big) is raised at once.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping
from typing import Any, Never

import yaml
from yaml.reader import ReaderError

from agentflow.config.document.codes import Code
from agentflow.config.document.credentials import learn_credential
from agentflow.config.document.document import Document, Mark, Place
from agentflow.config.document.problems import Path, Problem, invalid, mask_line, window
from agentflow.config.document.scalars import CORE
from agentflow.config.document.variables import substitute
from agentflow.errors import InvalidConfig
from agentflow.secrets.names import holds_secrets, is_secret

MAX_BYTES = 1_000_000
MAX_VALUES = 20_000
MAX_DEPTH = 64

_TAG = "tag:yaml.org,2002:"
_MERGE = _TAG + "merge"
_TYPED = {_TAG + kind.name: kind for kind in CORE}
_TEXT = {_TAG + "str", "!", _MERGE}
_CONTAINERS = {_TAG + "seq", _TAG + "map"}
_TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"
_TOO_MANY = f"holds more than {MAX_VALUES} values (each use of an alias counts again); it is refused"

_Pairs = dict[str, tuple[yaml.Node, yaml.Node]]


def read(
    path: pathlib.Path,
    *,
    name: str | None = None,
    variables: Mapping[str, str] | None = None,
    text: bytes | str | None = None,
) -> Document:
    """Parse a file, or `text` in place of it; `name` is what messages call it, its path unless given.

    Raises `InvalidConfig`.
    """
    name = name or str(path)
    if text is not None:
        return parse(text, name, variables=variables)
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise invalid([Problem(name, 1, 1, "", Code.UNREADABLE_FILE, f"cannot be read: {error.strerror}")]) from error
    return parse(content, name, variables=variables)


def parse(content: bytes | str, name: str, *, variables: Mapping[str, str] | None = None) -> Document:
    """Parse the text of a file called `name`; `${VAR}` is filled from `variables`, or left alone without them.

    Raises `InvalidConfig` when there is nothing to go on with; lesser problems are in the document.
    """
    text = _decoded(content, name)
    document = Document(name, text.splitlines())
    try:
        root = _Loader(text).get_single_node()
    except yaml.YAMLError as error:
        raise _broken(document, text, error) from None
    if root is not None:
        _Walk(document, variables).start(root)
    return document


def _decoded(content: bytes | str, name: str) -> str:
    if len(content) > MAX_BYTES:
        raise invalid([Problem(name, 1, 1, "", Code.TOO_LARGE, f"is larger than {MAX_BYTES} bytes; it is refused")])
    if isinstance(content, str):
        return content.removeprefix("\ufeff")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise invalid([Problem(name, line, 1, "", Code.NOT_UTF8, "is not UTF-8 text; save it as UTF-8")]) from None


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 -- the library's attribute, emptied of YAML 1.1

    depth = 0
    count = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self.depth += 1
        self.count += 1
        if self.depth > MAX_DEPTH or self.count > 2 * MAX_VALUES:  # a key is a node too
            problem = _TOO_DEEP if self.depth > MAX_DEPTH else _TOO_MANY
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=self.peek_event().start_mark)  # type: ignore[no-untyped-call]  # stubs leave it out
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


for _kind in CORE:
    _Loader.add_implicit_resolver(_TAG + _kind.name, _kind.shape, list(_kind.first))
_Loader.add_implicit_resolver(_MERGE, re.compile("^<<$"), ["<"])


# What the parser says, and what to do about it.
_HINTS = (
    ("'\\t' that cannot start", "; write blanks, not tabs"),
    (
        "mapping values are not allowed",
        "; put a text that contains ': ' in quotes, and indent keys of one mapping alike",
    ),
    ("that cannot start any token", "; put a text that starts with it in quotes"),
    ("undefined alias", "; put a text that starts with * in quotes"),
    ("but got '{'", "; inside { } and [ ] put ${VAR} in quotes"),
    ("but got '<stream end>'", "; what is opened here is never closed"),
    ("but got '", "; inside { } and [ ] put a text with one of , ? : { } [ ] in quotes"),
    ("could not find expected ':'", "; a key has ': ' after it, and a text with a ? inside { } or [ ] goes in quotes"),
    ("but found '<scalar>'", "; quotes go round the whole text, and a ' inside of '...' is written twice"),
    ("but found '<block mapping start>'", "; indent keys of one mapping alike"),
    ("but found another document", "; one file holds one document"),
)


def _broken(document: Document, text: str, error: yaml.YAMLError) -> InvalidConfig:
    """The parser's complaint in our form, without a secret that may be the reason for it."""
    said, mark = _complaint(text, error)
    said += next((hint for sign, hint in _HINTS if sign in said), "")
    if _in_secret(document.lines, mark.line):
        said, source, caret = "this value cannot be read; put it in quotes", "", 0
    else:
        line = document.lines[mark.line] if mark.line < len(document.lines) else ""
        source, caret = window(mask_line(line), mark.column)
    return invalid([Problem(document.file, mark.line + 1, mark.column + 1, "", Code.YAML_SYNTAX, said, source, caret)])


def _complaint(text: str, error: yaml.YAMLError) -> tuple[str, Mark]:
    if isinstance(error, ReaderError):
        before = text[: error.position].splitlines() or [""]
        code = f"U+{ord(text[error.position]):04X}"
        return f"the character {code} is not allowed in YAML", Mark(len(before) - 1, len(before[-1]))
    assert isinstance(error, yaml.MarkedYAMLError)
    # What was never closed is to be mended where it begins, not at the end of the file.
    unclosed = error.problem == "found unexpected end of stream"
    found = (error.context_mark if unclosed else error.problem_mark) or error.context_mark
    said = ", ".join(part for part in (error.context, error.problem) if part)
    return said, Mark(found.line, found.column) if found else Mark(0, 0)


def _in_secret(lines: list[str], line: int) -> bool:
    """Whether a line of an unparsed file may be, or continue, the value of a secret key."""
    indent: int | None = None
    for text in reversed(lines[: line + 1]):
        depth = len(text) - len(text.lstrip())
        if not text.strip() or (indent is not None and depth >= indent):
            continue
        if mask_line(text) != text or is_secret(text.strip(" :'\"")):
            return True
        indent = depth
    return False


class _Walk:
    """From nodes to data: reads scalars, merges, fills variables in, and notes where everything stands."""

    def __init__(self, document: Document, variables: Mapping[str, str] | None) -> None:
        self._document = document
        self._variables = variables
        self._count = 0
        self._open: set[int] = set()
        self._complaints: list[tuple[Path, Code, str, Mark]] = []

    def start(self, root: yaml.Node) -> None:
        self._document.data = self._value(root, (), _start(root))
        # Only now are all secrets known that may stand on the same lines.
        for path, code, message, mark in self._complaints:
            self._document.problems.append(self._document.problem(path, code, message, at=mark))

    def _value(self, node: yaml.Node, path: Path, key: Mark) -> Any:
        self._enter(node, path)
        self._document.places[path] = _place(node, key)
        if holds_secrets(path):
            self._document.secrets.append((_start(node), _end(node)))
        value = self._scalar(node, path) if isinstance(node, yaml.ScalarNode) else self._container(node, path)
        self._open.discard(id(node))
        return value

    def _container(self, node: yaml.Node, path: Path) -> Any:
        if node.tag not in _CONTAINERS:
            self._complain(path, node, Code.YAML_TAG, "carries a tag that is not supported; leave it out")
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, (*path, index), _start(item)) for index, item in enumerate(node.value)]
        pairs = self._pairs(node, path)
        return {key: self._value(value, (*path, key), _start(at)) for key, (at, value) in pairs.items()}

    def _pairs(self, node: yaml.Node, path: Path) -> _Pairs:
        """The pairs of a mapping by key, merged ones first; its own win, then those of an earlier base."""
        merged: _Pairs = {}
        own: _Pairs = {}
        for at, value in node.value:
            key = self._key(at, path)
            if key in own:
                lines = f"given on line {own[key][0].start_mark.line + 1} and again on line {at.start_mark.line + 1}"
                self._complain((*path, key), at, Code.DUPLICATE_KEY, f"duplicate key, {lines}")
            own[key] = (at, value)
            if at.tag == _MERGE:
                for base in self._bases(value, path):
                    merged = self._base_pairs(base, path) | merged
        return {key: pair for key, pair in (merged | own).items() if pair[0].tag != _MERGE}

    def _base_pairs(self, base: yaml.Node, path: Path) -> _Pairs:
        self._count += len(base.value)
        self._enter(base, path)
        pairs = self._pairs(base, path)
        self._open.discard(id(base))
        return pairs

    def _bases(self, node: yaml.Node, path: Path) -> list[yaml.Node]:
        bases = node.value if isinstance(node, yaml.SequenceNode) else [node]
        if all(isinstance(base, yaml.MappingNode) for base in bases):
            return list(bases)
        self._complain(
            (*path, "<<"), node, Code.YAML_MERGE, "merges a mapping, or a list of mappings, and nothing else"
        )
        return []

    def _key(self, node: yaml.Node, path: Path) -> str:
        if not isinstance(node, yaml.ScalarNode):
            self._complain(
                path,
                node,
                Code.KEY_NOT_TEXT,
                "a key must be a text, not a list or a mapping; put a template {{ }} in quotes",
            )
        elif node.tag not in _TEXT:
            self._complain((*path, node.value), node, Code.KEY_NOT_TEXT, "a key must be a text: put it in quotes")
        return node.value if isinstance(node, yaml.ScalarNode) else "?"

    def _scalar(self, node: yaml.ScalarNode, path: Path) -> Any:
        if node.tag in _TYPED:
            return self._typed(node, path)
        if node.tag not in _TEXT:
            self._complain(path, node, Code.YAML_TAG, "starts with a tag that is not supported; put the text in quotes")
        if self._variables is None:
            return node.value
        text, complaints = substitute(node.value, self._variables)
        for complaint in complaints:
            self._complain(path, node, Code.VARIABLE, complaint)
        learn_credential(path, text)
        return text

    def _typed(self, node: yaml.ScalarNode, path: Path) -> Any:
        kind = _TYPED[node.tag]
        try:
            if kind.shape.match(node.value):
                return kind.read(node.value)
        except ValueError:  # an integer of more digits than Python converts
            pass
        self._complain(path, node, Code.UNREADABLE_VALUE, f"is not a readable {kind.name}")
        return node.value

    def _enter(self, node: yaml.Node, path: Path) -> None:
        self._count += 1
        if self._count > MAX_VALUES:
            self._refuse(node, _TOO_MANY)
        if len(path) > MAX_DEPTH:
            self._refuse(node, _TOO_DEEP)
        if id(node) in self._open:
            self._refuse(node, "contains itself through an alias")
        self._open.add(id(node))

    def _complain(self, path: Path, node: yaml.Node, code: Code, message: str) -> None:
        self._complaints.append((path, code, message, _start(node)))

    def _refuse(self, node: yaml.Node, message: str) -> Never:
        mark = _start(node)
        raise invalid([Problem(self._document.file, mark.line + 1, mark.column + 1, "", Code.TOO_LARGE, message)])


def _start(node: yaml.Node) -> Mark:
    return Mark(node.start_mark.line, node.start_mark.column)


def _end(node: yaml.Node) -> Mark:
    return Mark(node.end_mark.line, node.end_mark.column)


def _place(node: yaml.Node, key: Mark) -> Place:
    if not isinstance(node, yaml.ScalarNode):
        return Place(key, _start(node))
    block = node.style if node.style in ("|", ">") else None
    return Place(key, _start(node), node.value, node.style is not None, block)
