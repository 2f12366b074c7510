"""Run netlab's own checks (`validate:`) of its topologies against labs that delaylab imports.

    python tools/netlab_checks.py NETLAB TOPOLOGY...

NETLAB is a checkout of netlab's repository, and topologies are files in it. The checks are
evaluated by netlab's code, of the package `networklab` that this Python has; only the way to a node
is another one, `delaylab exec`. Prints one object of JSON for each topology.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass, field
from pathlib import Path

from box import Box
from netsim import augment
from netsim.cli.validate import devices, tests
from netsim.utils import read, templates

DELAYLAB = os.environ.get("DELAYLAB", "delaylab")
LAB = f"netlab-{os.getpid()}"
WITHOUT_VRFS = "test.vrf_check"
"""The plugin by which netlab leaves VRFs, and their checks, out of a lab of devices without."""
UP_S, EXEC_S = 400, 60


@dataclass
class Check:
    """A check of a topology: whether it holds, after how many seconds, and netlab's patience."""

    name: str
    outcome: str
    seconds: float
    patience: int | None = None


@dataclass
class Checked:
    """A topology with its checks, or why there are none."""

    topology: str
    up_s: float = 0.0
    why: str = ""
    checks: list[Check] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """Lines by which the import names parts that it left out."""


class Failed(Exception):
    """A topology could not be brought up; the text says why."""


def main() -> None:
    """Check the topologies of the command line."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("netlab", type=Path)
    arguments.add_argument("topologies", nargs="+")
    given = arguments.parse_args()
    for name in given.topologies:
        # Netlab keeps what it read in variables of its modules.
        command = [sys.executable, __file__, str(given.netlab), name]
        if len(given.topologies) > 1:
            subprocess.run(command, check=False)
            continue
        said = Checked(name)
        try:
            _check(given.netlab.resolve() / name, said)
        except Failed as error:
            said.why = str(error)
        print(json.dumps(asdict(said)), flush=True)


def _check(path: Path, said: Checked) -> None:
    with tempfile.TemporaryDirectory(prefix="netlab-checks-") as folder:
        lab = Path(folder) / "lab.yaml"
        made = _delaylab("import", str(path), "--name", LAB, "-o", str(lab))
        if made.returncode:
            raise Failed(f"import: {made.stderr.strip().splitlines()[-1]}")
        said.lost = [
            line.partition(": ")[2] for line in made.stderr.splitlines() if ".yml:" in line
        ]
        os.chdir(folder)
        # Netlab prints as it goes.
        with redirect_stdout(sys.stderr):
            topology = _transformed(path)
            with _running(lab, said):
                said.checks = [*_checks(topology, path.parent)]


def _transformed(path: Path) -> Box:
    """Return a topology as netlab sees it, with FRR for nodes without a device and without VRFs."""
    topology = read.load(str(path))
    topology.defaults.device, topology.provider = "frr", "clab"
    features = topology.defaults.devices.frr.features
    features.vrf = False
    topology.plugin = [*topology.get("plugin", []), WITHOUT_VRFS]
    for node in topology.nodes.values():
        # How netlab configures a device says nothing of the lab.
        if node is not None:
            node.pop("netlab_config_mode", None)
    try:
        augment.main.transform(topology)
    except SystemExit:
        raise Failed("netlab does not take the topology") from None
    if "validate" not in topology:
        raise Failed("there are no checks")
    return topology


@contextmanager
def _running(lab: Path, said: Checked) -> Iterator[None]:
    """Bring a lab up, and take it down in the end."""
    begun = time.monotonic()
    try:
        up = _delaylab("up", str(lab), timeout_s=UP_S)
        said.up_s = round(time.monotonic() - begun, 1)
        if up.returncode:
            raise Failed(f"up: {up.stderr.strip().splitlines()[-1]}")
        yield
    except subprocess.TimeoutExpired:
        raise Failed(f"up: not within {UP_S} s") from None
    finally:
        _delaylab("down", LAB)


def _checks(topology: Box, folder: Path) -> Iterator[Check]:
    """Yield the checks of a topology in their order, each evaluated by netlab."""
    devices.connect_to_node = _connected
    devices.execute_netlab_config = lambda entry, whole: _configured(entry, whole, folder)
    options = argparse.Namespace(nowait=False, verbose=0, dump=[], error_only=False)
    topology._v_len = max([len(each.name) for each in topology.validate] + [7])
    tests.extend_first_wait_time(options, topology)
    begun = time.time()
    for entry in topology.validate:
        tests.extend_device_wait_time(entry, topology)
        start = time.monotonic()
        found = tests.execute_validation_test(entry, topology, begun, options)
        is_warning = entry.get("level") == "warning"
        failed = "warned" if is_warning else "failed"
        outcome = {True: "passed", False: failed}.get(found, "skipped")
        seconds = round(time.monotonic() - start, 1)
        yield Check(entry.name, outcome, seconds, entry.get("wait"))
        if found is False and entry.get("stop_on_error"):
            return
        if "wait" in entry:
            begun = time.time()


def _connected(
    node: str, args: argparse.Namespace, rest: Sequence[str], topology: Box, **_: object
) -> str | bool:
    """Return what a command printed in a node, as netlab's `connect_to_node` does."""
    show = args.show
    command = (
        ["vtysh", "-c", f"show {' '.join(show)}"]
        if show
        else ["bash", "-c", f"({' '.join(rest)}) 2>&1"]
    )
    found = _in_node(node, command)
    if found.returncode:
        return False
    return _of_newer_frr(found.stdout) if show and "neighbor" in show else found.stdout


def _of_newer_frr(printed: str) -> str:
    """Return what FRR printed with the name of the VRF around it, which FRR 8.4 leaves out."""
    said = json.loads(printed)
    return json.dumps({"default": said, **said})


def _configured(entry: Box, topology: Box, folder: Path) -> bool:
    """Run a template of a check in its nodes: a script, or lines of FRR's configuration."""
    name = entry.config.template
    inline = [
        each.content for each in topology.get("files", []) if each.path.startswith(f"{name}/")
    ]
    text = inline[0] if inline else (folder / f"{name}.j2").read_text()
    for node in entry.nodes:
        data = topology.nodes[node] + entry.config.get("variable", {})
        lines = templates.render_template(data=data, j2_text=text)
        command = ["bash", "-c", lines]
        if not lines.startswith("#!"):
            said = [each.strip() for each in lines.splitlines() if each.strip(" !")]
            command = ["vtysh", *(word for each in ("conf t", *said) for word in ("-c", each))]
        if _in_node(node, command).returncode:
            return False
    return True


def _in_node(node: str, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    # Names in a lab have no underscores.
    return _delaylab("exec", "--lab", LAB, node.replace("_", "-"), "--", *command, timeout_s=EXEC_S)


def _delaylab(*words: str, timeout_s: float = EXEC_S) -> subprocess.CompletedProcess[str]:
    command = [*shlex.split(DELAYLAB), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)


if __name__ == "__main__":
    main()
