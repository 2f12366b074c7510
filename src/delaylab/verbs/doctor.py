"""Verb `delaylab doctor`: try what this machine can run, and say why the rest is not usable."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import cast

from rich.console import Console
from rich.table import Table

from delaylab import extensions
from delaylab.agent.binary import agent_path
from delaylab.agent.recording import CpuRecording
from delaylab.agent.wire.sessions import Hello
from delaylab.errors import BadInput, DelaylabError
from delaylab.extensions import Additions
from delaylab.io.values import JsonObject
from delaylab.kinds import KINDS
from delaylab.machines import LOCAL, Machine
from delaylab.machines.backlog import backlog
from delaylab.machines.provenance import congestion_control
from delaylab.plan.kind import Rights
from delaylab.points import BETWEEN_HOSTS, meaning
from delaylab.progress import Progress, silent
from delaylab.spec.sysctls import CONGESTION_CONTROL
from delaylab.verbs import kind_round_trips, kind_trial
from delaylab.verbs.checks import Check, MoreChecks

TOOLS = {
    "stress-ng": "loads cpu, io, disk, memory",
    "iperf3": "load network",
    "tshark": "to read what `run --pcap` wrote",
}


PARTS = {
    "netem": "links by the kernel: delay, jitter, duplicate, corrupt, reorder, loss",
    "tbf": "links by the kernel: rates; uplinks and `interfaces` of hosts",
    "codel": "links by the kernel: queues with codel",
    "ifb": "links by the kernel, `interfaces` of hosts: where frames wait",
    "clsact": "links by the kernel: where frames are caught",
    "mirred": "links by the kernel, `interfaces` of hosts: what leads frames there (u32, mirred)",
    "htb": "`interfaces` of hosts: where frames are caught as they leave",
    "vxlan": "links between machines",
    "macvlan": "links between machines with `data_plane: ethernet`",
    "bridge": "links without conditions, and by the kernel",
    "bpf": "links: what keeps frames from the host's stack; by the kernel: loss without netem",
    "tcx": "taps by programs",
    "sockets": "taps at the sockets of services",
}


def examine(
    kinds: list[str] | None = None, progress: Progress = silent, *, build_images: bool = False
) -> list[Check]:
    """Try everything, or only these kinds of nodes; a virtual machine takes seconds.

    A kind whose image is not built is tried only if `build_images` is true. The round trips are
    kept for the forecasts of studies. Raise BadInput for an unknown kind.
    """
    wanted, rights = known_kinds(kinds), LOCAL.rights()
    tried = _kinds_and_points(rights, wanted, progress, build_images=build_images)
    kind_round_trips.keep(
        {check.name: rtt for check in tried if (rtt := check.measured.get("rtt_us")) is not None}
    )
    of_kinds = [check for check in tried if check.group == "kind"]
    added = [check for more in _more() for check in more.checks(of_kinds)]
    return [
        *_agent(),
        *tried,
        *added,
        *_rights(rights),
        *of_kernel(LOCAL),
        *_of_tcp(),
        *_backlog(),
        *_tools(),
    ]


def known_kinds(kinds: Sequence[str] | None) -> list[str]:
    """Return these kinds, or all without any; raise BadInput for an unknown one."""
    unknown = [name for name in kinds or () if name not in KINDS]
    if unknown:
        raise BadInput(f"no kind {unknown[0]!r}", "--kind", f"one of {', '.join(KINDS)}")
    return [*(kinds or KINDS)]


def _agent() -> list[Check]:
    try:
        session = LOCAL.session()
        version = session.call(Hello()).done.version
        session.close()
    except (DelaylabError, OSError) as error:
        return [Check("agent", "delaylab-agent", False, why_not=str(error), fix="make setup")]
    return [Check("agent", "delaylab-agent", True, f"version {version}, {agent_path()}")]


def _kinds_and_points(
    rights: Rights, kinds: Sequence[str], progress: Progress, *, build_images: bool
) -> list[Check]:
    tried = []
    for number, name in enumerate(kinds):
        progress(f"trying a node of kind {name}", number / len(kinds))
        tried.append(kind_trial.kind(name, rights, progress, build_images=build_images))
    checks = [of_kind(one, KINDS[one.kind].here(rights).can_run(rights, True)) for one in tried]
    answering = kind_trial.kind("netns", rights, progress, "udp")
    seen = answering.points.union(*(one.points for one in tried))
    why = answering.why_not or "the kernel gave no stamp"
    for point in BETWEEN_HOSTS:
        entry = meaning(point)
        detail = f"{entry.packet_is} ({entry.stamped_by})"
        checks.append(Check("point", point, point in seen, detail, "" if point in seen else why))
    return checks


def of_kind(one: kind_trial.KindResult, not_on_machine: str | None = None) -> Check:
    """Return the check of a kind that was tried.

    `not_on_machine` says why its nodes cannot be on this machine's own interfaces.
    """
    if not one.usable:
        return Check("kind", one.kind, False, why_not=one.why_not, fix=one.fix, tried=one.tried)
    figures = [f"up in {one.boot_s:.2f} s"]
    if one.memory_mib is not None:
        figures.append(f"{one.memory_mib:.1f} MiB")
    if one.rtt_us is not None:
        figures.append(f"its user sees an RTT of {one.rtt_us:.0f} µs at rest")
    detail = ", ".join(figures)
    if not_on_machine:
        detail += f"; on this machine's own interfaces: no, {not_on_machine}"
    detail += "".join(f"; {note}" for note in one.notes)
    measured = {"boot_s": one.boot_s, "memory_mib": one.memory_mib, "rtt_us": one.rtt_us}
    return Check("kind", one.kind, True, detail, measured=measured)


def _rights(rights: Rights) -> list[Check]:
    return [
        _own_interfaces(rights),
        _cpu_sets(rights),
        _realtime(),
        _ping_sockets(rights),
        _causes(),
    ]


def _own_interfaces(rights: Rights) -> Check:
    return Check(
        "right",
        "this machine's own interfaces",
        rights.root,
        "nodes of kind native and shared without a host of their own",
        "" if rights.root else "only root may add to them",
        "" if rights.root else "run as root, or name hosts in the lab file",
    )


def _cpu_sets(rights: Rights) -> Check:
    if not rights.root:
        why = "cgroups are root's; `cpus:` falls back to CPU affinity, which a node can change"
        return Check("right", "CPU sets", False, why_not=why, fix="run as root")
    usable = any(
        os.access(path, os.W_OK)
        for path in ("/sys/fs/cgroup/cpuset", "/sys/fs/cgroup/cgroup.procs")
    )
    why = "" if usable else "no writable cpuset cgroup; `cpus:` falls back to CPU affinity"
    return Check("right", "CPU sets", usable, "cgroup cpuset per host and node", why)


def _realtime() -> Check:
    detail = "SCHED_FIFO for the probe: it keeps its schedule under load"
    policy, parameter = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError as error:
        fix = "run as root, or give the user an rtprio limit (limits.conf)"
        return Check("right", "real-time scheduling", False, detail, error.strerror or "", fix)
    os.sched_setscheduler(0, policy, parameter)
    return Check("right", "real-time scheduling", True, detail)


def _causes() -> Check:
    """Try to record what the CPUs do, which is what `ping --why` needs."""
    session = LOCAL.session()
    try:
        recording = CpuRecording(session)
        recording.await_ready()
        failed = recording.failed
    finally:
        session.close()
    detail = "why packets were late (`ping --why`): what each CPU does is recorded"
    why = "" if failed is None else failed.what
    return Check("right", "causes of late packets", failed is None, detail, why)


def _ping_sockets(rights: Rights) -> Check:
    detail = "`delaylab ping` to other machines"
    low, high = map(int, Path("/proc/sys/net/ipv4/ping_group_range").read_text().split())
    if rights.root or low <= os.getgid() <= high:
        return Check("right", "ICMP sockets", True, detail)
    fix = "as root: sysctl net.ipv4.ping_group_range='0 2147483647'"
    return Check("right", "ICMP sockets", False, detail, "net.ipv4.ping_group_range", fix)


def of_kernel(machine: Machine) -> list[Check]:
    """Check the parts of a machine's kernel that links may need."""
    try:
        parts = machine.kernel_parts()
    except (DelaylabError, OSError) as error:
        return [Check("kernel", "queues", False, why_not=str(error))]
    fix = "a kernel with it; links with `engine: own` on one machine do without"
    return [
        Check("kernel", name, parts[name] is None, meaning, parts[name] or "", fix)
        for name, meaning in PARTS.items()
        if name in parts
    ]


def _of_tcp() -> list[Check]:
    """Return the congestion control that networks of labs start with."""
    found = congestion_control()
    detail = f"{found}; a lab's own: `sysctls: {{{CONGESTION_CONTROL}: …}}`"
    return [Check("network", "TCP congestion control", True, detail)] if found else []


def _backlog() -> list[Check]:
    """Return what the backlogs of the CPUs dropped: such frames are in no other count."""
    found = backlog()
    return [] if found is None else [Check("network", "backlog", True, found.text)]


def _tools() -> list[Check]:
    checks = []
    for name, use in TOOLS.items():
        found = shutil.which(name)
        fix = "" if found else f"apt-get install {name}"
        why = "" if found else "not installed"
        checks.append(Check("tool", name, found is not None, use, why, fix))
    return checks


def as_json(checks: list[Check]) -> list[JsonObject]:
    """Return the checks as JSON values, for scripts."""
    return [asdict(check) for check in checks]


def print_checks(checks: list[Check], console: Console) -> None:
    """Print the checks as a table; those that another package adds follow in its own form."""
    added = {more.GROUP: more for more in _more()}
    table = Table(box=None, pad_edge=False)
    for title in ("", "", "usable", "what it is, or why not and what to do"):
        table.add_column(title, overflow="fold")
    last = ""
    for check in checks:
        if check.group in added:
            continue
        text = check.detail
        if not check.usable:
            text = f"{check.why_not}" + (f" → {check.fix}" if check.fix else "")
        mark = check.mark()
        table.add_row(check.group if check.group != last else "", check.name, mark, text)
        last = check.group
    console.print(table)
    for group, more in added.items():
        if any(check.group == group for check in checks):
            more.print_checks(checks, console)


def _more() -> list[MoreChecks]:
    """Return the checks that other packages add."""
    return [cast("MoreChecks", each) for each in extensions.load_all(Additions.CHECKS)]
