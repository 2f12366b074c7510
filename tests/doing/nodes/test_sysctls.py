"""Settings of the kernel in a lab's networks, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doing.conftest import Run

pytestmark = pytest.mark.root

SETTING, CONTROL = "net.ipv4.tcp_limit_output_bytes", "net.ipv4.tcp_congestion_control"
LAB = f"""
lab: kernels
hosts: {{one: {{}}}}
sysctls: {{{SETTING}: 123456, net.ipv4.tcp_wmem: 4096 65536 1048576, {CONTROL}: reno}}
nodes: {{a: {{host: one}}, b: {{kind: native, host: one}}}}
links: [{{join: [a, b], name: lan}}]
"""


def read(delaylab: Run, node: str, setting: str) -> list[str]:
    path = Path("/proc/sys", *setting.split("."))
    return delaylab("exec", node, "--", "cat", str(path)).stdout.split()


def test_a_labs_networks_have_its_settings_and_this_machine_keeps_its_own(
    delaylab: Run, tmp_path: Path
) -> None:
    before = Path("/proc/sys", *SETTING.split(".")).read_text()
    (tmp_path / "lab.yaml").write_text(LAB)
    delaylab("up", str(tmp_path / "lab.yaml"))
    for node in ("a", "b"):
        assert read(delaylab, node, SETTING) == ["123456"]
        assert read(delaylab, node, CONTROL) == ["reno"]
        assert read(delaylab, node, "net.ipv4.tcp_wmem") == ["4096", "65536", "1048576"]
        # Whatever this machine does, whose settings a new namespace has.
        assert read(delaylab, node, "net.ipv4.ip_forward") == ["0"]
    assert Path("/proc/sys", *SETTING.split(".")).read_text() == before


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("kernel.panic: 1", "kernel.panic"),
        (f"{SETTING}: 1; reboot", "expected a number"),
        (f"{SETTING}: [1]", "expected a number"),
    ],
)
def test_other_settings_are_refused(delaylab: Run, tmp_path: Path, line: str, said: str) -> None:
    text = LAB.replace(f"{SETTING}: 123456, net.ipv4.tcp_wmem: 4096 65536 1048576", line)
    (tmp_path / "lab.yaml").write_text(text)
    refused = delaylab("plan", str(tmp_path / "lab.yaml"), code=2)
    assert said in refused.stderr
