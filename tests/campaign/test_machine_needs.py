"""The machine that a study needs: a message names each difference."""

from __future__ import annotations

import pytest

from delaylab.machines import LOCAL
from delaylab.records.machine import MachineRecord
from delaylab_study.study_file.machine_needs import MachineNeedsSpec, differences

MACHINE = MachineRecord(
    hostname="lab1",
    kernel="Linux 6.1.0-57-amd64",
    cpu="AMD EPYC 7763 64-Core Processor",
    cores=4,
    memory_bytes=8 * 2**30,
    python="3.11.2",
    delaylab="0.1.0",
    agent="0.1.0",
    clock="realtime",
)


@pytest.mark.parametrize(
    ("needs", "kvm", "said"),
    [
        ({}, False, []),
        ({"cpus": 4, "memory": "8GiB", "model": "epyc 7", "kernel": "6.1."}, False, []),
        ({"cpus": 8}, False, ["needs 8 CPUs; it has 4"]),
        ({"memory": "16GiB"}, False, ["needs 16GiB of memory; it has 8192 MiB"]),
        (
            {"model": "Xeon"},
            False,
            ["needs a CPU 'Xeon'; it has AMD EPYC 7763 64-Core Processor"],
        ),
        ({"kernel": "6.6"}, False, ["needs a kernel '6.6'; it runs 6.1.0-57-amd64"]),
        ({"kvm": True}, True, []),
        ({"kvm": True}, False, ["needs KVM: there is no /dev/kvm"]),
        ({"kvm": False}, True, ["needs a machine without KVM; it has it"]),
        (
            {"cpus": 5, "kvm": True},
            False,
            ["needs 5 CPUs; it has 4", "needs KVM: there is no /dev/kvm"],
        ),
    ],
)
def test_each_difference_is_told(needs: dict[str, object], kvm: bool, said: list[str]) -> None:
    spec = MachineNeedsSpec.model_validate(needs)
    why_not = None if kvm else "there is no /dev/kvm"
    assert list(differences(spec, MACHINE, lambda: why_not)) == said


def test_kvm_is_tried_only_where_it_matters() -> None:
    """To try it boots a guest."""

    def tried() -> str | None:
        raise AssertionError("nobody asked for it")

    assert not list(differences(MachineNeedsSpec(cpus=1), LOCAL.describe(), tried))
