"""The sweep of a machine that is reached by ssh."""

from __future__ import annotations

import pytest

from delaylab.agent.requests import Request
from delaylab.agent.wire.machines import SweepDone
from delaylab.machines.reach import Reach
from delaylab.machines.ssh import SshMachine


def test_a_sweep_that_leaves_nothing_asks_for_no_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts wait until the kernel has removed the interfaces of the lab that went down."""
    asked = []

    def ask(
        _: SshMachine, request: Request[SweepDone], timeout_s: float | None = None
    ) -> SweepDone:
        asked.append(type(request).__name__)
        return SweepDone(foreign=["notes"], failed=[])

    monkeypatch.setattr(SshMachine, "ask", ask)
    assert SshMachine("m1", Reach(ssh="m1")).sweep().foreign == ("notes",)
    assert asked == ["Sweep"]
