"""Running labs for the API: they live as long as a `with` block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from delaylab.api.loading import File, LabSpec, LoadedStudy, lab_of
from delaylab.api.pings import options
from delaylab.errors import BadInput, DelaylabError
from delaylab.lab.running import Lab
from delaylab.lab.start import temporary
from delaylab.verbs import execute
from delaylab.verbs import ping as ping_verb
from delaylab.verbs.ping_result import PingResult

LAST_WORDS = 300
"""Most characters of a failed command's errors that an exception repeats."""


class CommandFailed(DelaylabError):
    """A command in a node that ended with an exit code other than 0."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Output of a command in a node, and its exit code; 128 + N if signal N ended it."""

    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str


class Node:
    """A node of a running lab."""

    def __init__(self, lab: Lab, name: str) -> None:
        self._lab = lab
        self.name = name

    @property
    def kind(self) -> str:
        """Return the node's kind: `netns`, `qemu`, …."""
        return self._lab.spec.nodes[self.name].kind

    @property
    def host(self) -> str:
        """Return the name of the host that carries the node."""
        return self._lab.spec.host_of(self.name)

    @property
    def pid(self) -> int:
        """Return the id of the process that holds the node's namespaces, for `nsenter`."""
        return self._lab.pid(self._lab.agent_name(self.name))

    @property
    def addresses(self) -> dict[str, list[str]]:
        """Return the node's addresses by link, without their prefix lengths."""
        found: dict[str, list[str]] = {}
        for each in self._lab.plan.nodes[self.name].attachments:
            bare = [str(address.ip) for address in each.interfaces()]
            found.setdefault(each.link, []).extend(bare)
        return found

    def run(
        self,
        argv: Sequence[str],
        *,
        check: bool = False,
        stdin: str = "",
        timeout_s: float | None = None,
    ) -> CommandResult:
        """Run a command in the node, as `delaylab exec` does, and return its output.

        Raise CommandFailed for an exit code other than 0 if `check` is true, and DelaylabError
        after `timeout_s` seconds; the command is then ended.
        """
        if isinstance(argv, str):
            raise BadInput("a command is a list of words", repr(argv), 'such as ["ip", "addr"]')
        code, out, err = execute.captured(self._lab, self.name, argv, stdin.encode(), timeout_s)
        text, errors = (data.decode(errors="replace") for data in (out, err))
        if check and code != 0:
            said = errors.strip()[-LAST_WORDS:] or "no error was printed"
            raise CommandFailed(f"exit code {code}: {said}", f"{self.name}: {' '.join(argv)}")
        return CommandResult(tuple(argv), code, text, errors)

    def ping(
        self,
        to: Node | str,
        *,
        count: int = 5,
        interval: str = "200ms",
        size: int = 56,
        realtime: bool = True,
    ) -> PingResult:
        """Ping a node of the lab or an address from this node, as `delaylab.ping` does.

        A node is pinged at its address on a link that both are on, else at its first one.
        """
        address = self._address_of(to) if isinstance(to, Node) else to
        given = options(address, count, interval, size, None, realtime=realtime)
        return ping_verb.run(given, session=self._lab.node_session(self.name))

    def _address_of(self, other: Node) -> str:
        known = other.addresses
        shared = [link for link in known if link in self.addresses and known[link]]
        found = [address for link in (*shared, *known) for address in known[link]]
        if not found:
            raise BadInput(f"node {other.name!r} has no address")
        return found[0]


class RunningLab:
    """A running lab and its nodes."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    @property
    def name(self) -> str:
        """Return the name of the lab, by which `delaylab exec --lab NAME` reaches it."""
        return self._lab.name

    @property
    def nodes(self) -> list[str]:
        """Return the names of the nodes."""
        return list(self._lab.spec.nodes)

    @property
    def warnings(self) -> list[str]:
        """Return notes on what the lab could not have as its file asks, such as KVM."""
        return [each.message for each in self._lab.warnings]

    def node(self, name: str) -> Node:
        """Return a node; raise BadInput if there is none of this name."""
        if name not in self._lab.spec.nodes:
            known = ", ".join(self.nodes)
            raise BadInput(f"lab {self.name!r} has no node {name!r}", fix=f"there are: {known}")
        return Node(self._lab, name)


def up(lab: LabSpec | LoadedStudy | File) -> AbstractContextManager[RunningLab]:
    """Run a lab for the length of a `with` block.

    `lab` is what `load` returns, or the path of its file. The lab gets a name of its own, so that
    several can run side by side. It is taken down at the end of the block, by whichever way the
    block ends, also if this process is killed; nothing of it is left. Raise BadInput for an invalid
    lab, NotHere if this machine cannot have it.
    """
    return _up(lab_of(lab))


@contextmanager
def _up(lab: LabSpec) -> Iterator[RunningLab]:
    with temporary(lab, accounting=False) as running:
        yield RunningLab(running)
