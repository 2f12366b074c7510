"""The connection to another machine: one ssh, over which all sessions with that machine go.

The agent is put there once, under the sum of its content, and started by the machine's shell. From
then on its standard input and output carry all sessions (`crates/agent/src/machine`). Nothing
listens there, and nothing stays when the connection ends but the labs that were kept.
"""

from __future__ import annotations

import hashlib
import os
import re
import select
import socket
import subprocess
import threading
import time
import weakref
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO

from delaylab.agent.binary import agent_path
from delaylab.agent.frames import Frame, FrameKind
from delaylab.agent.result import Unreachable
from delaylab.agent.session import Session
from delaylab.agent.stream import Descriptors
from delaylab.errors import NotHere
from delaylab.io.printable import one_line
from delaylab.machines.reach import Reach

CONNECT_S = 15
GREETING_S = 30.0
"""Seconds from the start of ssh until the machine's shell has answered."""
UPLOAD_S = 300.0
"""Seconds that the agent may take to get there."""
MOST_GREETING = 64 << 10
"""The most bytes that a login shell may print before the answer, such as a message of the day."""
MOST_SAID = 4096
"""The bytes of ssh's messages that are kept: its last ones."""
OPTIONS = {
    "BatchMode": "yes",
    "ConnectTimeout": CONNECT_S,
    "ServerAliveInterval": 5,
    "ServerAliveCountMax": 3,
    "ClearAllForwardings": "yes",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "RequestTTY": "no",
    "RemoteCommand": "none",
    "ControlMaster": "no",
    "PermitLocalCommand": "no",
    "LogLevel": "ERROR",
}
"""Options of ssh (ssh_config(5)): no questions, no forwardings, an end when the machine is gone,
and no banners or warnings, which would be taken for the cause of a failure. All others are the
user's."""
TRUNK_ENDS_S = 0.3
"""Seconds within which the trunk ends after its sessions, if it is not only one of these that did.
"""
ENDS_S = 5.0
"""Seconds that ssh may take to end after the machine has closed its output, or has said failed."""
MARK = "delaylab-machine"
"""The first word of the answers of the machine's shell."""
SCRIPT = """\
umask 077; echo {mark} >&2; say() {{ printf "\\n%s %s\\n" {mark} "$*"; }}; \
say $(uname -s) $(uname -m) $SSH_CONNECTION; \
d="{folder}"; f="$d/agent-{sum}"; \
whole() {{ [ -O "$f" ] && echo "{sum}  $f" | sha256sum -c >/dev/null 2>&1; }}; \
fail() {{ say failed "$*"; exit 1; }}; \
mkdir -p "$d" && [ -O "$d" ] && chmod go-w "$d" || fail folder; \
if whole && [ -x "$f" ]; then :; else say wanted; \
head -c {size} > "$f.$$" && chmod 700 "$f.$$" && mv -f "$f.$$" "$f" || \
{{ e=$(ulimit -f); rm -f "$f.$$"; fail write $e; }}; \
whole || {{ e=$(ulimit -f); rm -f "$f"; fail write $e; }}; \
"$f" --version >/dev/null 2>&1 || {{ rm -f "$f"; fail run; }}; fi; \
{may}say there; exec {sudo}"$f" hub"""
"""The command of the machine's shell. The agent is checked each time before it is run.

Each answer is a line of its own, whatever a login shell has printed before it, such as the title of
a terminal without a newline.
"""
NOTICE = re.compile("^warning: |setlocale: |perl: warning|unable to resolve host", re.IGNORECASE)
"""Lines that programs print while they go on."""
HOME_CACHE = "${XDG_CACHE_HOME:-$HOME/.cache}"
MAY_SUDO = 'sudo -n "$f" --version >/dev/null || fail sudo $(id -un) "$d"; '
WHY_FAILED = {
    "folder": "own ~/.cache/delaylab there",
    "write": "make room in ~/.cache/delaylab there",
    "run": "programs cannot be run from ~/.cache/delaylab there: name a folder on a file system "
    "without noexec in the lab file, `cache: /var/tmp/delaylab`, or set XDG_CACHE_HOME there",
}
"""Fixes for the failures that the script names."""


class Connection:
    """One ssh to a machine. `begin` starts it, `greet` waits until it can carry sessions."""

    def __init__(self, name: str, reach: Reach) -> None:
        self.name, self.target = name, reach.ssh
        self._reach = reach
        self.address_words: list[str] = []
        """sshd's `SSH_CONNECTION`, which an agent that sudo has started does not know."""
        content, self._sum = _agent()
        self._size = len(content)
        folder = reach.cache or f"{HOME_CACHE}/delaylab{'-sudo' if reach.sudo else ''}"
        sudo = "sudo -n " if reach.sudo else ""
        script = SCRIPT.format(
            mark=MARK,
            sum=self._sum,
            size=self._size,
            folder=folder,
            sudo=sudo,
            may=MAY_SUDO if reach.sudo else "",
        )
        options = [word for name, to in OPTIONS.items() for word in ("-o", f"{name}={to}")]
        try:
            self._ssh = subprocess.Popen(
                ["ssh", *options, "--", self.target, f"exec sh -c '{script}'"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for this process, which then ends the labs
            )
        except FileNotFoundError:
            raise NotHere("ssh is not installed", fix="apt-get install openssh-client") from None
        self._said = _LastWords(self._ssh.stderr)
        self._since_s = time.monotonic()
        self._trunk: subprocess.Popen[bytes] | None = None
        self._control, theirs = socket.socketpair()
        self._theirs: socket.socket | None = theirs
        # Whoever forgets the connection ends it: the trunk ends with this socket, and ssh with it.
        weakref.finalize(self, self._control.close)

    def greet(self) -> None:
        """Wait until the machine's agent serves sessions, and put it there if it is not.

        Raises Unreachable with ssh's own message, or NotHere for a machine that cannot run it.
        """
        assert self._ssh.stdin is not None
        assert self._ssh.stdout is not None
        try:
            self._require_same_kind(self._answer(self._since_s + GREETING_S))
            if self._answer(self._since_s + GREETING_S) == "wanted":
                self._upload(time.monotonic() + UPLOAD_S)
                self._answer(time.monotonic() + GREETING_S)
        except BaseException:
            self.close()
            raise
        assert self._theirs is not None
        self._trunk = subprocess.Popen(
            [agent_path(), "trunk", "--control", str(self._theirs.fileno())],
            stdin=self._ssh.stdout,
            stdout=self._ssh.stdin,
            stderr=subprocess.DEVNULL,
            pass_fds=[self._theirs.fileno()],
            start_new_session=True,
        )
        self._forget_streams()

    def open(self, opening: bytes, label: str) -> Session:
        """Open a session; `opening` says what it is with.

        Raises Unreachable if the connection has ended.
        """
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._control, [b"s"], [theirs.fileno()])
            ours.sendall(Frame(FrameKind.MESSAGE, opening).encode())
        except OSError:
            ours.close()
            raise self.lost() from None
        end = Descriptors(ours.fileno(), ours.fileno(), ours.close, self._why_ended)
        return Session(label, end)

    def has_ended(self) -> bool:
        """Return True if the connection carries no more sessions."""
        return self._trunk is not None and self._trunk.poll() is not None

    def lost(self) -> Unreachable:
        """Return the error of a connection that has ended, with the last words of ssh."""
        return Unreachable(f"cannot be reached: {self._last_words()}", self._where)

    def _why_ended(self) -> str | None:
        """Return why a session has ended if the connection has, else None."""
        assert self._trunk is not None
        try:
            self._trunk.wait(TRUNK_ENDS_S)
        except subprocess.TimeoutExpired:
            return None
        return f"{self._where} cannot be reached any more: {self._last_words()}"

    def close(self) -> None:
        """End the connection, and all that the machine does for it."""
        self._control.close()
        self._forget_streams()
        if self._trunk is not None:
            self._trunk.wait()
        try:
            self._ssh.wait(CONNECT_S if self._trunk is not None else 0)
        except subprocess.TimeoutExpired:
            self._ssh.kill()
            self._ssh.wait()

    @property
    def _where(self) -> str:
        return f"machine {self.name}"

    def _require_same_kind(self, said: str) -> None:
        own = os.uname()
        words = said.split()
        said, self.address_words = " ".join(words[:2]), words[2:]
        if said != f"{own.sysname} {own.machine}":
            what = f"it is {one_line(said)}; the agent here is for {own.sysname} {own.machine}"
            raise NotHere(what, self._where, "take machines of this one's architecture")

    def _forget_streams(self) -> None:
        for stream in (self._theirs, self._ssh.stdin, self._ssh.stdout):
            if stream is not None:
                with suppress(OSError):  # ssh has ended before it was told all
                    stream.close()
        self._theirs = None

    def _answer(self, deadline_s: float) -> str:
        """Return the next answer of the machine's shell; what else it prints is passed over."""
        assert self._ssh.stdout is not None
        reader, line, left = self._ssh.stdout.fileno(), bytearray(), MOST_GREETING
        while left > 0:
            ready, _, _ = select.select([reader], [], [], max(0.0, deadline_s - time.monotonic()))
            if not ready:
                raise Unreachable("does not answer", self._where, f"try: ssh {self.target} true")
            # Not a byte more: what comes after the last answer is for the trunk.
            byte = os.read(reader, 1)
            left -= 1
            if not byte:
                self._await_end()
                raise self.lost()
            if byte != b"\n":
                line += byte
                continue
            word, _, rest = line.decode(errors="replace").partition(" ")
            answer = rest.split()
            if word == MARK and answer[:1] == ["failed"]:
                raise self._not_put_there(answer[1:])
            if word == MARK:
                return rest
            line.clear()
        raise Unreachable("its shell prints without end", self._where)

    def _not_put_there(self, why: list[str]) -> NotHere:
        """Return the error for a machine that does not take the agent, or cannot run it."""
        self._await_end()
        kind, limit, folder = [*why, "", "", ""][:3]
        if kind == "sudo":
            rule = f"{one_line(limit)} ALL=(root) NOPASSWD: {one_line(folder)}/agent-*"
            what = f"sudo does not start the agent there: {self._last_words()}"
            return NotHere(what, self._where, f"allow it in its sudoers: {rule}")
        fix = WHY_FAILED.get(kind, WHY_FAILED["write"])
        if kind == "write" and limit.isdecimal():
            fix = f"files may not be larger than {int(limit) // 2} KiB there (ulimit -f): raise it"
        what = f"the agent cannot be put there: {self._last_words()}"
        return NotHere(what, self._where, fix)

    def _await_end(self) -> None:
        """Wait until ssh ends, which has nothing more to do; end it if it does not."""
        try:
            self._ssh.wait(ENDS_S)
        except subprocess.TimeoutExpired:
            self._ssh.kill()
            self._ssh.wait()

    def _upload(self, deadline_s: float) -> None:
        assert self._ssh.stdin is not None
        content, _ = _agent()
        writer, left = self._ssh.stdin.fileno(), memoryview(content)
        os.set_blocking(writer, False)
        while left:
            _, ready, _ = select.select([], [writer], [], max(0.0, deadline_s - time.monotonic()))
            if not ready:
                raise Unreachable("takes the agent too slowly", self._where)
            try:
                left = left[os.write(writer, left) :]
            except BrokenPipeError:
                return  # its answer says why
        os.set_blocking(writer, True)

    def _last_words(self) -> str:
        """Return the last line that ssh printed, or how it ended."""
        said = self._said.last_line()
        if said:
            return said
        code = self._ssh.poll()
        return "the connection has ended" if code in (None, 0) else f"ssh ended with code {code}"


class _LastWords:
    """The last words of a stream, which is read to its end so that its writer never waits."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        assert stream is not None
        self._kept = b""
        self._reader = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._reader.start()

    def last_line(self) -> str:
        """Return the last line, made safe to print; empty if there is none."""
        self._reader.join(0.5)  # the stream of a process that has ended ends soon
        # Before the mark the login shell may have complained, such as of a locale.
        said = self._kept.rpartition(f"{MARK}\n".encode())[2].decode(errors="replace")
        lines = [line for line in said.splitlines() if line.strip() and not NOTICE.search(line)]
        # ssh says which key has changed in the lines before its last one.
        wanted = [line for line in lines if "HOST IDENTIFICATION HAS CHANGED" in line]
        first = [" ".join(wanted[0].strip("@ ").split())] if wanted else []
        return one_line(": ".join([*first, *lines[-1:]]))

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            while data := os.read(stream.fileno(), MOST_SAID):
                self._kept = (self._kept + data)[-MOST_SAID:]


@cache
def _agent() -> tuple[bytes, str]:
    """Return the agent's content and its SHA-256, in hexadecimal."""
    content = Path(agent_path()).read_bytes()
    return content, hashlib.sha256(content).hexdigest()
