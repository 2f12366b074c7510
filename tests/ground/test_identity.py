"""Identities of machines: one machine by several names, others, and the same one restarted."""

from __future__ import annotations

from delaylab.agent.wire.machines import DescribeMachineDone
from delaylab.machines.identity import MachineIdentity, identity_by
from delaylab.machines.reach import Reach

KEYS = ("ssh-ed25519 AAAA", "ssh-rsa BBBB")
PLAIN = DescribeMachineDone(
    identity="1/2",
    machine_id="id",
    host_keys=KEYS,
    hostname="one",
    kernel="Linux 6.1",
    user=0,
    capabilities="0",
    lacking=[],
    cpu="",
    cpus="0",
    memory_bytes=0,
    available_bytes=0,
    run_directory="/run/delaylab",
    connection="",
    free_bytes=0,
)


def identity(
    ssh: str = "m1", *, boot: str = "1/2", machine_id: str = "id", host: str = "one"
) -> MachineIdentity:
    changed = {"identity": boot, "machine_id": machine_id, "hostname": host}
    return identity_by(PLAIN.model_copy(update=changed), Reach(ssh=ssh))


def test_a_machine_is_the_same_whatever_ssh_calls_it() -> None:
    assert identity("m1").is_surely(identity("srv1"))
    assert not identity("m1").differs(identity("srv1"))
    assert not identity("m1").has_restarted(identity("srv1"))


def test_a_restarted_machine_is_still_the_same() -> None:
    before, after = identity(boot="1/2"), identity(boot="3/2")
    assert before.is_surely(after)
    assert before.has_restarted(after)


def test_copies_of_one_image_are_told_apart_only_if_their_marks_differ() -> None:
    assert identity().differs(identity(machine_id="other"))
    copy = identity(host="two", boot="3/2")
    assert not identity().differs(copy)
    assert not identity().is_surely(copy)
    assert not identity().has_restarted(copy)


def test_of_a_machine_without_marks_nothing_is_known() -> None:
    unknown = identity_by(PLAIN.model_copy(update={"machine_id": "", "host_keys": ()}), None)
    assert unknown.machine == ""
    assert not unknown.is_surely(unknown)
    assert not identity().differs(unknown)


def test_a_name_of_a_host_is_printable() -> None:
    assert identity(host="a\x1b[2Jb").host.isprintable()
