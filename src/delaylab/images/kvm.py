"""Test whether KVM can run a guest on this machine, by booting one.

That the device /dev/kvm exists proves nothing.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath

from delaylab import images
from delaylab.progress import Progress, silent

DEVICE = Path("/dev/kvm")
DEADLINE_S = 10.0
READY = b'"ready"'


@dataclass(frozen=True)
class Probed:
    """The outcome of booting a guest on KVM.

    `reason` says why it did not boot, None if it did; `boot_s` is the time that the attempt took,
    in seconds.
    """

    reason: str | None
    boot_s: float


def probe(progress: Progress = silent) -> Probed:
    """Boot a guest on KVM within a deadline; the result is kept until this machine reboots.

    It is kept per user, in the folder of images.
    """
    before = known()
    return before if before is not None else kept(_here(), lambda: _boot(progress))


def kept(name: str, tried: Callable[[], Probed]) -> Probed:
    """Return what is known of KVM on a machine under a name; what is `tried` else, and keep that.

    The name is of a boot of the machine and a user there.
    """
    note = _note(name)
    with suppress(OSError, ValueError, TypeError):
        return Probed(**json.loads(note.read_text()))
    found = tried()
    note.parent.mkdir(parents=True, exist_ok=True)
    draft = note.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps(asdict(found)))
    draft.replace(note)
    return found


def known() -> Probed | None:
    """Return what is known without booting a guest, None if that takes a `probe`."""
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return Probed(f"{DEVICE} {'cannot be used' if DEVICE.exists() else 'is not there'}", 0)
    try:
        return Probed(**json.loads(_note(_here()).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _note(name: str) -> Path:
    return images.folder() / f"kvm-{name}.json"


def _boot(progress: Progress) -> Probed:
    image = images.require("cloud", progress)
    ours, theirs = socket.socketpair()
    began = time.monotonic()
    with (
        ours,
        subprocess.Popen(
            command(image, f"socket,id=agent,fd={theirs.fileno()}"),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as machine,
    ):
        theirs.close()
        try:
            said = _first_words(ours, began + DEADLINE_S)
            ended = machine.poll() is not None
        finally:
            machine.kill()
        assert machine.stderr is not None
        complaint = machine.stderr.read().decode(errors="replace").strip().splitlines()
    return outcome(said, complaint if ended else [], time.monotonic() - began)


def outcome(said: bytes, complaint: Sequence[str], took: float) -> Probed:
    """Return the outcome of a boot by what the guest said, and the lines of a QEMU that ended."""
    if READY in said:
        return Probed(None, took)
    if complaint:
        return Probed(complaint[-1], took)
    return Probed(f"a test guest did not boot on KVM within {DEADLINE_S:.0f} s", took)


def _first_words(stream: socket.socket, until: float) -> bytes:
    said = b""
    while READY not in said:
        left = until - time.monotonic()
        if left <= 0 or not select.select([stream], [], [], left)[0]:
            break
        part = stream.recv(4096)
        if not part:
            break
        said += part
    return said


def command(image: Mapping[str, PurePath], stream: str) -> list[str]:
    """Return the command that boots a guest whose agent speaks by a character device of QEMU."""
    init = "init --stream virtio:delaylab --modules virtio_pci,virtio_console"
    return [
        *("qemu-system-x86_64", "-accel", "kvm", "-machine", "pc", "-m", "192"),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-kernel", str(image["kernel"]), "-initrd", str(image["initrd"])),
        *("-append", f"quiet panic=-1 -- {init}"),
        *("-device", "virtio-serial-pci", "-chardev", stream),
        *("-device", "virtserialport,chardev=agent,name=delaylab"),
    ]


def _here() -> str:
    """Return the name of this machine's boot and this user."""
    return f"{Path('/proc/sys/kernel/random/boot_id').read_text()[:8]}-{os.geteuid()}"
