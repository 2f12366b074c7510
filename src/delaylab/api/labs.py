"""Running labs for the API: those of a `with` block, and those that are up already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from delaylab.agent.wire.programs import ProgramState
from delaylab.api.loading import File, lab_of
from delaylab.api.pings import options
from delaylab.errors import BadInput, DelaylabError
from delaylab.lab.attach import attach as attach_lab
from delaylab.lab.links import link_engines
from delaylab.lab.links.passages import WithinLab
from delaylab.lab.programs import programs
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.lab import Lab
from delaylab.spec.conditions.words import one_line
from delaylab.spec.programs import ProgramSpec
from delaylab.spec.source import Document, validate
from delaylab.units import Duration
from delaylab.verbs import execute
from delaylab.verbs.ping import run as ping_verb
from delaylab.verbs.ping.result import PingResult

Condition = str | int | float | Mapping[str, object] | Sequence[object] | None
"""A condition of a link, as in a lab file."""
LAST_WORDS = 300
"""Most characters of a failed command's errors that an exception repeats."""


class CommandFailed(DelaylabError):
    """A command in a node that ended with an exit code other than 0."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The output of a command in a node, and its exit code; 128 + N if signal N ended it."""

    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str


class Node:
    """A node of a running lab."""

    def __init__(self, lab: LiveLab, name: str) -> None:
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
        """Return the node's addresses by link, without their prefix lengths.

        They are those of the plan, which the node got when the lab started.
        """
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

    def start(
        self,
        argv: Sequence[str],
        *,
        name: str | None = None,
        env: Mapping[str, str] | None = None,
        ready: Mapping[str, object] | None = None,
        timeout: str = "30s",
    ) -> Program:
        """Start a program that runs until it ends, is stopped, or the lab goes down.

        It outlives this process. `delaylab ps` shows it by its `name`, and `delaylab logs` what it
        prints; left out, the name is the command's. `env` are variables in addition to the node's.
        `ready` is the sign that it is ready, as in a lab file: `{"tcp": 80}`. The call returns once
        it is, without a sign once the program runs. Raise DelaylabError if it cannot be started, or
        is not ready within `timeout`.
        """
        if isinstance(argv, str):
            raise BadInput("a command is a list of words", repr(argv), 'such as ["sleep", "60"]')
        given = {"name": name, "env": env, "ready": ready}
        asked = {key: value for key, value in given.items() if value is not None}
        document = Document("start", {"run": list(argv), "timeout": timeout, **asked}, {}, Path())
        called = programs.start(self._lab, self.name, validate(ProgramSpec, document))
        return Program(self._lab, self.name, called)

    def ping(
        self,
        to: Node | str,
        *,
        count: int = 5,
        interval: str = "200ms",
        size: int = 56,
        realtime: bool = True,
        why: bool = False,
    ) -> PingResult:
        """Ping a node of the lab or an address from this node, as `delaylab.ping` does.

        A node is pinged at its address on a link that both are on, else at its first one.
        """
        address = self._address_of(to) if isinstance(to, Node) else to
        given = options(address, count, interval, size, None, realtime=realtime)
        session, within = self._lab.node_session(self.name), WithinLab(self._lab, self.name)
        return ping_verb.run(replace(given, why=why), session=session, within=within)

    def _address_of(self, other: Node) -> str:
        known = other.addresses
        shared = [link for link in known if link in self.addresses and known[link]]
        found = [address for link in (*shared, *known) for address in known[link]]
        if not found:
            raise BadInput(f"node {other.name!r} has no address")
        return found[0]


class Program:
    """A program of a node that `Node.start` started."""

    def __init__(self, lab: LiveLab, node: str, name: str) -> None:
        self._lab, self._node = lab, node
        self.name = name

    @property
    def pid(self) -> int:
        """Return its process id in the node."""
        return self._found().pid

    @property
    def running(self) -> bool:
        """Return True until it has ended."""
        return self._found().ended_ns is None

    @property
    def state(self) -> str:
        """Return its state in words, as `delaylab ps` shows it: `running`, `ended with …`."""
        return self._found().how

    @property
    def output(self) -> str:
        """Return what it printed, at least the last MiB."""
        return programs.output(self._lab, self._node, self.name).decode(errors="replace")

    def stop(self, timeout: str = "10s") -> str:
        """End it by SIGTERM, by SIGKILL after `timeout`; return its state in words.

        One that has ended stays as it is.
        """
        return programs.end(self._lab, self._node, self.name, Duration.parse(timeout)).how

    def _found(self) -> ProgramState:
        known = programs.states(self._lab, only=[self._node]).get(self._node)
        if known is None:
            raise DelaylabError("does not answer", f"node {self._node}")
        return next(each for each in known if each.name == self.name)


class Link:
    """A link with conditions of a running lab."""

    def __init__(self, lab: LiveLab, name: str) -> None:
        self._lab = lab
        self.name = name

    @property
    def conditions(self) -> dict[str, str]:
        """Return the conditions in words, as `delaylab link show`, by the node that sends.

        Those of what a node receives are at `to NODE`.
        """
        return {
            f"to {node}" if direction.receives else node: one_line(direction.configured)
            for report in link_engines.reports(self._lab)
            for direction in report.of_nodes
            if direction.link == self.name
            for node in direction.nodes
        }

    def set(
        self, *, node: str | None = None, to: str | None = None, **conditions: Condition
    ) -> None:
        """Change some conditions, as `delaylab link set`; the others stay as they are.

        Values are those of a lab file: `delay="80ms", loss="1%", queue=100`; None takes a condition
        away. `cost=100` sets the link's cost in its routing daemons. With `node` only the direction
        from that node changes, with `to` what that node receives. Raise BadInput for conditions
        that are impossible, DelaylabError if the link's engine is down, or a daemon.
        """
        if not conditions:
            raise BadInput("no condition is given", f"link {self.name}", 'such as delay="80ms"')
        from delaylab.verbs import link_change  # noqa: PLC0415  verdicts are slow to import

        given = link_change.checked(conditions)
        link_change.change(self._lab, self.name, node, given, to=to)


class RunningLab:
    """A running lab, its nodes and its links."""

    def __init__(self, lab: LiveLab) -> None:
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

    @property
    def links(self) -> list[str]:
        """Return the names of the links."""
        return list(self._lab.spec.links)

    def link(self, name: str) -> Link:
        """Return the link of this name.

        Raise BadInput if the lab has no such link, or if the link has no conditions.
        """
        link_engines.check_conditioned(self._lab, name)
        return Link(self._lab, name)


def attach(name: str | None = None) -> RunningLab:
    """Return a lab that is up, started by `delaylab up` or another program; it stays up.

    Without a name it is the only one that is up. Raise BadInput if there is none, or several.
    """
    return RunningLab(attach_lab(name, fix="say which: delaylab.attach(NAME)"))


def up(lab: Lab | File) -> AbstractContextManager[RunningLab]:
    """Run a lab for the length of a `with` block.

    `lab` is what `load` returns, or the path of its file. The lab gets a name of its own, so that
    several can run side by side. It is taken down at the end of the block, by whichever way the
    block ends, also if this process is killed; nothing of it is left. Raise BadInput for an invalid
    lab, NotHere if this machine cannot have it.
    """
    return _up(lab_of(lab))


@contextmanager
def _up(lab: Lab) -> Iterator[RunningLab]:
    with temporary(lab, accounting=False) as running:
        yield RunningLab(running)
