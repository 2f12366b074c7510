"""A lab over virtual machines, of which one restarts or loses its power at any moment of its life.

As in `test_ssh_rounds.py`, but with kernels of their own: what a machine had is gone with its
kernel, which nobody cleans up after, and the connections to it end as those of a real machine do.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doing.conftest import skip_unless_runnable
from tests.doing.machines.qemu_machines import Guests, guests
from tests.doing.machines.ssh_machines import NEEDED
from tests.doing.machines.test_ssh_rounds import VERBS, Round

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
