"""spec -> plan is pure; what it says is held against reviewed files."""

import ipaddress
import json
from dataclasses import replace
from itertools import combinations as combinations_of
from pathlib import Path
from urllib.parse import quote

import pytest

import delaylab
from delaylab.errors import BadInput, NotHere
from delaylab.kinds import KINDS
from delaylab.lab.completion import complete
from delaylab.lab.start import not_applied
from delaylab.machines import LOCAL
from delaylab.plan.build import build
from delaylab.plan.kind import Rights
from delaylab.plan.model import Plan, Veth
from delaylab.plan.ways.probe_way import probe_way
from delaylab.records.doubts import DoubtKind
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_from
from delaylab.resolve.resolve import lab_from_data
from delaylab.spec.source import parse
from delaylab.spec.this_machine import LOCAL_MACHINE
from delaylab_study.papers.studies import find
from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import load_study
from delaylab_study.study_file.probe import ProbeSpec
from tests.ground.timelines import changes_of_links
from tests.plain import plain

GOLDEN = Path(__file__).parent / "golden"
ROOT, USER = Rights(root=True), Rights(root=False)


def planned(text: str, rights: Rights = ROOT) -> tuple[Lab, Plan]:
    lab = lab_from(parse(text, "lab.yaml"))
    return lab, build(lab, KINDS, rights)


@pytest.mark.parametrize("environment", ["linux", "vserver", "openvz", "xen", "lxc", "kvm"])
def test_the_papers_environments_are_built_as_reviewed(environment: str) -> None:
    study = load_study(find("whiteaker2011"))
    combination = next(
        c for c in combinations(study, "quick") if c.levels["environment"] == environment
    )
    made = build(combination.lab, KINDS, ROOT)
    assert combination.probe is not None
    path = probe_way(made, combination.lab, combination.probe)
    text = json.dumps({"plan": made.message(), "way": vars(path)}, indent=1, default=vars) + "\n"
    text = text.replace(quote(str(Path(delaylab.__file__).parent)), "/delaylab")
    golden = GOLDEN / f"{environment}.json"
    assert text == golden.read_text(), f"if the change is meant, write it to {golden}"


WAN = """
lab: wan
seed: 7
engine: {memory: 64MiB}
hosts: {left: {engine: {cpus: [1]}}, right: {}}
nodes:
  box: {kind: netns, host: left}
  base: {kind: native, host: left}
  vps: {kind: shared, host: left}
  vm: {kind: qemu, host: right}
  echo: {kind: native, host: right}
links:
  - join: [box, base, vps, vm, echo]
    name: wan
    delay: 5ms
    loss: 1%
    from: {vm: {loss: none, rate: 10Mbit}}
  - between: [vm, echo]
    name: side
    profile: dsl
  - between: [box, base]
    name: plain
timeline:
  - {at: 2s, link: wan, node: vm, set: {rate: 1Mbit}}
  - {at: 1s, link: wan, set: {delay: 40ms, loss: none}}
"""


def test_links_with_conditions_are_built_as_reviewed() -> None:
    lab, made = planned(WAN)
    probe = ProbeSpec.model_validate({"from": "base", "to": "vm"})
    path = probe_way(made, lab, probe)
    text = json.dumps({"plan": made.message(), "way": vars(path)}, indent=1, default=vars) + "\n"
    golden = GOLDEN / "wan.json"
    assert text == golden.read_text(), f"if the change is meant, write it to {golden}"


ON_DOM0 = """
lab: dom0
hosts: {sut: {uplink: {rate: 100Mbit}}, target: {}}
nodes:
  pv: {kind: xen, host: sut, cpus: [1]}
  pvh: {kind: xen, host: sut, guest: pvh, memory: 200MiB}
  echo: {kind: netns, host: target}
links:
  - {join: [pv, pvh, echo], name: lan}
  - {between: [pv, pvh], name: wan, delay: 5ms}
"""


def test_domains_beside_a_dom0_are_built_as_reviewed() -> None:
    lab, made = planned(ON_DOM0, Rights(root=True, dom0=True))
    probe = ProbeSpec.model_validate({"from": "pv", "to": "echo"})
    path = probe_way(made, lab, probe)
    text = json.dumps({"plan": made.message(), "way": vars(path)}, indent=1, default=vars) + "\n"
    golden = GOLDEN / "dom0.json"
    assert text == golden.read_text(), f"if the change is meant, write it to {golden}"


def test_a_domains_backend_is_its_vif_beside_a_dom0_also_behind_the_engine() -> None:
    lab, made = planned(ON_DOM0, Rights(root=True, dom0=True))
    path = probe_way(made, lab, ProbeSpec.model_validate({"from": "pv", "to": "echo"}))
    assert path.request[2:5] == ("sender.stack", "sender.vif", "sender.uplink")
    assert path.taps[0].interface == "pv.lan"
    between = ProbeSpec.model_validate({"from": "pv", "to": "pvh"})
    lone, made = planned(ON_DOM0.replace("[pv, pvh, echo]", "[pv, echo]"), Rights(True, dom0=True))
    taps = probe_way(made, lone, between).taps
    assert [(tap.interface, tap.point) for tap in taps[:2]] == [
        ("pv.wan", "sender.vif"),
        ("pvh.wan", "responder.vif"),
    ]


def test_a_link_on_one_host_has_two_ports_and_no_bridge() -> None:
    text = "lab: x\nnodes: {a: {}, b: {}}\nlinks: [{between: [a, b], name: w, delay: 1ms}]\n"
    lab, made = planned(text)
    engine = made.agents[-1]
    assert (engine.name, engine.network) == ("link.here", "host.here")
    assert engine.links is not None
    assert [port.port for port in engine.links.ports("w")] == ["a.w", "b.w"]
    kinds = [op["do"] for op in plain(made.message())["operations"]]
    assert kinds == ["veth"] * 2 + ["address"] * 2 + ["offloads"] * 4
    path = probe_way(made, lab, ProbeSpec.model_validate({"from": "a", "to": "b"}))
    assert [tap.point for tap in path.taps] == ["sender.vif", "responder.vif", "responder.stack"]


def test_stacks_are_steered_away_from_an_engines_cpus_where_it_says_so() -> None:
    text = """\
lab: x
hosts: {here: {engine: {cpus: [1, 2], steer: true}}, there: {engine: {cpus: [3]}}}
nodes: {a: {host: here}, vm: {kind: qemu, host: here}, b: {host: there}}
links:
  - {join: [a, vm, b], name: w, delay: 1ms}
  - {join: [a, vm, b], name: plain}
"""
    _, made = planned(text)
    steered = [op for op in plain(made.message())["operations"] if op["do"] == "steering"]
    card = made.attachment("a", "w").device
    assert steered == [{"do": "steering", "in": "node.a", "on": card, "avoid": [1, 2]}]


def test_every_domain_has_a_port_of_its_own() -> None:
    nodes = "nodes: {a: {kind: xen}, b: {kind: xen}}"
    _, made = planned(f"lab: x\n{nodes}\nlinks: [{{between: [a, b], name: w, delay: 1ms}}]\n")
    engine = made.agents[-1].links
    assert engine is not None
    assert [(p.port, p.node) for p in engine.ports("w")] == [("xen.w.a", "a"), ("xen.w.b", "b")]


@pytest.mark.parametrize(
    ("nodes", "link", "says"),
    [
        ("a: {kind: native, host: h}, b: {kind: native, host: h}", "", "which are one stack"),
        (
            "a: {kind: native, host: h}, b: {kind: shared, host: h}, c: {host: h}",
            ", from: {a: {loss: 1%}}",
            "link w: a, b are one stack: what one of them sends cannot be told apart",
        ),
        (
            "a: {kind: qemu, host: h}, c: {host: h}",
            ", rate: 1Mbit, queue: sender",
            "link w: what a sends cannot wait at its interface, which is in a virtual machine",
        ),
    ],
)
def test_what_the_engine_cannot_do_is_refused(nodes: str, link: str, says: str) -> None:
    members = ", ".join(part.split(":")[0].strip() for part in nodes.split("},"))
    links = f"links: [{{join: [{members}], name: w, delay: 1ms{link}}}]"
    with pytest.raises(BadInput, match=says):
        planned(f"lab: x\nhosts: {{h: {{}}}}\nnodes: {{{nodes}}}\n{links}\n")


def test_every_host_has_the_labs_seed_and_its_memory() -> None:
    """No two directions draw alike: the engine sees to it (agent/src/link/data/link_table.rs)."""
    _, made = planned(WAN)
    engines = [agent.links for agent in made.agents if agent.links]
    assert [links.seed for links in engines] == [7, 7]
    assert {links.memory_bytes for links in engines} == {64 << 20}


def test_every_interface_name_is_new_in_its_network_and_fits() -> None:
    nodes = {f"a-rather-long-node-name-{n}": {"kind": "netns"} for n in range(40)}
    names = list(nodes)
    links: list[dict[str, object]] = [
        {"between": [names[n], names[(n + 7) % 40]]} for n in range(40)
    ]
    links += [{"join": names, "name": f"a-rather-long-link-name-{n}"} for n in range(3)]
    lab = lab_from_data({"lab": "big", "nodes": nodes, "links": links})
    made = build(lab, KINDS, ROOT)
    ends = [end for op in made.operations if isinstance(op, Veth) for end in op.ends]
    assert len({(end.agent, end.name) for end in ends}) == len(ends) == 2 * (40 + 3 * 40)
    assert len({end.mac for end in ends}) == len(ends)
    assert max(len(end.name) for end in ends) <= 15


def test_a_node_that_stands_for_many_is_written_out() -> None:
    text = """
lab: many
nodes:
  box: {count: 3}
  one: {}
links:
  - join: [box, one]
"""
    lab, made = planned(text)
    assert list(lab.nodes) == ["box-1", "box-2", "box-3", "one"]
    assert {agent.name for agent in made.agents} >= {"node.box-1", "node.box-3", "node.one"}
    addresses = [each.addresses[0] for each in made.every_attachment]
    assert len(set(addresses)) == 4


@pytest.mark.parametrize(
    ("program", "kind", "package"),
    [
        ("qemu-system-x86_64", "qemu", "qemu-system-x86"),
        ("linux.uml", "uml", "user-mode-linux"),
        ("lxc-start", "lxc", "lxc"),
        ("dockerd", "docker", "docker.io"),
        ("qemu-system-x86_64", "xen", "qemu-system-x86"),
    ],
)
def test_a_kind_whose_program_is_missing_says_what_to_install(
    program: str, kind: str, package: str
) -> None:
    rights = Rights(root=True, lacking=frozenset({program}))
    with pytest.raises(NotHere, match=f"{program} is not installed; apt-get install {package}"):
        planned(f"lab: x\nnodes:\n  a: {{kind: {kind}}}\n", rights)


def test_addresses_differ_and_links_are_subnets_of_their_own() -> None:
    nodes: dict[str, dict[str, str]] = {f"n{n}": {} for n in range(50)}
    links = [{"between": [f"n{n}", f"n{(n + 1) % 50}"]} for n in range(50)]
    lab = lab_from_data({"lab": "ring", "nodes": nodes, "links": links, "ip": [4, 6]})
    made = build(lab, KINDS, ROOT)
    addresses = [a for each in made.every_attachment for a in each.addresses]
    assert len(set(addresses)) == len(addresses) == 200


def test_assigned_addresses_meet_none_that_the_file_gives() -> None:
    """As a user copies some of them from `ps`."""
    text = """
lab: copied
ip: [4, 6]
nodes: {a: {}, b: {}, c: {}, d: {}}
links:
  - {join: [a, b]}
  - {between: [a, c], addresses: {a: 198.18.0.1/24, c: 198.18.0.2/24}}
  - {between: [c, d], addresses: {c: "fd64:656c:6179::1/62", d: "fd64:656c:6179::2/62"}}
  - {between: [b, d]}
"""
    _, made = planned(text)
    addresses = [a for each in made.every_attachment for a in each.addresses]
    assert len(set(addresses)) == len(addresses) == 12
    networks = {ipaddress.ip_interface(each).network for each in addresses}
    assert len(networks) == 6
    assert not any(
        one.overlaps(two) for one, two in combinations_of(networks, 2) if one.version == two.version
    )


def test_a_host_may_be_called_here() -> None:
    """A lab with hosts has no node in this machine's own stack, whatever the hosts' names are."""
    text = "lab: x\nhosts: {NAME: {}, there: {}}\nlinks: [{join: [a, b]}]\n"
    text += "nodes: {a: {kind: native, host: NAME}, b: {host: there}}\n"
    here, left = (planned(text.replace("NAME", name))[1] for name in ("here", "left"))
    (own,), (other,) = ([a for a in each.agents if a.name == "node.a"] for each in (here, left))
    assert own.network == "host.here"
    assert other.network == "host.left"


def test_links_keep_their_names_where_a_count_makes_more_of_them() -> None:
    """The default name of a link is made of the names of its members in the file."""
    text = """
lab: x
nodes: {hub: {}, leaf: {count: 2}, sink: {}}
links:
  - {between: [hub, leaf]}
  - {join: [hub, sink], delay: 5ms}
timeline: [{at: 1s, link: lan-hub, set: {delay: 9ms}}]
"""
    lab, _ = planned(text)
    assert [link.name for link in lab.written.links] == ["hub-leaf-1", "hub-leaf-2", "lan-hub"]
    assert [change.link for change in changes_of_links(lab)] == ["lan-hub"]


def test_a_point_to_point_link_has_no_bridge() -> None:
    _, made = planned("lab: x\nnodes: {a: {}, b: {}}\nlinks: [{between: [a, b]}]\n")
    assert [op["do"] for op in plain(made.message())["operations"]] == [
        "veth",
        "address",
        "address",
    ]


def test_native_on_this_machine_needs_root() -> None:
    text = "lab: x\nnodes: {a: {kind: native}, b: {}}\nlinks: [{join: [a, b]}]\n"
    assert planned(text)[1].agents[1].network == "machine"
    with pytest.raises(NotHere, match="run as root, or name a host"):
        planned(text, USER)


def test_one_stack_cannot_be_joined_with_itself() -> None:
    text = "lab: x\nhosts: {h: {}}\nnodes: {a: {kind: native}, b: {kind: native}}\n"
    with pytest.raises(BadInput, match="which are one stack"):
        planned(text + "links: [{between: [a, b]}]\n")


def test_a_probe_needs_a_link() -> None:
    lab, made = planned("lab: x\nnodes: {a: {}, b: {}, c: {}}\nlinks: [{join: [a, b]}]\n")
    probe = ProbeSpec.model_validate({"from": "a", "to": "c"})
    with pytest.raises(BadInput, match="share no link"):
        probe_way(made, lab, probe)


@pytest.mark.parametrize("protocol", ["icmp", "udp", "tcp", "http"])
def test_points_are_either_on_the_way_or_absent_with_a_reason(protocol: str) -> None:
    for combination in combinations(load_study(find("whiteaker2011")), "quick"):
        made = build(combination.lab, KINDS, ROOT)
        assert combination.probe is not None
        probe = combination.probe.model_copy(update={"protocol": protocol})
        path = probe_way(made, combination.lab, probe)
        on_the_way = {*path.request, *path.reply}
        everywhere = {
            f"{side}.{point}"
            for side in ("sender", "responder")
            for point in ("app", "qdisc", "stack", "vif", "uplink")
        } | {"wire"}
        if protocol == "http":
            everywhere.add("responder.socket")
        if combination.levels["environment"] == "xen":
            everywhere.add("sender.dom0")
        assert on_the_way | set(path.absent) == everywhere
        assert not on_the_way & set(path.absent)
        assert all(path.absent.values())


def test_a_plan_is_the_same_every_time() -> None:
    text = "lab: x\nnodes: {a: {}, b: {}}\nlinks: [{join: [a, b]}]\n"
    assert planned(text)[1].message() == planned(text)[1].message()


def test_that_xen_is_emulated_is_said() -> None:
    text = "lab: one\nnodes: {guest: {kind: xen}, other: {}}\nlinks: [{join: [guest, other]}]\n"
    _, made = planned(text)
    machine = next(agent for agent in made.agents if agent.name.startswith("xen."))
    assert machine.guest is not None
    # Without the files of images, which need not be built for this.
    words = tuple(word for word in machine.guest.command if "{image:" not in word)
    bare = replace(machine, guest=replace(machine.guest, command=words))
    (note,) = complete(replace(made, agents=(bare,)), {LOCAL_MACHINE: LOCAL}).notes
    assert note.kind == DoubtKind.EMULATED
    assert note.message == f"{machine.name} is a machine that is always emulated (TCG)"


def test_the_machine_of_xens_domains_is_as_its_host_says() -> None:
    text = """
lab: x
hosts: {one: {xen: {cpus: 3, scheduler: credit}}, other: {}}
nodes: {a: {kind: xen, host: one}, b: {kind: xen, host: other}}
links: [{join: [a, b], name: lan}]
"""
    _, plan = planned(text)
    of = {str(agent.name): agent.guest.command for agent in plan.agents if agent.guest}
    for name, cpus, scheduler in (("xen.one", "3", "credit"), ("xen.other", "2", "credit2")):
        words = of[name]
        assert words[words.index("-smp") + 1] == cpus
        assert f"sched={scheduler}" in words[words.index("-append") + 1].split()


def test_a_dom0_notes_that_its_xen_is_not_set_anew() -> None:
    lab, _ = planned("lab: x\nhosts: {one: {xen: {cpus: 1}}}\nnodes: {a: {}}\n")
    assert not_applied(lab, ROOT) == []
    (note,) = not_applied(lab, replace(ROOT, dom0=True))
    assert "`hosts.one.xen` is not applied" in note.message
