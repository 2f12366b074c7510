"""Sessions with the agent in a virtual machine: what their clients leave ends."""

from __future__ import annotations

import pytest

from delaylab.agent.wire.sessions import Exec
from delaylab.lab.attach import attach
from delaylab.lab.running import LiveLab
from tests.doing.conftest import Up, left_to_slow, skip_unless_runnable
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.root


def processes(lab: LiveLab, name: str) -> list[str]:
    """The processes of a machine in whose command lines a name is.

    The pattern does not match the command line of grep itself. One grep reads all of them, since a
    program takes long to start in an emulated machine.
    """
    look = f"grep -l '[{name[0]}]{name[1:]}' /proc/[0-9]*/cmdline 2>/dev/null"
    session = lab.node_session("vm")
    said = session.call(Exec(argv=["sh", "-c", look]), PATIENCE_S).stdout.decode()
    session.close()
    return said.splitlines()


@pytest.mark.parametrize("kind", ["qemu", *left_to_slow("uml")])
def test_a_closed_session_ends_its_command_and_itself(up: Up, kind: str) -> None:
    skip_unless_runnable(kind)
    lab = attach(
        up(f"lab: vms\nnodes: {{vm: {{kind: {kind}}}, far: {{}}}}\nlinks: [{{join: [vm, far]}}]\n")
    )
    sessions = len(processes(lab, "init"))
    working = lab.node_session("vm")
    working.start(Exec(argv=["sleep", "1234"]))
    working.event(PATIENCE_S)
    assert processes(lab, "1234")
    working.close()
    wait_until(lambda: not processes(lab, "1234"), PATIENCE_S)
    wait_until(lambda: len(processes(lab, "init")) <= sessions, PATIENCE_S)
