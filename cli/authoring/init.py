"""`agentflow init`: a project to start from."""

from __future__ import annotations

from pathlib import Path

import click

from ..terminal.output import Output, note
from .templates.table import TEMPLATES

_FIRST = "hello"
_LIST = "\n".join(f"  {name:<13} {template.about}" for name, template in TEMPLATES.items())


@click.command(
    "init",
    short_help="Write a small project that runs without a key.",
    help="Write a small project into DIR: agents, their scripts, flows and tests that pass. Overwrites nothing.\n\n"
    f"DIR is the template's name unless given; without a template it is {_FIRST}, in DIR or in the current folder.\n\n"
    f"\b\nThe templates:\n{_LIST}",
)
@click.argument("words", metavar="[TEMPLATE] [DIR]", nargs=-1)
@click.pass_obj
def command(output: Output, words: tuple[str, ...]) -> None:
    name, folder = _chosen(words)
    template = TEMPLATES[name]
    if folder.exists() and not folder.is_dir():
        raise click.UsageError(f"{folder} is a file, nothing was written")
    present = [file for file in template.files if (folder / file).exists()]
    if present:
        raise click.UsageError(f"{folder / present[0]} exists already, nothing was written")
    for file, text in template.files.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        output.line(str(path))
    enter = "" if folder == Path(".") else f"cd {folder} && "
    note(f"try: {enter}{template.commands[0]}")
    for further in (*template.commands[1:], "pytest"):
        note(f"then: {further}")


def _chosen(words: tuple[str, ...]) -> tuple[str, Path]:
    """The template and the folder: the name of a template alone is both."""
    if len(words) > 2:
        raise click.UsageError("give a TEMPLATE and a DIR, no more")
    if any(not word.strip() for word in words):
        raise click.UsageError("TEMPLATE and DIR must not be blank")
    if len(words) == 2:
        if words[0] not in TEMPLATES:
            raise click.UsageError(f"there is no template {words[0]!r}; there are {', '.join(TEMPLATES)}")
        return words[0], Path(words[1])
    if not words:
        return _FIRST, Path(".")
    return (words[0] if words[0] in TEMPLATES else _FIRST), Path(words[0])
