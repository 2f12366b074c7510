"""Tables of causes: what a kernel or a link does not say is empty, and no reason to refuse them."""

from __future__ import annotations

from delaylab.api.causes import CpuRecord, CpuWindow, Drop, How, What, by_cpu
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


def test_records_of_every_kind_are_kept() -> None:
    """One kind that a reader refused would cost the whole trial."""
    tables = CpuTables("lab")
    kinds = [(what, how) for what in What for how in How]
    made = [
        CpuRecord(time_ns=at, cpu=0, what=what, how=how) for at, (what, how) in enumerate(kinds, 1)
    ]
    window = CpuWindow(start_ns=0, end_ns=len(made), records=by_cpu(made), tasks={})
    tables.add(KERNEL, 7, 3, False, True, window)
    for name in ("windows", "cpus"):
        check_table(tables.tables[name], name)
    assert len(tables.tables["cpus"]) == len(kinds)
    assert tables.tables["windows"].select("usual", "drawn").row(0) == (False, True)
