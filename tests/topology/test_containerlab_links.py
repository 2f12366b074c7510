"""Links and files of a containerlab topology."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from delaylab.topology.lab import MapLab
from delaylab.topology.options import Options
from delaylab.verbs.maps import imported
from tests.topology.maps import of_text, spec

NODES = {
    "a": {"image": "x"},
    "b": {"image": "x"},
    "c": {"image": "x"},
    "br": {"kind": "bridge"},
    "ovs": {"kind": "ovs-bridge"},
    "ext": {"kind": "ext-container"},
    "self": {"kind": "host"},
}
LEADS_NOWHERE = "is not carried over: the interface is there and leads nowhere"


def made(*links: dict[str, Any], nodes: dict[str, Any] = NODES) -> MapLab:
    """Return the import of links between some nodes."""
    text = f"topology: {json.dumps({'nodes': nodes, 'links': list(links)})}\n"
    found = of_text(text)
    spec(found)
    return found


def brief(one: str, other: str, **more: Any) -> dict[str, Any]:
    return {"endpoints": [one, other], **more}


def long(kind: str, one: str, other: str, **more: Any) -> dict[str, Any]:
    ends = [dict(zip(("node", "interface"), end.split(":"), strict=True)) for end in (one, other)]
    return {"type": kind, "endpoints": ends, **more}


def of_links(found: MapLab) -> list[str]:
    """Return what is not carried over, but that a node is a part of the machine."""
    return [each.what for each in found.map.problems if not each.what.startswith("kind ")]


@pytest.mark.parametrize(
    "link",
    [
        brief("a:eth1", "b:eth1"),
        long("veth", "a:eth1", "b:eth1"),
        long("veth-stitch", "a:eth1", "b:eth1"),
        {"endpoints": long("", "a:eth1", "b:eth1")["endpoints"]},
    ],
)
def test_a_link_of_two_nodes_is_carried(link: dict[str, Any]) -> None:
    found = made(link)
    assert found.links == [{"between": ["a:eth1", "b:eth1"], "name": "a-b"}]
    assert of_links(found) == []


@pytest.mark.parametrize("name", ["1/1/c1/1", "lo", "ethernet-123456789"])
def test_an_interface_that_cannot_have_its_name_is_named_as_its_link(name: str) -> None:
    found = made(brief("a:eth1", f"b:{name}"))
    assert found.links == [{"between": ["a:eth1", "b"], "name": "a-b"}]
    assert any("1 interface cannot have its name" in each for each in found.assumptions)


def test_nodes_without_a_stack_of_their_own_name_no_interfaces() -> None:
    nodes = {"a": {"image": "x"}, "b": {}}
    text = f"topology: {json.dumps({'nodes': nodes, 'links': [brief('a:eth1', 'b:eth1')]})}\n"
    found = of_text(text, Options(kind="native"))
    assert found.links == [{"between": ["a:eth1", "b"], "name": "a-b"}]
    assert any("kind native cannot name interfaces" in each for each in found.assumptions)


@pytest.mark.parametrize(
    ("link", "to"),
    [
        (brief("a:eth1", "host:x"), "host"),
        (brief("mgmt-net:x", "a:eth1"), "mgmt-net"),
        (brief("a:eth1", "macvlan:ens3"), "macvlan"),
        (brief("a:eth1", "ext:eth1"), "ext-container"),
        (brief("a:eth1", "self:x"), "host"),
        *(
            ({"type": kind, "endpoint": {"node": "a", "interface": "eth1"}, "vni": 5}, kind)
            for kind in ("host", "mgmt-net", "macvlan", "vxlan", "vxlan-stitch")
        ),
    ],
)
def test_a_link_that_leads_out_of_the_lab_is_named_and_its_interface_is_there(
    link: dict[str, Any], to: str
) -> None:
    found = made(link, brief("a:eth2", "b:eth1"))
    assert found.links[1] == {"join": ["a:eth1"], "name": "a-eth1"}
    (lost,) = of_links(found)
    assert lost.startswith(f"a link to {to} {LEADS_NOWHERE}")
    assert lost.endswith("(node a)")


def test_a_lab_of_which_all_links_lead_out_is_a_lab() -> None:
    found = made(brief("a:eth1", "host:x"), nodes={"a": {"image": "x"}})
    assert set(found.nodes) == {"a"}
    assert found.links == [{"join": ["a:eth1"], "name": "a-eth1"}]


def test_a_dummy_is_a_network_of_one_node() -> None:
    found = made({"type": "dummy", "endpoint": {"node": "a", "interface": "d0"}, "mtu": 1400})
    assert found.links == [{"join": ["a:d0"], "name": "a-d0", "mtu": 1400}]


def test_bridges_are_lans_and_a_link_between_them_joins_them() -> None:
    links = (brief("a:eth1", "br:x"), brief("br:y", "b:eth1"), brief("c:eth1", "ovs:x"))
    assert made(*links).links == [
        {"join": ["a:eth1", "b:eth1"], "name": "br"},
        {"join": ["c:eth1"], "name": "ovs"},
    ]
    joined = made(*links, brief("br:z", "ovs:z")).links
    assert joined == [{"join": ["a:eth1", "b:eth1", "c:eth1"], "name": "br"}]


def test_fields_of_a_bridge_are_named() -> None:
    nodes = {"a": {"image": "x"}, "br": {"kind": "bridge", "labels": {"x": "y"}}}
    assert of_links(made(brief("a:eth1", "br:x"), nodes=nodes)) == [
        "`labels` of a bridge is not carried over (node br)"
    ]


def test_a_node_that_is_on_a_bridge_twice_has_its_second_interface_alone() -> None:
    nodes = {**NODES, "a": {"image": "x", "exec": ["x eth1", "x eth2"]}}
    found = made(brief("a:eth1", "br:x"), brief("a:eth2", "br:y"), nodes=nodes)
    start: Any = found.nodes["a"]["start"]
    assert [each["run"] for each in start] == [["x", "eth1"], ["x", "eth2"]]
    assert found.links == [
        {"join": ["a:eth2"], "name": "a-eth2"},
        {"join": ["a:eth1"], "name": "br"},
    ]
    assert of_links(found) == [f"a second interface of a node to one LAN {LEADS_NOWHERE} (node a)"]


def test_commands_about_an_interface_of_another_name_get_that_of_the_link() -> None:
    nodes = {**NODES, "a": {"image": "x", "exec": ["x e/1 eth2 e/3"]}}
    links = (brief("a:e/1", "b:eth1"), brief("c:eth1", "a:eth2"), brief("b:eth2", "a:e/3"))
    start: Any = made(*links, nodes=nodes).nodes["a"]["start"]
    assert start[0]["run"] == ["x", "a-b", "eth2", "a-b-2"]


@pytest.mark.parametrize(
    ("mtu", "kept"), [(9000, True), ("1400", True), (900, False), ("x", False)]
)
def test_the_mtu_of_a_link_is_carried_if_a_link_can_have_it(mtu: int | str, kept: bool) -> None:
    found = made(brief("a:eth1", "b:eth1", mtu=mtu))
    assert found.links[0].get("mtu") == (int(mtu) if kept else None)
    assert [each.startswith("`mtu: ") for each in of_links(found)] == ([] if kept else [True])


def test_other_fields_of_links_and_endpoints_are_named_once() -> None:
    link = long("veth", "a:eth1", "b:eth1", vars={"a": "b"}, labels={"a": "b"})
    for end in link["endpoints"]:
        end |= {"mac": "02:00:00:00:00:01", "vars": {"c": "d"}}
    assert of_links(made(link, link)) == [
        "`mac` of an endpoint is not carried over",
        "`vars` of an endpoint is not carried over",
        "`vars` of a link is not carried over",
        "`labels` of a link is not carried over",
    ]
    unknown = brief("a:eth1", "b:eth1", type="tunnel")
    assert of_links(made(unknown)) == ["`type: tunnel` of a link is not carried over"]


def test_a_link_without_two_ends_is_named() -> None:
    found = made(brief("a:eth1", "b:eth1"), {"endpoints": ["a:eth2"]}, brief("a:eth3", "gone:eth1"))
    assert of_links(found) == ["expected a link with two endpoints: left out"]
    assert any("a node that the source does not have" in each for each in found.assumptions)


def test_addresses_of_both_ends_are_carried() -> None:
    of_ends = long("veth", "c:eth1", "b:eth2")
    of_ends["endpoints"][0]["ipv4"] = "10.0.1.1/24"
    of_ends["endpoints"][1]["ipv4"] = "10.0.1.2/24"
    both = {"ipv4": ["10.0.0.1/31", "10.0.0.0/31"], "ipv6": ["2001:db8::1/64", "2001:db8::2/64"]}
    found = made(brief("a:eth1", "b:eth1", **both), of_ends)
    assert found.data["ip"] == [4, 6]
    assert [each["addresses"] for each in found.links] == [
        {"a": ["10.0.0.1/31", "2001:db8::1/64"], "b": ["10.0.0.0/31", "2001:db8::2/64"]},
        {"c": "10.0.1.1/24", "b": "10.0.1.2/24"},
    ]
    assert of_links(found) == []


@pytest.mark.parametrize(
    "addresses",
    [
        ["10.0.0.1/24"],
        ["", "10.0.0.1/24"],
        ["10.0.0.1/24", "10.0.1.1/24"],
        ["10.0.0.1/24", "10.0.0.1/24"],
        ["10.0.0.0/24", "10.0.0.1/24"],
        ["10.0.0.1", "10.0.0.2"],
        ["10.9.0.1/24", "10.9.0.2/24"],
        ["x", "y"],
    ],
)
def test_addresses_that_a_link_cannot_have_are_named(addresses: list[str]) -> None:
    other = brief("c:eth1", "b:eth2", ipv4=["10.9.0.1/24", "10.9.0.9/24"])
    found = made(other, brief("a:eth1", "b:eth1", ipv4=addresses))
    assert "addresses" not in found.links[1]
    (what,) = of_links(found)
    assert what.startswith("`ipv4` of a link is not carried over")


def of_file(folder: Path, *binds: str, node: str = "a") -> tuple[dict[str, Any], list[str]]:
    """Return the files of a node of a topology in a folder, and what is not carried over."""
    place = folder / "x.clab.yml"
    nodes = {node: {"image": "x", "binds": list(binds)}}
    place.write_text(f"name: l\ntopology: {json.dumps({'nodes': nodes})}\n")
    found = imported(str(place), None, None, Options())
    files: Any = found.nodes[node].get("files", {})
    return files, [each.what for each in found.map.problems]


def test_binds_are_files_below_the_folder_of_the_topology(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of somebody else")
    folder = tmp_path / "lab"
    (folder / "cfg/deep").mkdir(parents=True)
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "cfg/one").write_text("1")
    (folder / "cfg/deep/two").write_text("2")
    (folder / "cfg/out").symlink_to(tmp_path / "secret")
    (folder / "up").symlink_to(tmp_path, target_is_directory=True)
    (folder / "loop").symlink_to("loop")
    (folder / "empty").mkdir()
    bad = (
        "../secret:/one",
        "loop:/loop",
        "empty:/empty",
        "link:/two",
        "/etc/passwd:/three",
        "nothing:/four",
        "up:/five",
    )
    files, said = of_file(folder, "./run.sh:/run.sh:ro", "cfg/:/etc/cfg", *bad, "/anonymous")
    assert files == {
        "/run.sh": {"content": "#!/bin/sh\n", "mode": "755"},
        "/etc/cfg/one": {"content": "1"},
        "/etc/cfg/deep/two": {"content": "2"},
    }
    assert [each.split("'")[1].split(":")[0] for each in said] == [
        "cfg/",
        *(bind.split(":")[0] for bind in bad),
        "/anonymous",
    ]


def test_what_is_no_text_or_too_much_is_named(tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(b"\x89PNG\xff")
    (tmp_path / "zero").write_bytes(b"a\0b")
    (tmp_path / "large").write_text("x" * (1 << 19))
    (tmp_path / "huge").write_text("x" * ((1 << 20) + 1))
    binds = ("image:/i", "zero:/z", "large:/1", "large:/2", "large:/3", "image:/bad/../x")
    files, said = of_file(tmp_path, *binds, "large:/", "huge:/h")
    assert list(files) == ["/1", "/2"]
    reasons = [
        "not text",
        "not text",
        "at most 1 MiB in all",
        "no readable file below",
        "that path",
        "1 MiB",
    ]
    assert all(reason in what for reason, what in zip(reasons, said, strict=True))


def test_a_folder_of_very_many_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for number in range(201):
        (tmp_path / f"many/{number}").touch()
    files, said = of_file(tmp_path, "many:/many")
    assert files == {}
    assert "more than 200 files" in said[0]


def test_magic_variables_name_the_folders_of_containerlab(tmp_path: Path) -> None:
    for name in ("a.cfg", "clab-l/a/own", "clab-l/all"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    files, said = of_file(
        tmp_path, "__clabNodeName__.cfg:/1", "__clabNodeDir__/own:/2", "__clabDir__/all:/3"
    )
    assert [each["content"] for each in files.values()] == ["a.cfg", "clab-l/a/own", "clab-l/all"]
    assert said == []
