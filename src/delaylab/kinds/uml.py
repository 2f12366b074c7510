"""User-Mode Linux: a kernel as a process of the host, its card on a TAP by the vector driver."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from delaylab.kinds import guest
from delaylab.plan.kind import Node, Rights
from delaylab.plan.references import to_file
from delaylab.spec.kinds import UmlNode

SCRIPT = Path(__file__).with_name("sealed.sh")
# The kernel is a process of this machine and carries out requests of root in the guest: `mount -t
# hostfs` shows all that the process can see. So the process sees only what it needs.
SEALED = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", to_file(str(SCRIPT)))
DISK = "/dev/ubda"
WITHOUT_RIGHTS = ("setpriv", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all")


class Uml(guest.VirtualMachine[UmlNode]):
    """A node whose kernel runs in user space."""

    name = "uml"
    boot_s = 2.0
    program = "linux.uml"
    overhead_mib = 120
    deadline_ms = 60_000
    # The guest's memory is a file in TMPDIR; on a disk it would be slower.
    env: Mapping[str, str] = {"TMPDIR": "/dev/shm"}

    def can_run(self, rights: Rights, on_machine: bool) -> str | None:
        """Return the reason why the kind cannot run, or None.

        User-Mode Linux before 6.13 has room for 2696 bytes of a process's registers, and the host's
        kernel takes them all or none (ptrace(2), NT_X86_XSTATE): with AMX they are 11008.
        """
        if rights.amx:
            return (
                "User-Mode Linux before 6.13 cannot save the registers of a CPU with AMX: take "
                "`kind: qemu`, or leave the node out"
            )
        return super().can_run(rights, on_machine)

    def command(self, node: Node[UmlNode]) -> list[str]:
        """Return the kernel's command line, as a process of the host."""
        spec = node.spec
        kernel = to_file(spec.kernel) if spec.kernel else "{image:uml/linux}"
        initrd, root = guest.initrd(spec, "uml"), guest.root_disk(spec)
        shown = [kernel, initrd, *([root] if root else [])]
        words = [*SEALED, "{folder}", *shown, "--", *WITHOUT_RIGHTS]
        # With a randomised address layout the kernel may get less memory than it requests.
        words += ["setarch", "x86_64", "-R", kernel]
        words += [
            f"umid={node.name}",
            "uml_dir={folder}",
            f"mem={guest.mebibytes(spec, self.memory_mib)}M",
        ]
        words += [
            "con=null",
            "con0=null,fd:1",
            "ssl=null",
            "ssl0=fd:{stream}",
            "quiet",
            "panic=-1",
            guest.ROOT,
        ]
        words += [f"initrd={initrd}"]
        # What the guest writes goes to a file in its folder, which ends with the lab.
        words += [f"ubd0={{folder}}/root.cow,{root}"] if root else []
        for number, card in enumerate(node.cards):
            words.append(f"vec{number}:transport=tap,ifname={card.host.name},mac={card.card.mac}")
        words += ["--", *guest.init("/dev/ttyS0", []).split()]
        return words + (["--root", DISK] if root else [])

    def no_send_stamp(self, spec: UmlNode) -> str | None:
        """Return the reason: the vector driver does not call skb_tx_timestamp()."""
        return "User-Mode Linux's vector driver takes no stamp on sending"


KIND = Uml()
