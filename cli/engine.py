"""How a command reaches the engine: the shared options, and a runtime that lives as long as the work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from .terminal.colors import COLOR, Choice
from .terminal.output import Output

if TYPE_CHECKING:
    from agentflow import Runtime

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

project_option = click.option(
    "--project",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path("."),
    help="Folder of the project.  [default: the current one]",
)
db_option = click.option(
    "--db", metavar="URL", help="Database of the sessions, a file or a URL.  [default: the project's]"
)


def _set_quiet(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    output = ctx.find_object(Output)
    if output is not None and wanted:
        output.quiet = True


def _set_markdown(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    output = ctx.find_object(Output)
    if output is not None and wanted:
        output.markdown = True


def _set_color(_: click.Context, __: click.Parameter, choice: Choice) -> None:
    COLOR.choice = choice


_quiet_option = click.option(
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=_set_quiet,
    help="Do not tell what goes on while the turn runs.",
)
_markdown_option = click.option(
    "--markdown",
    is_flag=True,
    expose_value=False,
    callback=_set_markdown,
    help="On a terminal, show the answer as Markdown is meant, once it is whole.",
)
color_option = click.option(
    "--color",
    type=click.Choice(get_args(Choice)),
    default="auto",
    expose_value=False,
    is_eager=True,
    callback=_set_color,
    help="Colours in what is said to people.  [default: auto, as NO_COLOR, FORCE_COLOR and the terminal say]",
)
_record_option = click.option(
    "--record", metavar="FILE", type=click.Path(path_type=Path), help="Add what the models reply to FILE."
)
_replay_option = click.option(
    "--replay", metavar="FILE", type=click.Path(path_type=Path), help="Reply what FILE has; no network."
)


def engine_options(command: F) -> F:
    """Gives a command `project` and `db`, as `with_runtime` takes them."""
    return project_option(db_option(command))


def following_options(command: F) -> F:
    """Gives a command that follows a turn `--markdown`, `--quiet` and `--color`; they set the output, no parameter."""
    return _markdown_option(_quiet_option(color_option(command)))


def recording_options(command: F) -> F:
    """Gives a command that runs a turn `record` and `replay`, as `models_of` takes them."""
    return _record_option(_replay_option(command))


def models_of(record: Path | None, replay: Path | None) -> Callable[..., Any] | None:
    """How models are opened: as usual, recorded into a file, or replayed from one (R9)."""
    from agentflow import Recorder, Replay

    if record is not None and replay is not None:
        raise click.UsageError("--record keeps what models reply and --replay asks none: give one of them")
    if record is not None:
        return Recorder(record)
    return None if replay is None else Replay(replay)


def project_of(agent: str, project: Path) -> Path:
    """The project as given; without one, a path to an agent in another project's agents/ brings that one along."""
    path = Path(agent).resolve()
    folder = path.parent if path.name == "agent.yaml" else path
    own = folder.parent.parent
    is_elsewhere = folder.parent.name == "agents" and own != Path.cwd() and (folder / "agent.yaml").is_file()
    return own if is_elsewhere and project == Path(".") else project


def place(project: Path, db: str | None) -> tuple[str, ...]:
    """The options that name this project and database in a command that is printed."""
    named = () if project == Path(".") else ("--project", str(project))
    if db is None:
        return named
    from agentflow import redact

    return (*named, "--db", redact(db))  # who reads the line puts the password in again


def with_runtime(
    project: Path,
    db: str | None,
    work: Callable[[Runtime], Awaitable[T]],
    open_model: Callable[..., Any] | None = None,
    *,
    serve_queues: bool = False,
) -> T:
    """Opens the project, does the work and closes it again; queues of other requests are left alone, unless a command
    stays for them.
    """
    from agentflow import own_process, with_runtime

    from .log import shown_log

    own_process()
    _opened(project, db)
    with _naming_option(db), shown_log():
        return with_runtime(work, project, db=db, serve_queues=serve_queues, open_model=open_model)


def reading(project: Path, db: str | None, work: Callable[[Runtime], Awaitable[T]], *, trusted: bool = False) -> T:
    """Opens the project to look at it: nothing is made or changed, no file either (Z1). Unless it is `trusted`, no host
    is asked that the file of a project elsewhere names (Z4).
    """
    from agentflow import with_runtime

    from .log import shown_log

    _opened(project, db)
    with _naming_option(db), shown_log():
        return with_runtime(work, project, db=db, serve_queues=False, read_only=True, trusted=trusted)


def _opened(project: Path, db: str | None) -> None:
    """Remember which database the command works on: an error that nothing explains may come of its rows (Z1)."""
    context = click.get_current_context(silent=True)
    output = None if context is None else context.find_object(Output)
    if output is not None:
        output.database = (project, db)


@contextmanager
def _naming_option(db: str | None) -> Iterator[None]:
    """A database that `--db` names wrongly is a mistake of the command line, told as one."""
    from agentflow import InvalidInput

    try:
        yield
    except InvalidInput as error:
        if db is None or error.detail.get("field") != "db":
            raise
        raise click.BadParameter(error.message.removeprefix("db: "), param_hint="'--db'") from None
