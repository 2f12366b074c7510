"""Labs of Kathará: what each line, script and file becomes, and what is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from delaylab.errors import BadInput
from delaylab.topology.lab import MapLab
from delaylab.topology.options import Options
from delaylab.verbs.maps import imported
from tests.topology.maps import spec

TWO = 'a[0]="A"\nb[0]="A"\n'


def made(folder: Path, conf: str, **files: str) -> MapLab:
    """Return the import of a `lab.conf`; `__` in the name of a file is a folder."""
    (folder / "lab.conf").write_text(conf)
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_startup", ".startup")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = imported(str(folder), None, None, Options())
    spec(found)
    return found


def lost(found: MapLab) -> list[str]:
    return [f"{each.line}: {each.what}" for each in found.map.problems]


def node(found: MapLab, name: str) -> Any:
    return found.nodes[name]


def test_a_domain_is_a_link_with_the_interfaces_of_its_devices(tmp_path: Path) -> None:
    conf = 'a[0]="A"\nb[0]=A # two\na[1]=b_1\nb[1]=\'b_1\'\nc_1[0]="b_1"\nc_1[7]=D\n'
    found = made(tmp_path, conf)
    assert found.links == [
        {"between": ["a:eth0", "b:eth0"], "name": "lan-a"},
        {"join": ["a:eth1", "b:eth1", "c-1:eth0"], "name": "b-1"},
        {"join": ["c-1:eth7"], "name": "d"},
    ]
    assert found.whole == {"routes": "none"}
    assert [name for name, each in found.nodes.items() if each.get("forwards")] == ["a", "b", "c-1"]


@pytest.mark.parametrize(
    ("image", "script", "packages"),
    [
        ("", "", ["bash", "coreutils"]),
        ("kathara/base", "", ["bash", "coreutils"]),
        ("kathara/frr", "", ["bash", "coreutils", "frr"]),
        ("kathara/quagga:latest", "", ["bash", "coreutils", "frr"]),
        ("kathara/bind:9.11", "", ["bash", "bind9", "coreutils"]),
        (
            "",
            "ifconfig eth0 10.0.0.1/24 up\nroute add default gw 10.0.0.2",
            ["bash", "coreutils", "net-tools"],
        ),
        ("kathara/base", "systemctl start apache2", ["apache2", "bash", "coreutils"]),
        ("", "/etc/init.d/zebra start", ["bash", "coreutils", "frr"]),
    ],
)
def test_a_device_is_a_container_with_the_packages_that_it_needs(
    tmp_path: Path, image: str, script: str, packages: list[str]
) -> None:
    found = made(tmp_path, TWO + (f'a[image]="{image}"\n' if image else ""), a_startup=script)
    assert node(found, "a")["kind"] == "lxc"
    assert node(found, "a")["packages"] == packages
    assert (node(found, "a").get("capabilities") == ["sys_admin"]) == ("frr" in packages)


def test_an_image_that_the_distribution_has_nothing_for_stays(tmp_path: Path) -> None:
    found = made(tmp_path, TWO + 'a[image]="kathara/p4"\n')
    assert node(found, "a") == {"kind": "docker", "image": "kathara/p4"}


def test_files_and_scripts_are_in_the_nodes_and_a_failing_command_ends_nothing(
    tmp_path: Path,
) -> None:
    files = {
        "a__etc__motd": "hello\n",
        "shared__all": "x\n",
        "shared_startup": "first\n",
        "a_startup": "systemctl start frr\n",
    }
    a = node(made(tmp_path, TWO, **files), "a")
    assert a["files"]["/etc/motd"] == {"content": "hello\n"}
    assert a["files"]["/shared/all"] == {"content": "x\n"}
    assert a["files"]["/hostlab/a.startup"] == {"content": "first\nsystemctl start frr\n"}
    assert a["files"]["/usr/local/sbin/systemctl"]["mode"] == "755"
    (startup,) = a["start"]
    assert startup["run"].endswith("bash /hostlab/a.startup; true")
    assert startup["ready"] == {"ends": True}


def test_files_of_quagga_are_where_frr_looks_for_them(tmp_path: Path) -> None:
    files = {"a__etc__quagga__bgpd.conf": "router bgp 1\nneighbor 10.0.0.2 remote-as 2\n"}
    found = made(tmp_path, TWO, **files)
    content = node(found, "a")["files"]["/etc/frr/bgpd.conf"]
    assert content["owner"] == "frr:frr"
    assert content["content"].startswith("router bgp 1\n no bgp ebgp-requires-policy\nneighbor")
    assert any("files of Quagga are FRR's" in each for each in found.assumptions)


@pytest.mark.parametrize(
    ("name", "one_for_all"), [("frr", True), ("zebra", False), ("ospfd", False), ("vtysh", True)]
)
def test_the_packages_own_file_does_not_hide_those_of_daemons(
    tmp_path: Path, name: str, one_for_all: bool
) -> None:
    files = {f"a__etc__frr__{name}.conf": "log stdout\n", "a_startup": "systemctl start frr\n"}
    (startup,) = node(made(tmp_path, TWO, **files), "a")["start"]
    assert startup["run"].startswith("rm -f /etc/frr/frr.conf; ") != one_for_all


@pytest.mark.parametrize(
    ("of_b", "given"),
    [
        ("ip addr add 10.0.0.2/24 dev eth0", True),
        ("ip a add 10.0.0.2/24 broadcast 10.0.0.255 dev eth0", True),
        ("ifconfig eth0 10.0.0.2 netmask 255.255.255.0 up", True),
        ("ip address add 10.0.1.2/24 dev eth0", False),  # another network
        ("ip address add 10.0.0.1/24 dev eth0", False),  # the same address
        ("ip address add 10.0.0.2/24 dev eth0\nip addr add 10.0.0.3/24 dev eth0", False),
        ("ip address add 10.0.0.999/24 dev eth0", False),
        ("# ip address add 10.0.0.2/24 dev eth0", False),
    ],
)
def test_addresses_of_scripts_are_those_of_the_link_if_they_can_be(
    tmp_path: Path, of_b: str, given: bool
) -> None:
    script = "ip address add 10.0.0.1/24 dev eth0\n"
    found = made(tmp_path, 'x[0]="N"\nb[0]="N"\n', x_startup=script, b_startup=of_b)
    wanted = {"x": "10.0.0.1/24", "b": "10.0.0.2/24"} if given else None
    assert found.links[0].get("addresses") == wanted


@pytest.mark.parametrize(
    ("conf", "script", "ip"),
    [
        (TWO, "ip -6 addr add 2001:db8::1/64 dev eth0", [4, 6]),
        (TWO + "a[ipv6]=True\n", "", [4, 6]),
        (TWO + 'a[ipv6]="false"\n', "ip link set eth0 address 00:00:00:00:00:01", None),
    ],
)
def test_a_lab_has_ipv6_if_a_device_has(
    tmp_path: Path, conf: str, script: str, ip: list[int] | None
) -> None:
    assert made(tmp_path, conf, a_startup=script).whole.get("ip") == ip


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("a[bridged]=true", "3: `bridged` is not carried over: a lab reaches nothing outside"),
        ("a[port]=3000:3000", "3: `port` is not carried over: nothing reaches a lab"),
        ("a[sysctl]=net.ipv4.x=1", "3: `sysctl` is not carried over: a lab has `sysctls:`"),
        ("a[mem]=lots", "3: `mem` is not carried over: no node can have it"),
        ("a[1]=B/02:00:00:00:00:01", "3: `mac` is not carried over"),
        ("a[1]=A", "1: a second interface to one collision domain is not carried over"),
        ("a[args]=--init", "3: `args` is not carried over (node a)"),
        (
            'a[image]="kathara/frr"',
            "3: image 'kathara/frr' is not carried over: packages bash coreutils frr",
        ),
        ("a[1]=", "3: an interface without a collision domain"),
        ("what is this", '3: expected a line such as `r1[0]="A"`'),
    ],
)
def test_what_does_not_fit_is_named_with_its_line(tmp_path: Path, line: str, says: str) -> None:
    (found,) = lost(made(tmp_path, f"{TWO}{line}\n"))
    assert found.startswith(says)


@pytest.mark.parametrize("line", ["a[num_terms]=0", "a[bridged]=false", "LAB_NAME=x", "# a[0]=B"])
def test_what_changes_nothing_is_not_named(tmp_path: Path, line: str) -> None:
    assert lost(made(tmp_path, f"{TWO}{line}\n")) == []


def test_files_that_a_node_cannot_have_are_named(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/binary").write_bytes(b"\xff\xfe\0")
    (tmp_path / "a/out").symlink_to("/etc/passwd")
    found = made(tmp_path, TWO)
    assert "files" not in node(found, "a")
    (said,) = lost(found)
    assert said.startswith("1: a file below a/ is not carried over")


def test_a_script_that_is_a_link_out_of_the_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("ip addr add 10.0.0.1/24 dev eth0\n")
    folder = tmp_path / "lab-of-others"
    folder.mkdir()
    (folder / "a.startup").symlink_to(tmp_path / "secret")
    assert "start" not in node(made(folder, TWO), "a")


def test_a_folder_without_a_map_names_lab_conf(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no map is in this folder .*lab\.conf of Kathará"):
        imported(str(tmp_path), None, None, Options())
