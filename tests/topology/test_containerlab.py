"""Each thing that a containerlab topology can say is carried over, or named once."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from delaylab.errors import BadInput
from delaylab.topology.formats.containerlab.nodes import READERS
from delaylab.topology.lab import MapLab
from delaylab.topology.options import Options
from delaylab.verbs.maps import imported
from tests.topology.maps import SAMPLES, of_text, spec

PAGE = (Path(__file__).parents[2] / "docs/containerlab.md").read_text()
CARRIED: dict[str, tuple[Any, dict[str, Any]]] = {
    "image": ("x", {"image": "x", "kind": "docker"}),
    "env": ({"A": "b"}, {"env": {"A": "b"}}),
    "cpu": (1.5, {"cpu_quota": "150%"}),
    "cpu-set": ("0-1,4", {"cpus": [0, 1, 4]}),
    "memory": ("1Gb", {"memory": "1GB"}),
    "cap-add": (["NET_ADMIN", "CAP_SYS_ADMIN"], {"capabilities": ["sys_admin"]}),
    "entrypoint": ("/run.sh -v", {"start": [{"run": ["/run.sh", "-v"], "name": "entrypoint"}]}),
    "exec": (
        ["echo 'a b'"],
        {"start": [{"run": ["echo", "a b"], "name": "exec-1", "ready": {"ends": True}}]},
    ),
    "sysctls": ({"net.ipv4.ip_forward": "1"}, {"forwards": True}),
    "image-pull-policy": ("Never", {}),
    "restart-policy": ("no", {}),
    "auto-remove": (False, {}),
    "enforce-startup-config": (False, {}),
    "suppress-startup-config": (False, {}),
    "startup-delay": (0, {}),
    "network-mode": ("none", {}),
    "privileged": (False, {}),
    "cgroupns-mode": ("private", {}),
    "runtime": ("docker", {}),
    "user": ("root", {}),
    "hostname": ("a", {}),
    "group": ("known", {}),
    "kind": ("linux", {}),
}
"""Fields of a node -> a value that a lab file has the same for, and what it becomes there."""
NAMED: dict[str, Any] = {
    "kind": "nokia_srlinux",
    "type": "ixrd2l",
    "group": "unknown",
    "image-pull-policy": "Always",
    "restart-policy": "always",
    "link-apply-mode": "live",
    "license": "key.txt",
    "startup-config": "a.cfg",
    "enforce-startup-config": True,
    "suppress-startup-config": True,
    "auto-remove": True,
    "startup-delay": 10,
    "binds": ["/root/files:/root/files:ro"],
    "volumes": ["shared:/srv"],
    "ports": ["80:8080"],
    "env": {"a-b": "c"},
    "env-files": ["envfile"],
    "credentials": {"username": "admin"},
    "user": "test",
    "hostname": "app",
    "entrypoint": "it's not closed",
    "cmd": "sleep 1",
    "labels": {"tier": 1},
    "mgmt-ipv4": "172.20.20.100",
    "mgmt-ipv6": "3fff:172:20:20::100",
    "dns": {"servers": ["192.0.2.1"]},
    "network-mode": "host",
    "runtime": "podman",
    "exec": ["ip address show eth0"],
    "memory": "lots",
    "cpu": 11,
    "cpu-set": "all",
    "shm-size": "256MB",
    "devices": ["/dev/ppp"],
    "cap-add": ["ALL"],
    "privileged": True,
    "cgroupns-mode": "host",
    "cgroup-parent": "/lab",
    "pid-mode": "host",
    "tmpfs": {"/run": "rw"},
    "security-opts": ["seccomp=unconfined"],
    "sysctls": {"net.ipv4.tcp_ecn": 1},
    "stages": {"create": {"wait-for": [{"node": "b", "stage": "create"}]}},
    "certificate": {"issue": True},
    "healthcheck": {"test": ["CMD-SHELL", "true"]},
    "aliases": ["a.example.com"],
    "extras": {"srl-agents": ["a.yml"]},
    "config": {"vars": {"a": "b"}},
    "components": [{"slot": "A"}],
    "position": "left",
    "of-a-later-version": "x",
}
"""Fields of a node -> a value that a lab file has no counterpart for."""
LAYERS = ("defaults", "kinds", "groups", "nodes")


def places(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return each field in each layer; a kind and a group do not say which they are."""
    ours = ("defaults", "nodes")
    return [(name, at) for name in names for at in (ours if name in ("kind", "group") else LAYERS)]


def topology(fields: dict[str, Any], layer: str = "nodes", **more: Any) -> str:
    """Return a topology of nodes a and b, with fields for a at one layer."""
    node: dict[str, Any] = {"group": "known"} if layer == "groups" else {}
    defaults = {"image": "x", "kind": "linux"} | (fields if layer == "defaults" else {})
    kinds = {"linux": fields} if layer == "kinds" else {}
    groups = {"known": fields if layer == "groups" else {"labels": {}}}
    nodes = {"a": node | (fields if layer == "nodes" else {}), "b": {}}
    links = [{"endpoints": ["a:eth1", "b:eth1"]}]
    whole = {"defaults": defaults, "kinds": kinds, "groups": groups, "nodes": nodes, "links": links}
    return _yaml(name="t", topology=whole | more)


def _yaml(**whole: Any) -> str:
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in whole.items())


def said(found: MapLab) -> list[str]:
    """Return what is not carried over."""
    return [each.what for each in found.map.problems]


@pytest.mark.parametrize(("name", "layer"), places(CARRIED))
def test_a_field_that_a_lab_file_has_is_carried(name: str, layer: str) -> None:
    value, fields = CARRIED[name]
    found = of_text(topology({name: value}, layer))
    assert {"a", "b"} == set(spec(found).nodes)
    assert found.nodes["a"].items() >= fields.items()
    assert [each for each in said(found) if "(node b)" not in each] == []


@pytest.mark.parametrize(("name", "layer"), places(NAMED))
def test_a_field_that_a_lab_file_has_not_is_named_once(name: str, layer: str) -> None:
    found = of_text(topology({name: NAMED[name]}, layer))
    assert set(spec(found).nodes) == {"a", "b"}
    (what,) = said(found)
    word = {"binds": "bind", "sysctls": "sysctl", "cap-add": "capability"}.get(name, name)
    assert re.search(rf"\b{word}\b", what)
    assert "not carried over" in what
    assert ("nodes a, b" if layer in ("defaults", "kinds") else "node a") in what


@given(st.lists(st.tuples(st.sampled_from(LAYERS), st.sampled_from(sorted(NAMED))), max_size=20))
@settings(deadline=None, max_examples=60)
def test_no_field_is_lost_without_a_word(wanted: list[tuple[str, str]]) -> None:
    layers: dict[str, dict[str, Any]] = {layer: {} for layer in LAYERS}
    for layer, name in wanted:
        if name not in ("kind", "group"):
            layers[layer][name] = NAMED[name]
    found = of_text(
        _yaml(
            topology={
                "defaults": layers["defaults"],
                "kinds": {"linux": layers["kinds"]},
                "groups": {"g": layers["groups"]},
                "nodes": {"a": {"kind": "linux", "group": "g", "image": "x"} | layers["nodes"]},
            }
        )
    )
    assert max(Counter(said(found)).values(), default=1) == 1
    assert len(said(found)) == len({name for layer in layers.values() for name in layer})


def test_every_documented_field_has_its_row() -> None:
    rows = re.findall(r"^\| (`[^|]*) \|", PAGE, re.M)
    named = {name for row in rows for name in re.findall(r"`([a-z0-9-]+)(?::[^`]*)?`", row)}
    assert (CARRIED.keys() | NAMED.keys()) - named == {"of-a-later-version"}
    assert named >= READERS.keys()


OTHER_FORMS: list[tuple[str, Any]] = [
    *((field, form) for field in ("env", "sysctls") for form in (["x"], "x")),
    *((field, form) for field in ("binds", "exec", "cap-add") for form in ({"x": "y"}, "x")),
    *((field, form) for field in ("kind", "cpu", "memory") for form in (["x"], {"x": "y"})),
]


@pytest.mark.parametrize(("field", "value"), OTHER_FORMS)
def test_a_field_of_another_form_is_named(field: str, value: Any) -> None:
    (what,) = said(of_text(topology({field: value})))
    assert f"`{field}` is not carried over" in what


def test_the_nearest_layer_counts_and_lists_are_added() -> None:
    text = _yaml(
        topology={
            "defaults": {"kind": "linux", "image": "d", "env": {"A": 1, "B": 1, "C": 1, "D": 1}},
            "kinds": {"linux": {"image": "k", "env": {"B": 2, "C": 2, "D": 2}, "exec": ["one"]}},
            "groups": {"g": {"image": "g", "env": {"C": 3, "D": 3}, "exec": ["two", "one"]}},
            "nodes": {
                "a": {"group": "g", "image": "", "env": {"D": 4}, "exec": ["three"]},
                "b": None,
            },
        }
    )
    nodes = of_text(text).nodes
    assert nodes["a"]["image"] == "g"
    assert nodes["b"]["image"] == "k"
    assert nodes["a"]["env"] == {"A": "1", "B": "2", "C": "3", "D": "4"}
    start: Any = nodes["a"]["start"]
    assert [each["run"] for each in start] == [["one"], ["two"], ["three"]]


def test_the_groups_of_a_kind_and_of_the_defaults_count() -> None:
    topology_ = {
        "defaults": {"group": "usual"},
        "kinds": {"linux": {"group": "boxes"}},
        "groups": {"usual": {"kind": "linux"}, "boxes": {"image": "x", "cpu": 1}},
        "nodes": {"a": {}},
    }
    assert of_text(_yaml(topology=topology_)).nodes["a"]["image"] == "x"


def test_the_text_of_a_variable_is_that_of_the_file() -> None:
    text = (
        "topology:\n  nodes:\n    a:\n      image: x\n"
        "      env: {V: 1.10, T: true, Y: yes, E: , N: ~, S: 'null', O: 0640, H: 0x1F}\n"
    )
    assert of_text(text).nodes["a"]["env"] == {
        "V": "1.10",
        "T": "true",
        "Y": "yes",
        "E": "",
        "N": "",
        "S": "null",
        "O": "0640",
        "H": "0x1F",
    }


def test_fields_of_anchors_are_merged() -> None:
    text = (
        "x: &x {image: own, env: {A: b}}\ntopology:\n  nodes:\n"
        "    a: {<<: *x, cpu: 1}\n    b: {<<: [*x], image: other}\n"
    )
    nodes = of_text(text).nodes
    assert nodes["a"] == {"kind": "docker", "image": "own", "env": {"A": "b"}, "cpu_quota": "100%"}
    assert nodes["b"]["image"] == "other"


def test_variables_have_their_defaults_and_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SET_HERE", "of this machine")
    text = (
        "# ${NOBODY} reads this\nname: ${LAB:=one}-__gitBranch__\ntopology:\n  nodes:\n"
        "    a:\n      image: alpine:${V:-${W=3}}\n      env: {S: '${SET_HERE}', P: '${P+x}'}\n"
        "      exec: [\"sh -c 'echo $$HOME $BARE'\", echo __clabNodeName__ __clabLabName__]\n"
    )
    found = of_text(text)
    node = found.nodes["a"]
    assert found.name == "one-none"
    assert node["image"] == "alpine:3"
    assert node["env"] == {"S": "${SET_HERE}", "P": ""}
    start: Any = node["start"]
    assert [each["run"] for each in start] == [
        ["sh", "-c", "echo $HOME $BARE"],
        ["echo", "a", "clab-one-none"],
    ]
    about = [each for each in found.assumptions if each.startswith("variable ")]
    assert [each.split()[1] for each in about] == ["LAB", "W", "P", "V", "SET_HERE", "BARE"]


def test_programs_of_this_machine_are_not_started_for_a_node_without_an_image() -> None:
    fields = {"exec": ["rm -rf /"], "binds": ["a:/a"], "entrypoint": "x", "memory": "1G", "cpu": 1}
    found = of_text(_yaml(topology={"nodes": {"a": fields}}))
    assert found.nodes["a"] == {"cpu_quota": "100%"}
    assert sum("the node has no image" in each for each in said(found)) == 4


@pytest.mark.parametrize(
    ("size", "memory"), [("1Gb", "1GB"), ("1GiB", "1GiB"), ("512m", "512MB"), ("1.5kib", "1536B")]
)
def test_memory_has_the_units_of_containerlab(size: str, memory: str) -> None:
    assert of_text(topology({"memory": size})).nodes["a"]["memory"] == memory


@pytest.mark.parametrize(
    ("field", "value"), [("memory", "9" * 20 + "Gb"), ("cpu", "11"), ("cpu-set", "0-9999")]
)
def test_what_no_node_can_have_is_named(field: str, value: str) -> None:
    assert f"`{field}: {value}` is not carried over" in said(of_text(topology({field: value})))[0]


def test_a_command_that_names_an_interface_which_is_not_there_is_named() -> None:
    found = of_text(
        topology(
            {"exec": ["ip link set eth1 up", "ip link set eth2 up", "sysctl net.conf.eth1.x"]},
            links=[{"endpoints": ["a:eth1", "b:eth1"]}, {"endpoints": ["a:eth2", "nobody:x"]}],
        )
    )
    start: Any = found.nodes["a"]["start"]
    assert [each["run"][-1] for each in start] == ["up", "net.conf.eth1.x"]
    assert [each for each in said(found) if "exec" in each] == [
        "exec 'ip link set eth2 up' is not carried over: no link has interface eth2 (node a)"
    ]


def test_what_is_for_a_management_network_says_what_to_use_instead() -> None:
    fields = {"exec": ["ip address show eth0"], "mgmt-ipv4": "172.20.20.2"}
    for lost in said(of_text(topology(fields))):
        assert "no management network; `delaylab exec` and `cp` reach nodes" in lost


@pytest.mark.parametrize("words", ["eth10", "eth1.100", "/sys/eth1", "veth1", "eth1-x"])
def test_only_an_interface_of_the_node_is_renamed(words: str) -> None:
    start: Any = of_text(topology({"exec": [f"x {words}"]})).nodes["a"]["start"]
    assert start[0]["run"] == ["x", words]


def test_a_lab_of_no_nodes_of_its_own_is_refused() -> None:
    with pytest.raises(BadInput, match="all nodes are bridges, or parts of the machine"):
        of_text(
            _yaml(topology={"nodes": {"a": {"kind": "ext-container"}, "b": {"kind": "bridge"}}})
        )


def test_a_loss_is_named_with_its_first_line_and_its_nodes() -> None:
    found = imported(str(SAMPLES / "lab.clab.yml"), None, None, Options())
    by_line = {each.line: each.what for each in found.map.problems}
    assert "(nodes leaf1, leaf2)" in by_line[15]
    many = {f"n{i}": {"image": "x", "type": "t"} for i in range(9)}
    (what,) = said(of_text(_yaml(topology={"nodes": many})))
    assert what.endswith("(nodes n0, n1, n2 and 6 more)")


def test_fields_of_the_whole_file_are_named() -> None:
    whole = {"mgmt": {"network": "x"}, "settings": {"a": "b"}, "debug": True, "prefix": "p"}
    text = _yaml(name="x", **whole, topology={"nodes": {"a": {"image": "x"}}, "other": 1})
    assert [each.split("`")[1] for each in said(of_text(text))] == [*whole, "other"]
    assert said(of_text(_yaml(prefix="", topology={"nodes": {"a": {"image": "x"}}}))) == []


def test_what_is_no_field_and_no_list_is_named() -> None:
    nodes = {"a": ["x"], "b": {"image": "x"}}
    what = "a text or a list in place of fields is not carried over (node a)"
    assert what in said(of_text(_yaml(topology={"nodes": nodes})))
    with pytest.raises(BadInput, match="expected a list of links"):
        of_text(_yaml(topology={"nodes": nodes, "links": {"a": "b"}}))
