"""spec -> plan is pure; what it says is held against reviewed files."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from delaylab.errors import BadInput, NotHere
from delaylab.kinds import KINDS
from delaylab.plan import Plan, Rights, build, way
from delaylab.plan.model import Veth
from delaylab.readying import ready
from delaylab.spec import LabSpec, ProbeSpec, combinations, lab_from, load_study, parse
from delaylab.studies import FOLDER

GOLDEN = Path(__file__).parent / "golden"
ROOT, USER = Rights(root=True), Rights(root=False)


def planned(text: str, rights: Rights = ROOT) -> tuple[LabSpec, Plan]:
    lab = lab_from(parse(text, "lab.yaml"))
    return lab, build(lab, KINDS, rights)


@pytest.mark.parametrize("environment", ["linux", "vserver", "openvz", "xen", "lxc", "kvm"])
def test_the_papers_environments_are_built_as_reviewed(environment: str) -> None:
    study = load_study(FOLDER / "whiteaker2011.yaml")
    combination = next(
        c for c in combinations(study, "quick") if c.levels["environment"] == environment
    )
    made = build(combination.lab, KINDS, ROOT)
    path = way(made, combination.lab, combination.probe)
    text = json.dumps({"plan": made.message(), "way": vars(path)}, indent=1, default=vars) + "\n"
    golden = GOLDEN / f"{environment}.json"
    assert text == golden.read_text(), f"if the change is meant, write it to {golden}"


def test_every_interface_name_is_new_in_its_network_and_fits() -> None:
    nodes = {f"a-rather-long-node-name-{n}": {"kind": "netns"} for n in range(40)}
    names = list(nodes)
    links: list[dict[str, object]] = [
        {"between": [names[n], names[(n + 7) % 40]]} for n in range(40)
    ]
    links += [{"join": names, "name": f"a-rather-long-link-name-{n}"} for n in range(3)]
    lab = LabSpec.model_validate({"lab": "big", "nodes": nodes, "links": links})
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
    addresses = [i.addresses[0] for node in made.interfaces.values() for i in node]
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
    lab = LabSpec.model_validate({"lab": "ring", "nodes": nodes, "links": links, "ip": [4, 6]})
    made = build(lab, KINDS, ROOT)
    addresses = [a for node in made.interfaces.values() for i in node for a in i.addresses]
    assert len(set(addresses)) == len(addresses) == 200


def test_a_point_to_point_link_has_no_bridge() -> None:
    _, made = planned("lab: x\nnodes: {a: {}, b: {}}\nlinks: [{between: [a, b]}]\n")
    assert [op["do"] for op in made.message()["operations"]] == ["veth", "address", "address"]


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
        way(made, lab, probe)


@pytest.mark.parametrize("protocol", ["icmp", "udp"])
def test_points_are_either_on_the_way_or_absent_with_a_reason(protocol: str) -> None:
    for combination in combinations(load_study(FOLDER / "whiteaker2011.yaml"), "quick"):
        made = build(combination.lab, KINDS, ROOT)
        probe = combination.probe.model_copy(update={"protocol": protocol})
        path = way(made, combination.lab, probe)
        on_the_way = {*path.request, *path.reply}
        everywhere = {
            f"{side}.{point}"
            for side in ("sender", "responder")
            for point in ("app", "qdisc", "stack", "vif", "uplink")
        } | {"wire"}
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
    _, notes = ready(replace(made, agents=(bare,)))
    assert notes == [f"{machine.name} is a machine that is always emulated (TCG)"]
