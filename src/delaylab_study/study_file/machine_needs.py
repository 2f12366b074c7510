"""The machine that a study needs, and how one differs from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pydantic import Field

from delaylab.api.models import Spec
from delaylab.api.records import MachineRecord
from delaylab.api.units import Size


class MachineNeedsSpec(Spec):
    """The machine that a study needs; one that differs runs none of its trials."""

    cpus: int | None = Field(None, gt=0, description="It has at least so many CPUs.")
    memory: Size | None = Field(None, description="It has at least so much memory.")
    kvm: bool | None = Field(
        None, description="`true`: KVM works on it; `false`: virtual machines are emulated on it."
    )
    model: str | None = Field(
        None, min_length=1, description="The name of its CPU has this text: `EPYC 7`."
    )
    kernel: str | None = Field(
        None, min_length=1, description="The release of its kernel begins with this: `6.1.`."
    )


def differences(
    needs: MachineNeedsSpec, machine: MachineRecord, why_no_kvm: Callable[[], str | None]
) -> Iterator[str]:
    """Yield each difference between a machine and what a study needs, in words.

    `why_no_kvm` tells why KVM does not work on it, None if it does; it is asked if that matters.
    """
    if needs.cpus is not None and machine.cores < needs.cpus:
        yield f"needs {needs.cpus} CPUs; it has {machine.cores}"
    if needs.memory is not None and machine.memory_bytes < needs.memory.bytes:
        has_mib = machine.memory_bytes // 2**20
        yield f"needs {needs.memory} of memory; it has {has_mib} MiB"
    if needs.model is not None and needs.model.lower() not in machine.cpu.lower():
        yield f"needs a CPU {needs.model!r}; it has {machine.cpu}"
    release = machine.kernel.rpartition(" ")[2]
    if needs.kernel is not None and not release.startswith(needs.kernel):
        yield f"needs a kernel {needs.kernel!r}; it runs {release}"
    if needs.kvm is not None:
        why_not = why_no_kvm()
        if needs.kvm and why_not is not None:
            yield f"needs KVM: {why_not}"
        elif not needs.kvm and why_not is None:
            yield "needs a machine without KVM; it has it"
