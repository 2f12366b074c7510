"""`delaylab doctor` tries what it names; `shell` gives a terminal; `schema` is one."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import jsonschema
import pytest

from delaylab.kinds import KINDS
from delaylab.machines import LOCAL
from delaylab.points import BETWEEN_HOSTS
from delaylab.spec.source import read
from delaylab_study.papers.studies import find, names
from tests.doing.conftest import DELAYLAB, Run, as_json
from tests.waiting import PATIENCE_S

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.root
@pytest.mark.usefixtures("own_home")  # without images, so that no guest boots
def test_doctor_as_root(delaylab: Run) -> None:
    checks = {
        (check["group"], check["name"]): check for check in as_json(delaylab("doctor", "--json"))
    }
    for kind in ("native", "shared", "netns"):
        assert checks["kind", kind]["usable"], checks["kind", kind]
    points = [check for (group, _), check in checks.items() if group == "point"]
    assert [point["name"] for point in points] == list(BETWEEN_HOSTS)
    assert all(point["usable"] for point in points), points
    assert checks["tool", "stress-ng"]["usable"]
    for job in ("cpu", "tcp", "command"):
        assert checks["work", f"{job} on netns"]["usable"]
    assert checks["work", "packages on netns"]["usable"] == bool(shutil.which("dpkg-query"))
    unfit = checks["kind", "xen"]
    assert not checks["work", "packages on xen"]["usable"]
    if not unfit["usable"]:
        assert checks["work", "cpu on xen"]["why_not"] == unfit["why_not"]
    assert "frames dropped" in checks["network", "backlog"]["detail"]
    assert checks["network", "TCP congestion control"]["usable"]
    parts = {name: check for (group, name), check in checks.items() if group == "kernel"}
    bridged = {"ifb", "clsact", "mirred", "bridge"}
    between = {"htb", "vxlan", "macvlan"}
    assert set(parts) == {"netem", "tbf", "codel", "bpf", "tcx", "sockets"} | bridged | between
    assert all(part["usable"] != bool(part["why_not"]) for part in parts.values()), parts


@pytest.mark.root
def test_doctor_says_which_work_runs_on_which_kind(delaylab: Run, tmp_path: Path) -> None:
    """Without iperf3 and dpkg, a namespace lacks what needs them, and says what to do."""
    bare = tmp_path / "bin"
    bare.mkdir()
    said = delaylab("doctor", "--kind", "netns", env={"PATH": str(bare)}).stdout
    lines = [line.split() for line in said.splitlines()]
    rows = {words[0]: words[1:] for words in lines if len(words) == 2}
    assert rows["work"] == ["netns"]
    assert (rows["cpu"], rows["command"]) == (["yes"], ["yes"])
    assert (rows["tcp"], rows["packages"]) == (["no"], ["no"])
    assert "tcp on netns: iperf3 is not installed → apt-get install iperf3" in said
    assert "packages on netns: dpkg-query is not installed" in said


@pytest.mark.root
def test_doctor_builds_no_image_unasked(delaylab: Run, own_home: Path) -> None:
    checks = {check["name"]: check for check in as_json(delaylab("doctor", "--json"))}
    assert checks["netns"]["usable"]
    untried = [check for check in checks.values() if not check["tried"]]
    for check in untried:
        assert not check["usable"]
        assert "not tried: the image" in check["why_not"]
        assert "delaylab image build" in check["fix"]
    guests = {name for name in ("lxc", "qemu") if not KINDS[name].can_run(LOCAL.rights(), False)}
    assert guests <= {check["name"] for check in untried}
    assert not list(own_home.rglob("layer.json"))
    # The round trips that it measured are kept for forecasts.
    (note,) = own_home.rglob("round-trips-*.json")
    kept = {kind: found["rtt_us"] for kind, found in json.loads(note.read_text())["kinds"].items()}
    assert kept == {
        name: check["measured"]["rtt_us"]
        for name, check in checks.items()
        if "rtt_us" in check["measured"]
    }


@pytest.mark.root
def test_doctor_names_what_root_adds(nobody: Run) -> None:
    checks = {check["name"]: check for check in as_json(nobody("doctor", "--json"))}
    assert checks["netns"]["usable"]
    for right in ("this machine's own interfaces", "CPU sets"):
        if os.geteuid() == 0:  # then `nobody` is one
            assert not checks[right]["usable"]
        if not checks[right]["usable"]:
            assert checks[right]["why_not"]
            assert checks[right]["fix"]


@pytest.mark.root
def test_a_shell_has_a_terminal(delaylab: Run, testbed: Path) -> None:
    delaylab("up", str(testbed))
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [str(DELAYLAB), "shell", "probe"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "SHELL": "/bin/sh", "TERM": "dumb"},
        start_new_session=True,
    )
    os.close(theirs)
    os.write(ours, b"tty >/dev/null && echo a-$((40+2))-terminal; hostname; exit 3\n")
    output = b""
    deadline = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < deadline:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                output += os.read(ours, 4096)
            except OSError:  # EIO: the other end is closed
                break
    with suppress(OSError):
        while select.select([ours], [], [], 0)[0] and (more := os.read(ours, 4096)):
            output += more
    os.close(ours)
    assert process.wait(timeout=PATIENCE_S) == 3
    assert b"a-42-terminal" in output
    assert b"probe" in output


@pytest.mark.parametrize("kind", ["lab", "study"])
def test_schemas_accept_what_is_shipped(delaylab: Run, kind: str) -> None:
    schema = json.loads(delaylab("schema", kind).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    files = {
        "lab": [EXAMPLES / "testbed.yaml", EXAMPLES / "triangle.yaml"],
        "study": [*map(find, names()), EXAMPLES / "udp-rates.yaml"],
    }
    for path in files[kind]:
        jsonschema.validate(read(path).data, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"lab": "x", "nods": {}}, schema)
