"""Private folders of nodes, for the keys and files of one work."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath

from delaylab.api.errors import DelaylabError
from delaylab.api.running import LiveLab
from delaylab_study.loads.programs import run

SUFFIX = ".work"
"""The end of the names of such folders in a lab's run directory; the lab's keeper removes them."""
_IN_GUESTS = PurePosixPath("/var/tmp")
"""The place of the folder in a node with a root of its own; on its scratch disk, if it has one."""


class WorkFolder:
    """A folder of one node for one work, which only the owner of the node's processes may enter.

    It is in the lab's run directory if the node's files are this machine's.
    """

    def __init__(self, lab: LiveLab, node: str, work: str) -> None:
        own = lab.has_own_root(node)
        name = f"{node}.{work}{SUFFIX}"
        self.node, self.work = node, work
        self.path = (_IN_GUESTS if own else lab.folder) / name
        self._lab = lab

    def file(self, name: str) -> str:
        """Return the path of a file in the folder."""
        return str(self.path / name)

    def make(self) -> None:
        """Create the folder, which must not exist."""
        self.run("mkdir", "-m", "700", str(self.path))

    def write(self, name: str, content: bytes) -> None:
        """Write a file that only its owner may read."""
        self.run("sh", "-c", f"umask 077; cat > {shlex.quote(self.file(name))}", given=content)

    def run(self, *argv: str, given: bytes = b"") -> bytes:
        """Run a program of the node to its end with this input, and return its output.

        Raises DelaylabError with its last line if it fails.
        """
        session = self._lab.node_session(self.node)
        try:
            return run(session, list(argv), given)
        finally:
            session.close()

    def remove(self) -> None:
        """Remove the folder with all that is in it. If its node is gone, the lab's end does it."""
        with suppress(DelaylabError):
            self.run("rm", "-rf", str(self.path))


@contextmanager
def folders(lab: LiveLab, nodes: Sequence[str], work: str) -> Iterator[dict[str, WorkFolder]]:
    """Provide a folder in each of these nodes, and remove all of them at the end."""
    made = {node: WorkFolder(lab, node, work) for node in nodes}
    try:
        with ThreadPoolExecutor(max(len(made), 1)) as pool:
            list(pool.map(WorkFolder.make, made.values()))
        yield made
    finally:
        with ThreadPoolExecutor(max(len(made), 1)) as pool:
            list(pool.map(WorkFolder.remove, made.values()))
