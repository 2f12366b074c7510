"""Verb `delaylab place`: where a lab's nodes go, by which method, and how good that is."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from delaylab.errors import BadInput
from delaylab.io.files import write_text
from delaylab.io.terminal import print_lines
from delaylab.io.values import JsonObject
from delaylab.placement import METHODS, Infeasible, Placement, measured, place
from delaylab.resolve.hosts import bandwidths, placement_of, problem_of
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_file
from delaylab.resolve.resolve import unplaced
from delaylab.spec.lab import HostSpec
from delaylab.spec.placing import InterfaceSpec, PlacementSpec
from delaylab.spec.source import Document, read
from delaylab.units import Rate

FEW_NODES = 120
"""The nodes up to which they are listed by host."""
MOST_HOSTS = 10_000


@dataclass(frozen=True)
class HostsToTry:
    """Hosts to try for a lab whose file names none."""

    hosts: int
    nodes: int | None = None
    interfaces: tuple[Rate, ...] = ()

    def specs(self) -> dict[str, HostSpec]:
        """Return the hosts, as a lab file would name them."""
        interfaces = {
            f"eth{number}": InterfaceSpec(rate=rate)
            for number, rate in enumerate(self.interfaces, start=1)
        }
        spec = HostSpec(nodes=self.nodes, interfaces=interfaces)
        return {f"h{number}": spec for number in range(1, self.hosts + 1)}

    def text(self, by: str) -> str:
        """Return the lines of a lab file that name the hosts and ask for a placement."""
        said = [] if self.nodes is None else [f"nodes: {self.nodes}"]
        if self.interfaces:
            each = (f"eth{n}: {rate}" for n, rate in enumerate(self.interfaces, start=1))
            said.append(f"interfaces: {{{', '.join(each)}}}")
        inside = "{" + ", ".join(said) + "}"
        lines = [f"  h{number}: {inside}" for number in range(1, self.hosts + 1)]
        return "\n".join(["hosts:", *lines, f"place: {by}", ""])


def wanted(
    hosts: int | None, nodes: int | None, interfaces: tuple[Rate, ...], *, written: bool
) -> HostsToTry | None:
    """Return the hosts to try; raise BadInput for options that mean nothing without `--hosts`."""
    if hosts is not None:
        return HostsToTry(hosts, nodes, interfaces)
    given = {"--nodes": nodes is not None, "--interface": bool(interfaces), "--output": written}
    for option, is_given in given.items():
        if is_given:
            raise BadInput(f"{option} goes with --hosts")
    return None


def lab_for(path: Path, wanted: HostsToTry | None, by: str | None) -> tuple[Document, Lab]:
    """Read a lab file whose nodes are to be placed; give it the wanted hosts if it has none."""
    document = read(path)
    lab = lab_file(document)
    if wanted is not None:
        if lab.hosts:
            raise document.refuse("the file names its hosts", ("hosts",), "leave --hosts out")
        lab = lab.model_copy(update={"hosts": wanted.specs()})
    elif not lab.hosts:
        fix = "name `hosts:`, or try some: --hosts 4"
        raise document.refuse("the file has no hosts to place its nodes on", (), fix)
    if by is not None:
        asked = {**(lab.place or PlacementSpec()).model_dump(mode="json"), "by": by}
        lab = lab.model_copy(update={"place": PlacementSpec.model_validate(asked)})
    elif lab.place is None and wanted is not None:
        lab = lab.model_copy(update={"place": PlacementSpec()})
    return document, unplaced(lab)


def placement(lab: Lab, document: Document) -> Placement:
    """Return where the nodes of a lab go; raise BadInput, with its line, if they fit nowhere."""
    spec = lab.place or PlacementSpec()
    problem = problem_of(lab, spec)
    try:
        if None not in problem.pinned:
            return measured(problem)
        return place(problem, spec.by)
    except Infeasible as error:
        raise document.refuse(error.what, ("place",), error.fix) from None


def print_placement(lab: Lab, placement: Placement, console: Console) -> None:
    """Print the hosts with what they carry, and how good the placement is."""
    print_lines(_head(placement, lab), console.file)
    table = Table(box=None, pad_edge=False)
    for title in ("HOST", "NODES", "LOAD", "OF EVEN SHARE", "TO OTHER HOSTS", "INTERFACES"):
        table.add_column(title, justify="left" if title in ("HOST", "INTERFACES") else "right")
    for row in _rows(placement, lab):
        table.add_row(*row)
    console.print(table)
    if len(placement.host_of) <= FEW_NODES:
        for number, host in enumerate(placement.problem.hosts):
            here = (
                node
                for node, on in zip(placement.problem.nodes, placement.host_of, strict=True)
                if on == number
            )
            console.print(f"{host.name}: {', '.join(here)}", highlight=False, soft_wrap=False)
    print_lines(_verdict(placement), console.file)


def _head(placement: Placement, lab: Lab) -> Iterator[str]:
    problem = placement.problem
    by = "as the file says" if placement.method == "given" else f"by {placement.method}"
    yield (
        f"lab {lab.name}: {len(problem.nodes)} nodes and {len(problem.links)} links on "
        f"{len(problem.hosts)} hosts, {by}"
    )
    needs = bandwidths(lab)
    unsaid = sum(each is None for each in needs)
    if needs and unsaid == len(needs):
        yield "No link has a `bandwidth` or a rate: each counts the same, and fills no interface."
    elif unsaid:
        counted = zip(problem.links, needs, strict=True)
        usual = Rate(next(link.bandwidth for link, need in counted if need is None))
        yield f"{unsaid} links have neither `bandwidth` nor rate: each counts as {usual}."


def _rows(placement: Placement, lab: Lab) -> Iterator[Sequence[str]]:
    problem = placement.problem
    known = any(each is not None for each in bandwidths(lab))
    crosses = placement.crossing_by_host
    whole = sum(placement.loads) or sum(placement.nodes)
    used = Counter[tuple[str, str]]()
    bandwidth = {link.name: link.bandwidth for link in problem.links}
    for end in placement.ends:
        used[end.host, end.interface] += bandwidth[end.link]
    for number, host in enumerate(problem.hosts):
        load = placement.loads[number] if sum(placement.loads) else placement.nodes[number]
        nodes, most = placement.nodes[number], host.most_nodes
        yield (
            host.name,
            str(nodes) if most is None else f"{nodes} of {most}",
            str(Rate(load)) if known else str(load),
            f"{load / (problem.share[number] * whole):.2f}",
            str(Rate(crosses[number])) if known else str(crosses[number]),
            ", ".join(
                f"{interface.name} {used[host.name, interface.name] / interface.rate:.0%}"
                for interface in host.interfaces
            ),
        )


def _verdict(placement: Placement) -> Iterator[str]:
    yield (
        f"The fullest host carries {placement.largest:.2f} of an even share "
        f"(no placement is below {placement.bound:.2f})."
    )
    yield f"{placement.cut:.0%} of the links' bandwidth crosses between hosts."
    if placement.gap is not None:
        proven = (
            "proven to be the least"
            if placement.gap == 0
            else f"at most {placement.gap:.0%} too much"
        )
        yield f"That is {proven}."


def line_of(lab: Lab, asked: PlacementSpec) -> str:
    """Return in a line how a lab's nodes were placed."""
    found = placement_of(lab)
    return (
        f"hosts by place: {asked.by}: the fullest carries {found.largest:.2f} of an even "
        f"share, {found.cut:.0%} of the bandwidth crosses; more by `delaylab place`"
    )


@dataclass(frozen=True)
class MethodResult:
    """A method's answer, or why it has none, and the time that it took."""

    method: str
    placement: Placement | None
    why_not: str
    took_s: float


def compared(lab: Lab) -> Iterator[MethodResult]:
    """Yield what each method makes of a lab; first the file's own placement, if it has one."""
    problem = problem_of(lab, lab.place or PlacementSpec())
    if None not in problem.pinned:
        yield MethodResult("given", measured(problem), "", 0.0)
        problem = replace(problem, pinned=(None,) * len(problem.nodes))
    for method in METHODS:
        began_s = time.perf_counter()
        try:
            found, why_not = place.__wrapped__(problem, method), ""
        except Infeasible as error:
            found, why_not = None, str(error)
        yield MethodResult(method, found, why_not, time.perf_counter() - began_s)


def print_compared(tried: Sequence[MethodResult], console: Console) -> None:
    """Print the methods side by side; raise BadInput if none has an answer."""
    table = Table(box=None, pad_edge=False)
    table.add_column("METHOD")
    for title in ("FULLEST HOST", "AT LEAST", "CROSSES", "MOST NODES", "TIME"):
        table.add_column(title, justify="right")
    for each in tried:
        found = each.placement
        if found is not None:
            table.add_row(
                each.method,
                f"{found.largest:.3f}",
                f"{found.bound:.3f}",
                f"{found.cut:.1%}" + ("" if found.gap is None else f" (gap {found.gap:.0%})"),
                str(max(found.nodes)),
                "" if each.method == "given" else f"{each.took_s:.2f} s",
            )
    console.print(table)
    for each in tried:
        if each.placement is None:
            console.print(f"{each.method}: {each.why_not}", highlight=False)
    if all(each.placement is None for each in tried):
        raise BadInput("no method has an answer")


def as_json(placement: Placement, took_s: float | None = None) -> JsonObject:
    """Return a placement for scripts."""
    problem = placement.problem
    names = [host.name for host in problem.hosts]
    timed: JsonObject = {} if took_s is None else {"took_s": round(took_s, 4)}
    return {
        "method": placement.method,
        "largest": placement.largest,
        "bound": placement.bound,
        "cut": placement.cut,
        "gap": placement.gap,
        **timed,
        "hosts": {
            name: {"nodes": nodes, "load_bps": load}
            for name, nodes, load in zip(names, placement.nodes, placement.loads, strict=True)
        },
        "nodes": {
            node: names[host] for node, host in zip(problem.nodes, placement.host_of, strict=True)
        },
        "interfaces": [
            {"link": end.link, "host": end.host, "interface": end.interface}
            for end in placement.ends
        ],
    }


def compared_json(tried: Sequence[MethodResult]) -> list[JsonObject]:
    """Return the methods side by side for scripts."""
    return [
        {"method": result.method, "why_not": result.why_not}
        if result.placement is None
        else as_json(result.placement, result.took_s)
        for result in tried
    ]


def write_with_hosts(
    document: Document, path: Path, wanted: HostsToTry, by: str, target: Path
) -> None:
    """Write a copy of a lab file that names the wanted hosts and asks for a placement."""
    text = path.read_text()
    if text.lstrip().startswith("{"):
        raise document.refuse("a file in braces cannot be added to", (), "write it in lines")
    write_text(target, text.rstrip("\n") + "\n" + wanted.text(by))
