"""A lab of another tool comes up as its file says: addresses, a LAN, commands, files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from delaylab.topology.options import Options
from delaylab.topology.text import text_of
from delaylab.verbs.maps import imported
from tests.doing.conftest import Run
from tests.waiting import wait_until

pytestmark = pytest.mark.root

TOPOLOGY = """
name: of-clab
topology:
  defaults: {kind: linux, image: none-is-here, env: {SITE: 1.10}}
  groups:
    boxes:
      exec: [ip link set eth1 up]
  nodes:
    h1:
      group: boxes
      binds: ["cfg:/etc/of-clab"]
      exec:
        - ip addr add 10.7.0.1/24 dev eth1
        - ip link set eth9 up
        - sh -c 'echo $$SITE > /tmp/site'
    h2: {group: boxes, exec: [ip addr add 10.7.0.2/24 dev eth1]}
    h3:
    br0: {kind: bridge}
  links:
    - endpoints: ["h1:eth1", "br0:x"]
    - endpoints: ["h2:eth1", "br0:y"]
    - {type: host, host-interface: x9, endpoint: {node: h1, interface: eth9}}
    - endpoints: ["h2:eth2", "h3:eth1"]
      ipv4: [10.9.0.1/30, 10.9.0.2/30]
      ipv6: ["2001:db8::1/64", "2001:db8::2/64"]
      mtu: 1400
"""


def test_a_topology_of_containerlab_comes_up(delaylab: Run, tmp_path: Path) -> None:
    (tmp_path / "cfg").mkdir()
    (tmp_path / "cfg/motd").write_text("of the topology's folder\n")
    (tmp_path / "x.clab.yml").write_text(TOPOLOGY)
    lab = text_of(imported(str(tmp_path / "x.clab.yml"), None, None, Options()))
    # There is no such image here: namespaces with files of their own do as well.
    lab, containers = re.subn(r"kind: docker, image: none-is-here", "kind: netns", lab)
    assert containers == 3
    (tmp_path / "lab.yaml").write_text(lab)
    delaylab("up", str(tmp_path / "lab.yaml"))
    for node, target in (("h1", "10.7.0.2"), ("h3", "10.9.0.1"), ("h3", "2001:db8::1")):
        delaylab("exec", node, "--", "ping", "-c", "1", "-W", "2", target)
    delaylab("exec", "h1", "--", "ping", "-c", "1", "-W", "2", "h3")
    found = delaylab("exec", "h1", "--", "cat", "/etc/of-clab/motd", "/tmp/site")
    assert found.stdout == "of the topology's folder\n1.10\n"
    assert "mtu 1400" in delaylab("exec", "h3", "--", "ip", "link", "show", "eth1").stdout
    delaylab("down", "of-clab")


CONF = """\
pc[0]="A"
r1[0]="A"
r1[1]="B"
r1[image]="kathara/quagga"
r2[0]="B"
r2[1]="C"
r2[image]="kathara/frr"
"""
OSPF = """\
interface {inside}
 ip ospf hello-interval 1
 ip ospf dead-interval 4
 ip ospf network point-to-point
router ospf
 network 0.0.0.0/0 area 0
"""
STARTUP = {
    "pc": "ip addr add 10.1.0.2/24 dev eth0\nip route add default via 10.1.0.1\nno-such-program\n",
    "r1": "ifconfig eth0 10.1.0.1/24\nifconfig eth1 10.2.0.1/30\n/etc/init.d/quagga start\n",
    "r2": "ip a add 10.2.0.2/30 dev eth0\nip a add 10.3.0.1/24 dev eth1\nsystemctl start frr\n",
}
WITHIN_S = 60


def test_a_lab_of_kathara_comes_up_with_its_scripts_and_daemons(
    delaylab: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "of-kathara"
    for path, text in {
        "lab.conf": CONF,
        **{f"{name}.startup": text for name, text in STARTUP.items()},
        "r1/etc/quagga/daemons": "zebra=yes\nospfd=yes\n",
        "r1/etc/quagga/ospfd.conf": OSPF.format(inside="eth1"),
        "r2/etc/frr/daemons": "zebra=yes\nospfd=yes\n",
        "r2/etc/frr/frr.conf": OSPF.format(inside="eth0"),
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (tmp_path / "lab.yaml").write_text(text_of(imported(str(folder), None, None, Options())))
    delaylab("up", str(tmp_path / "lab.yaml"))
    ping = ("exec", "pc", "--", "sh", "-c", "ping -c 1 -W 1 10.3.0.1; true")
    wait_until(lambda: " 0% packet loss" in delaylab(*ping).stdout, WITHIN_S)
    assert "no-such-program" in delaylab("logs", "pc").stdout
    delaylab("down", "of-kathara")


NETLAB = """
name: of-netlab
module: [ospf]
ospf.timers: {hello: 1, dead: 4}
groups:
  hosts: {members: [h1], device: linux}
nodes: {h1: , dut: , x1: {ospf.area: 1}, x2: }
links:
- h1-dut
- {dut: , x1: , ospf.area: 1, ospf.cost: 7}
- {dut: {ospf.passive: true}, x2: , prefix.ipv4: 10.42.1.0/24}
validate: {ping: {nodes: [h1], plugin: ping(x1)}}
"""


def test_a_topology_of_netlab_comes_up_with_its_routes(delaylab: Run, tmp_path: Path) -> None:
    (tmp_path / "topology.yml").write_text(NETLAB)
    lab = text_of(imported(str(tmp_path / "topology.yml"), None, None, Options()))
    (tmp_path / "lab.yaml").write_text(lab)
    delaylab("up", str(tmp_path / "lab.yaml"))
    delaylab("exec", "h1", "--", "ping", "-c", "1", "-W", "2", "x1")
    routes = delaylab("exec", "x1", "--", "ip", "route").stdout
    assert re.search(r"^10\.42\.1\.0/24 .*dev eth1 proto ospf", routes, re.MULTILINE)
    delaylab("down", "of-netlab")
