"""Verb `worker`, without logic."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Annotated

import typer

from delaylab.api.command_line import HelpGroup, app, console
from delaylab.api.errors import needed
from delaylab_study.cli.options import TLS_CA, TLS_CERT, TLS_KEY


@app.command(rich_help_panel=HelpGroup.MEASUREMENTS)
def worker(
    scheduler: Annotated[
        str,
        typer.Argument(
            metavar="SCHEDULER", help="The dask scheduler, such as `tcp://lab0:8786` or `tls://…`."
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(help="The machine's name in datasets; left out, its host name."),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="The address at which the scheduler and others reach it."
        ),
    ] = None,
    tls_ca: Annotated[Path | None, TLS_CA] = None,
    tls_cert: Annotated[Path | None, TLS_CERT] = None,
    tls_key: Annotated[Path | None, TLS_KEY] = None,
) -> None:
    """Offer this machine to `run --on SCHEDULER`, until Ctrl-C: it runs trials of campaigns."""
    with needed("`delaylab worker`"):
        from delaylab_study.campaign.security import security_of
        from delaylab_study.campaign.worker import work

    def say(what: str) -> None:
        console(stderr=True).print(what, markup=False, soft_wrap=True)

    work(scheduler, name or platform.node(), security_of(tls_ca, tls_cert, tls_key), host, say)
