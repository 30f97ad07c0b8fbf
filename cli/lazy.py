"""Commands that are imported when they are asked for, so that the start of each one stays fast."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from functools import cache
from importlib import import_module
from typing import cast

import click
from click.shell_completion import CompletionItem

from .completion.values import VALUES
from .terminal.output import Output


class _Commands(Mapping[str, click.Command]):
    """The commands of a table `{name: module}`; a module's attribute `command` is the click command."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._table = table

    def __getitem__(self, name: str) -> click.Command:
        return _command(self._table[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


class _Named(click.ParamType[str]):
    """The name of something: a blank one, as an unset variable of a shell makes it, names nothing."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not value.strip():
            self.fail("it is blank", param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """What a shell may put here, by the name of the parameter."""
        values = VALUES.get(param.name or "")
        return [] if values is None else list(values(ctx, incomplete))


@cache
def _command(module: str) -> click.Command:
    """The command of a module, with what every command has: help, and no blank value but that of a TEXT."""
    command: click.Command = import_module(module, __package__).command
    if not isinstance(command, LazyGroup):
        command.params.append(_help_option())
    for param in command.params:
        if param.type is click.STRING and param.name != "text":
            param.type = _Named()
    return command


def _help_option() -> click.Option:
    """click's own would be printed to `sys.stdout`, which is not where results go."""
    return click.Option(
        ["-h", "--help"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_help,
        help="Show this message and exit.",
    )


def _print_help(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        ctx.find_object(Output).line(ctx.get_help())  # type: ignore[union-attr]  # main() sets it
        ctx.exit()


class LazyGroup(click.Group):
    """A group over a table `{name: module, relative to this package}`, listed in the table's order."""

    def __init__(self, name: str, *, table: Mapping[str, str], help: str) -> None:
        commands = cast(MutableMapping[str, click.Command], _Commands(table))
        super().__init__(name, commands, help=help, params=[_help_option()])

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)
