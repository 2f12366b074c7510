"""Tables of causes: what a kernel or a link does not say is empty, and no reason to refuse them."""

from __future__ import annotations

from delaylab.api.causes import Drop
from delaylab.api.machines import LOCAL
from delaylab_study.dataset.records.table_checks import check_table
from delaylab_study.trial.cpus import CpuTables, Kernel

KERNEL = Kernel("local", "clock", LOCAL.session)


def test_a_drop_without_a_reason_an_interface_and_a_place_is_kept() -> None:
    tables = CpuTables("lab")
    dropped = Drop(
        time_ns=1, probe=7, seq=3, cpu=0, reason=None, interface=None, lab=None, place=None
    )
    tables.add_drops(KERNEL, {(7, 3)}, [dropped])
    found = tables.tables["drops"]
    assert len(found) == 1
    check_table(found, "drops")
