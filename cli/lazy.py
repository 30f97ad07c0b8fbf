"""Commands that are imported when they are asked for, so that the start of each one stays fast."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import cast

import click


class _Commands(Mapping[str, click.Command]):
    """The commands of a table `{name: module}`; a module's attribute `command` is the click command."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._table = table

    def __getitem__(self, name: str) -> click.Command:
        command: click.Command = import_module(self._table[name], __package__).command
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


class LazyGroup(click.Group):
    """A group over a table `{name: module, relative to this package}`, listed in the table's order."""

    def __init__(self, name: str, *, table: Mapping[str, str], help: str) -> None:
        commands = cast(MutableMapping[str, click.Command], _Commands(table))
        super().__init__(name, commands, help=help, context_settings={"help_option_names": ["-h", "--help"]})

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)
