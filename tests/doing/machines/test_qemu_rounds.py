"""A lab over virtual machines, of which one restarts or loses its power at any moment of its life.

As in `test_ssh_rounds.py`, but with kernels of their own: what a machine had is gone with its
kernel, which nobody cleans up after, and the connections to it end as those of a real machine do.
"""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doing.conftest import only_line, skip_unless_runnable
from tests.doing.machines.qemu_machines import Guests, guests
from tests.doing.machines.ssh_machines import LAB, NEEDED
from tests.doing.machines.test_ssh_rounds import VERBS, Round
from tests.waiting import wait_until

pytestmark = [NEEDED, pytest.mark.slow, pytest.mark.timeout(7200)]

BOOT = "/proc/sys/kernel/random/boot_id"
SEED = int(os.environ.get("DELAYLAB_SEED", "512"))
ROUNDS = int(os.environ.get("DELAYLAB_KILLS", "8"))


@pytest.fixture(scope="module")
def machines() -> Iterator[Guests]:
    skip_unless_runnable("qemu")
    with (
        tempfile.TemporaryDirectory(prefix="dlq-") as folder,
        guests(Path(folder), ["m1", "m2"], apart=["m2"]) as made,
    ):
        yield made


@pytest.mark.parametrize("verb", VERBS)
def test_a_machine_restarts_or_loses_its_power_at_any_moment(
    machines: Guests, run_directory: Path, verb: str
) -> None:
    choose = random.Random(f"{SEED} {verb}")
    for number in range(max(1, ROUNDS // len(VERBS))):
        failure, early = ("reboot", "power")[number % 2], choose.random() < 0.5
        print(f"seed {SEED}, round {number} of {verb}: {failure}, early {early}")
        booted = machines.on("m2", "cat", BOOT)
        Round(machines, verb, failure, choose, early=early).play()
        assert machines.on("m2", "cat", BOOT) != booted


def test_a_machine_that_has_restarted_is_named_with_the_way_out(
    machines: Guests, run_directory: Path
) -> None:
    """It is known to be the same machine, in another boot."""
    machines.up(LAB)
    booted = machines.on("m2", "cat", BOOT)
    machines.switch_off("m2", power=False)
    machines.switch_on("m2")
    assert machines.on("m2", "cat", BOOT) != booted
    ssh = ["nsenter", f"--net={machines.network}", str(machines.folder / "bin" / "ssh")]
    wait_until(lambda: subprocess.run([*ssh, "m2", "true"], check=False).returncode == 0)
    said = only_line(machines.up(LAB, code=1))
    assert "is up, but not on m2: it has restarted, and the lab has ended there" in said
    assert "delaylab down pair takes down the rest; then up again" in said
    done = machines.delaylab("down", "pair").stdout
    assert "pair: machine m2: it has restarted" in done
    machines.up(LAB)
    machines.delaylab("down", "pair")
    machines.wait_until_gone()
