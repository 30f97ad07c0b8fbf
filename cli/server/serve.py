"""`agentflow serve`."""

from __future__ import annotations

from pathlib import Path

import click

from ..engine import engine_options
from ..terminal.output import note


@click.command("serve", short_help="Serve the sessions over HTTP.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; others need a key.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 for a free one.")
@click.option("--allow-host", "hosts", metavar="NAME", multiple=True, help="Answer to this host name too; repeatable.")
@click.option(
    "--cors-origin", "origins", metavar="URL", multiple=True, help="Pages of this origin may call; repeatable."
)
@click.option(
    "--drain-secs",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    help="Time to end, for turns that run.",
)
@engine_options
def command(
    host: str,
    port: int,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    drain_secs: float,
    project: Path,
    db: str | None,
) -> int:
    """Serve the sessions of a project over HTTP until a signal ends it.

    The first Ctrl-C lets turns that run end, for as long as --drain-secs says; a second one ends the process at once.
    The key is AGENTFLOW_API_KEY; without one the server answers on this machine only.
    """
    from agentflow import own_process
    from agentflow.server import app_of, read_settings, serve

    from ..log import shown_log

    own_process()
    with shown_log():
        settings = read_settings(project, db=db, hosts=hosts, origins=origins, drain_secs=drain_secs)
        return serve(app_of(settings), host, port, lambda address: note(f"the API is at {address}/api/v1"))
