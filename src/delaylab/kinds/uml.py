"""User-Mode Linux: a kernel as a process of the host, its card on a TAP by the vector driver."""

from __future__ import annotations

from delaylab.kinds import guests
from delaylab.plan.kind import TUN, Kind, Node, Rights
from delaylab.plan.model import Agent, Guest, node_agent
from delaylab.spec import NodeSpec

PROGRAM = "linux.uml"
MEMORY_MIB = 160
OVERHEAD_MIB = 120
BOOT_DEADLINE_MS = 60_000


class Uml(Kind):
    """A kernel in user space."""

    name = "uml"
    own_kernel = True
    boot_s = 2.0

    def can_run(self, rights: Rights, on_machine: bool) -> str | None:
        """Where it is installed and TAPs can be made; root is not needed."""
        return rights.why_not(PROGRAM, TUN)

    def agent(self, node: Node) -> Agent:
        """A monitor in the host's network, where the TAPs are."""
        guest = Guest(
            "stream",
            tuple(command(node)),
            # Its memory is a file there; a disk would be slower.
            env={"TMPDIR": "/dev/shm"},
            deadline_ms=BOOT_DEADLINE_MS,
            setup=guests.setup(node),
        )
        return Agent(node_agent(node.name), node.network, cpus=node.cpus, guest=guest)

    def no_send_stamp(self, spec: NodeSpec) -> str | None:
        """The vector driver takes none (no skb_tx_timestamp())."""
        return "User-Mode Linux's vector driver takes no stamp on sending"

    def memory(self, spec: NodeSpec) -> int:
        """Its own, and what the emulator takes beside it."""
        return guests.memory(spec, MEMORY_MIB, OVERHEAD_MIB)


KIND = Uml()


def command(node: Node) -> list[str]:
    """The kernel's command line, as a host's process."""
    spec = node.spec
    # With a randomised layout it may get less memory than it asked for.
    words = ["setarch", "x86_64", "-R", spec.kernel or "{image:uml/linux}"]
    words += [f"umid={node.name}", "uml_dir={folder}", f"mem={guests.mebibytes(spec, MEMORY_MIB)}M"]
    words += ["con=null", "con0=null,fd:1", "ssl=null", "ssl0=fd:{stream}", "quiet", "panic=-1"]
    words += [f"initrd={guests.initrd(spec, 'uml')}"]
    for number, card in enumerate(node.cards):
        words.append(f"vec{number}:transport=tap,ifname={card.host.name},mac={card.card.mac}")
    return [*words, "--", *guests.init("/dev/ttyS0", []).split()]
