"""Machines for benchmarks of labs over several: namespaces with an sshd each, on one LAN."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.doing.machines.ssh_machines import SSHD, Lan, lan

from benches.pair import need


@contextmanager
def lan_of(names: Sequence[str]) -> Iterator[Lan]:
    """Yield a LAN of machines, and a run directory of the caller's machine; no lab is up after it.

    Every machine has the agent already: the first lab there would send it.
    """
    need(SSHD, "ssh", "ssh-keygen", "ip")
    before = os.environ.get("DELAYLAB_RUN")
    with (
        tempfile.TemporaryDirectory(prefix="dlm-") as folder,
        tempfile.TemporaryDirectory(prefix="dlb-") as runs,
        lan(Path(folder), names) as machines,
    ):
        os.environ["DELAYLAB_RUN"] = runs
        try:
            machines.up(_on_each(names))
            machines.delaylab("down", "--all")
            yield machines
        finally:
            machines.delaylab("down", "--all")
            machines.wait_until_gone()
            if before is None:
                del os.environ["DELAYLAB_RUN"]
            else:
                os.environ["DELAYLAB_RUN"] = before


def _on_each(names: Sequence[str]) -> str:
    hosts = ", ".join(f"h{name}: {{machine: {name}}}" for name in names)
    nodes = ", ".join(f"n{name}: {{host: h{name}}}" for name in names)
    return f"lab: first\n{reached(names)}hosts: {{{hosts}}}\nnodes: {{{nodes}}}\n"


def reached(names: Sequence[str]) -> str:
    """Return the line of a lab file that says how machines are reached."""
    return f"machines: {{{', '.join(f'{name}: {{ssh: {name}}}' for name in names)}}}\n"
