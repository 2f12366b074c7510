"""A directory held by descriptor: its owner is checked, its content reached relative to it."""

from __future__ import annotations

import os
import socket
import stat
import struct
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from delaylab.errors import NotHere
from delaylab.io.ownership import why_not_lasting, why_not_private

if TYPE_CHECKING:
    from delaylab.agent.session import Session

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREDENTIALS = struct.Struct("3i")
"""Credentials of a Unix socket's peer: pid, user, group (unix(7), `SO_PEERCRED`)."""


class NotTrusted(NotHere):
    """A directory that another user owns, can write to or can replace, or a symbolic link."""


class TrustedDirectory:
    """An open directory that belongs to this user and that no other user can write to."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._closed = weakref.finalize(self, os.close, descriptor)

    @classmethod
    def open(cls, path: Path, above: TrustedDirectory | None = None) -> TrustedDirectory:
        """Open a directory, by its path or by its name in the one `above`.

        Raises FileNotFoundError if there is none, NotTrusted if it is a symbolic link or not to be
        trusted, and OSError if it cannot be opened.
        """
        parent = None if above is None else above._descriptor
        try:
            descriptor = os.open(path, _FLAGS | os.O_DIRECTORY, dir_fd=parent)
        except OSError as error:
            if path.is_symlink() or (above is not None and above._is_link(path.name)):
                raise NotTrusted("it is a symbolic link", str(path), "name the directory") from None
            raise error from None
        place = cls(path if above is None else above.path / path, descriptor)
        about = os.fstat(descriptor)
        why = why_not_private(about)
        if why is None and above is None:
            # A path that leads to it now, and that nobody can change any more, always will.
            why = why_not_lasting(path)
            if why is None and not os.path.samestat(about, path.lstat()):
                why = "another directory took its place while it was opened"
        if why is not None:
            fix = "take one of your own, with mode 700: DELAYLAB_RUN=DIR"
            raise NotTrusted(f"is not trusted: {why}", str(place.path), fix)
        return place

    def enter(self, name: str) -> TrustedDirectory:
        """Open a directory in this one; raises as `open` does."""
        return TrustedDirectory.open(Path(name), self)

    def names(self) -> list[str]:
        """Return the names in the directory, sorted."""
        return sorted(os.listdir(self._descriptor))  # noqa: PTH208  no path leads there for certain

    def file(self, name: str) -> int:
        """Open a regular file of this user for reading; return its descriptor.

        The caller closes it. Raises OSError for others' files and for links, devices and pipes.
        """
        descriptor = os.open(name, _FLAGS | os.O_NONBLOCK, dir_fd=self._descriptor)
        about = os.fstat(descriptor)
        if stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid():
            return descriptor
        os.close(descriptor)
        raise PermissionError(f"{name} is not a regular file of this user")

    def connect(self, name: str, label: str) -> Session:
        """Open a session with an agent of this user that listens on a socket in the directory.

        Raises AgentGone if there is none.
        """
        from delaylab.agent.result import AgentGone  # noqa: PLC0415  most verbs ask no agent
        from delaylab.agent.session import Session  # noqa: PLC0415
        from delaylab.agent.stream import Descriptors  # noqa: PLC0415

        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # The directory's path may be too long for a socket, or lead elsewhere by now.
            stream.connect(f"/proc/self/fd/{self._descriptor}/{name}")
            peer = stream.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            _, user, _ = _CREDENTIALS.unpack(peer)
            if user != os.geteuid():
                raise PermissionError(0, f"it belongs to user {user}")
        except OSError as error:
            stream.close()
            fix = "delaylab ps says what of a lab is dead"
            raise AgentGone(f"cannot be reached: {error.strerror}", label, fix) from None
        return Session(label, Descriptors(stream.fileno(), stream.fileno(), stream.close))

    def _is_link(self, name: str) -> bool:
        try:
            about = os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
        except OSError:
            return False
        return stat.S_ISLNK(about.st_mode)
