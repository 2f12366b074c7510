"""Copies by scp: nodes fetch a file from far nodes, encrypted."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from delaylab.api.agents import AgentError, Exec, ExecDone, Frame, Result, Terminal
from delaylab.api.errors import DelaylabError, NotHere
from delaylab.api.running import LiveLab
from delaylab.api.units import Size
from delaylab_study.study_file.work import ScpWork
from delaylab_study.work import sshd
from delaylab_study.work.folders import WorkFolder, folders
from delaylab_study.work.jobs import LONGEST_LINE, Job, JobResult, done_of, seconds_of

FETCHED, SERVED = "fetched", "file"
_FIRST_PORT, _PORTS = 30_001, 2_000
"""The servers' ports: below those that Linux gives to clients, and beyond those of streams."""
_RANDOM_BYTES = 1 << 16
"""The first bytes of a file are random; the rest is a hole, which takes no room on its disk."""
_TERMINAL = Terminal(rows=24, cols=80, term="dumb")
"""A terminal, since scp shows its progress on nothing else."""
_PERCENT = re.compile(rb" ([0-9]{1,3})% ")
_CLOSED = b"Connection closed"
_KEPT = 4096
"""The bytes of output that are kept for the reason of a failure."""
_LEFT_FREE = Size.parse("64MiB")


class ScpOutput:
    """The output of scp: its progress, and the last that it said.

    `steps` are times since the start with the bytes that had come by then, from the per cent that
    scp writes every second.
    """

    def __init__(self, size: int) -> None:
        self.steps: list[tuple[int, float]] = []
        self._size = size
        self._end = b""

    def hear(self, frame: Frame, since_ns: int) -> None:
        """Read output that came `since_ns` after the start."""
        self._end = (self._end + frame.payload)[-_KEPT:]
        found = _PERCENT.findall(frame.payload)
        if found:
            self.steps.append((since_ns, self._size * int(found[-1]) / 100))

    @property
    def reason(self) -> str:
        """Return the last line that tells more than that the connection was closed."""
        lines = (line.strip() for line in self._end.splitlines())
        said = [line for line in lines if line and not _PERCENT.search(line)]
        told = [line for line in said if not line.endswith(_CLOSED)]
        last = [b"nothing", *(told or said)][-1]
        return last.decode(errors="replace")[:LONGEST_LINE]


@contextmanager
def fetches(lab: LiveLab, work: ScpWork, first: int = 0) -> Iterator[list[Job]]:
    """Start a server on each far node; provide the jobs of the nodes that fetch its file.

    Servers of one stack need different ports, so each has its own, from the `first` on. Raises
    DelaylabError if a server does not start, NotHere if the files have no room.
    """
    size = work.scp.bytes
    _require_room(lab, work.on, size)
    far = list(dict.fromkeys(to for _, to in work.pairs))
    ports = {node: _FIRST_PORT + (first + at) % _PORTS for at, node in enumerate(far)}
    with ExitStack() as stack:
        served = stack.enter_context(folders(lab, far, f"{work.name}.far"))
        near = stack.enter_context(folders(lab, work.on, work.name))
        with ThreadPoolExecutor(max(len(near) + len(far), 1)) as pool:
            keys = dict(zip(work.on, pool.map(sshd.make_key, near.values()), strict=True))
            hosts = dict(zip(far, pool.map(_fill(size), served.values()), strict=True))
            list(pool.map(lambda pair: sshd.know(near[pair[0]], hosts[pair[1]]), work.pairs))

        def serve(node: str) -> None:
            clients = [client for client, to in work.pairs if to == node]
            sshd.allow(served[node], [keys[client] for client in clients])
            addresses = list(dict.fromkeys(address(lab, each, node) for each in clients))
            stack.enter_context(sshd.serving(lab, served[node], addresses, ports[node]))

        with ThreadPoolExecutor(max(len(far), 1)) as pool:
            list(pool.map(serve, far))
        yield [_job(lab, work, near[node], served[to], ports[to]) for node, to in work.pairs]


def address(lab: LiveLab, node: str, to: str) -> str:
    """Return the address at which a node reaches another: that on their link, or its first.

    Raises DelaylabError if it has none.
    """
    links = {each.link for each in lab.plan.nodes[node].attachments}
    theirs = [each for each in lab.plan.nodes[to].attachments if each.addresses]
    theirs.sort(key=lambda each: each.link not in links)
    if not theirs:
        raise DelaylabError(f"node {to!r} has no address")
    return theirs[0].address


def _fill(size: int) -> Callable[[WorkFolder], bytes]:
    """Return the function that puts a key and the file into a far node's folder."""

    def fill(folder: WorkFolder) -> bytes:
        path = shlex.quote(folder.file(SERVED))
        some = f"head -c {_RANDOM_BYTES} /dev/urandom > {path} && truncate -s {size} {path}"
        folder.run("sh", "-c", some)
        return sshd.make_key(folder)

    return fill


def _job(lab: LiveLab, work: ScpWork, near: WorkFolder, far: WorkFolder, port: int) -> Job:
    host = address(lab, near.node, far.node)
    source = f"{sshd.login(lab, far.node)}@{f'[{host}]' if ':' in host else host}"
    argv = ["scp", "-s", *sshd.client_options(near, port)]
    argv += [f"{source}:{sshd.seen(lab, far, SERVED)}", near.file(FETCHED)]
    size = work.scp.bytes
    output = ScpOutput(size)

    def read(result: Result[ExecDone]) -> JobResult:
        if result.done.exit != 0:
            raise AgentError(f"scp said: {output.reason}")
        rate = size / seconds_of(result.done)
        return done_of(result.done, rate, progress=tuple(output.steps))

    return Job(
        near.node,
        Exec(argv=argv, hold=True, tty=_TERMINAL),
        read,
        work=work.name,
        listen=output.hear,
        deadline_s=work.deadline.seconds,
    )


def _require_room(lab: LiveLab, nodes: Sequence[str], size: int) -> None:
    """Raise NotHere unless the lab's machine has room for the files that its nodes will fetch."""
    here = [node for node in nodes if not lab.has_own_root(node)]
    needed, free = len(here) * size, lab.machine.free_bytes(lab.folder)
    if here and needed + _LEFT_FREE.bytes > free:
        what = f"{len(here)} files of {Size(size)} have no room: {free >> 20} MiB are free"
        fix = "copy less, or set DELAYLAB_RUN to a folder on a larger disk"
        raise NotHere(what, str(lab.folder), fix)
