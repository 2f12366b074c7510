"""Worker of campaigns: it offers this machine to a dask scheduler until it is ended."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from contextlib import suppress

import dask
from distributed import Status, Worker
from distributed.comm.core import connect
from distributed.security import Security

from delaylab.api.errors import DelaylabError
from delaylab_study.campaign import dask_tasks

FIRST_S = 10.0
"""The time to reach the scheduler in for the first time."""
AGAIN_S = 5.0
"""The time after which a worker that lost its scheduler tries again."""
SETTINGS = {
    # None of these is needed: this worker runs one task at a time, in another process.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.system-monitor.disk": False,
    "distributed.admin.tick.interval": "10s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.http.routes": [],
}

Say = Callable[[str], None]


def work(scheduler: str, name: str, security: Security | None, host: str | None, say: Say) -> None:
    """Offer this machine to a scheduler until SIGINT or SIGTERM; labs are then taken down.

    Raise DelaylabError if the scheduler cannot be reached at first. Once it was, a worker that
    loses it tries again.
    """
    try:
        asyncio.run(_work(scheduler, name, security, host, say))
    finally:
        dask_tasks.close()


async def _work(
    scheduler: str, name: str, security: Security | None, host: str | None, say: Say
) -> None:
    ended = asyncio.Event()
    # What happens to the scheduler is said in a line here.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, ended.set)
    reached = False
    settings = {**SETTINGS, "distributed.comm.timeouts.connect": f"{FIRST_S:g}s"}
    with dask.config.set(settings):
        while not ended.is_set():
            try:
                worker = await _started(scheduler, name, security, host)
            except (OSError, ValueError, RuntimeError) as error:
                if not reached:
                    raise DelaylabError(_reason(scheduler, error)) from None
            else:
                reached = True
                say(f"{name}: offered to {scheduler}")
                await _until(worker, ended)
                if not ended.is_set():
                    say(f"{name}: the scheduler is gone; trying again")
            await _slept(ended)


async def _started(
    scheduler: str, name: str, security: Security | None, host: str | None
) -> Worker:
    # A worker waits for a scheduler without end, so it is looked for first.
    asked = security.get_connection_args("worker") if security is not None else {}
    (await connect(scheduler, timeout=FIRST_S, **asked)).abort()
    worker = Worker(
        scheduler,
        name=name,
        nthreads=1,
        resources={dask_tasks.RESOURCE: 1},
        memory_limit=0,
        dashboard=False,
        host=host,
        security=security,
    )
    await worker
    return worker


async def _until(worker: Worker, ended: asyncio.Event) -> None:
    """Wait until a worker has lost its scheduler, or is to end."""
    finished = asyncio.ensure_future(worker.finished())
    asked = asyncio.ensure_future(ended.wait())
    await asyncio.wait({finished, asked}, return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    # What it runs ends with it: nobody would take the outcome.
    dask_tasks.close()
    if worker.status not in (Status.closed, Status.failed):
        await worker.close(timeout=5)
    finished.cancel()


async def _slept(ended: asyncio.Event) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(ended.wait(), AGAIN_S)


def _reason(scheduler: str, error: BaseException) -> str:
    text = str(error).strip()
    line = text.splitlines()[0] if text else type(error).__name__
    return f"no scheduler at {scheduler}: {line}"
