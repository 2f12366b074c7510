"""Identities of machines, by which a lab's record names them: names for ssh are a user's own."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from delaylab.io.printable import one_line
from delaylab.machines.reach import Reach

if TYPE_CHECKING:
    from delaylab.agent.session import Session
    from delaylab.agent.wire.machines import DescribeMachineDone


class MachineIdentity(BaseModel):
    """A machine of a lab: its host name, the machine itself, the boot, and its name for ssh.

    `machine` stays the same when it restarts, `boot` does not; each is empty if it is not known.
    `ssh`, `sudo` and `cache` are how the user who started the lab reaches it (`Reach`); `ssh` is
    None for the machine that started it.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    host: str = ""
    machine: str = ""
    boot: str = ""
    ssh: str | None = None
    sudo: bool = False
    cache: str | None = None

    @property
    def reach(self) -> Reach | None:
        """Return how the user who started the lab reaches it; None for the machine of that user."""
        return None if self.ssh is None else Reach(ssh=self.ssh, sudo=self.sudo, cache=self.cache)

    def differs(self, now: MachineIdentity) -> bool:
        """Return True if `now` is certainly another machine."""
        return bool(self.machine and now.machine) and self.machine != now.machine

    def is_surely(self, now: MachineIdentity) -> bool:
        """Return True if `now` is this machine. Copies of one image differ by their host name."""
        return bool(self.machine) and (self.machine, self.host) == (now.machine, now.host)

    def has_restarted(self, now: MachineIdentity) -> bool:
        """Return True if this machine was started anew since."""
        return bool(self.boot) and self.is_surely(now) and self.boot != now.boot


def identity(session: Session, reach: Reach | None) -> MachineIdentity:
    """Ask the machine of a session which one it is; raise DelaylabError if it does not answer."""
    from delaylab.agent.wire.machines import DescribeMachine  # noqa: PLC0415  seldom used

    try:
        return identity_by(session.call(DescribeMachine()).done, reach)
    finally:
        session.close()


def identity_by(facts: DescribeMachineDone, reach: Reach | None) -> MachineIdentity:
    """Return the identity of the machine that these facts are of."""
    # A hash, since the id is for the machine itself (machine-id(5)).
    marks = "\n".join([facts.machine_id, *facts.host_keys]).strip()
    machine = hashlib.sha256(marks.encode()).hexdigest()[:32] if marks else ""
    # Without the network namespace, which is another one for a login into a container.
    boot, _, _ = facts.identity.partition("/")
    way = {} if reach is None else reach.model_dump()
    return MachineIdentity(host=one_line(facts.hostname), machine=machine, boot=boot, **way)
