"""A load that is silently broken gives no verdict: its own figures show that it did not act."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.doing.conftest import Run, as_json

pytestmark = pytest.mark.root

STUDY = """
study: broken
lab:
  lab: broken
  hosts: {{sut: {{uplink: {{rate: {rate}}}}}, target: {{uplink: {{rate: {rate}}}}}}}
  nodes: {{probe: {{host: sut}}, noisy: {{host: sut}}, echo: {{host: target}}}}
  links: [{{join: [probe, noisy, echo], name: lan}}]
factors:
  load: {{rest: [], {levels}}}
probe: {{from: probe, to: echo, count: 100, interval: 10ms, at_rest: 5}}
claims:
{claims}"""
CLAIM = """\
  - {{claim: {load}, of: rtt.app, group: {{load: {load}}}, against: {{load: rest}},
     median: {{more-than: -1s}}}}
"""
"""A claim that holds for every RTT."""
CPU = f"{{cpu: {1 + (os.cpu_count() or 1)}, on: noisy}}"
"""More workers than CPUs, so that some always wait."""
DISK = "{disk: 1, on: noisy}"
NETWORK = "{network: send, on: noisy, to: echo}"
LEFT_OPEN = "would hold, but left open: "
DISTURBED = {"not-at-rest", "stolen-time", "stopped-process"}
"""Doubts about the machine that leave a verdict open."""
IDLES = """\
#!/bin/sh
[ "$1" = --version ] && exit
echo "info: dispatching hogs: 1 cpu" >&2
trap exit INT
sleep 60 &
wait
"""
IN_MEMORY = """\
#!/bin/sh
for word in "$@"; do
    shift
    [ "$word" = /var/tmp ] && word=/dev/shm
    set -- "$@" "$word"
done
exec {stress_ng} "$@"
"""


def write(folder: Path, loads: dict[str, str], rate: str = "20Mbit", study: str = STUDY) -> None:
    """Write a study of loads, each with a claim of its name."""
    levels = ", ".join(f"{name}: [{load}]" for name, load in loads.items())
    claims = "".join(CLAIM.format(load=name) for name in loads)
    (folder / "study.yaml").write_text(study.format(levels=levels, claims=claims, rate=rate))


@dataclass(frozen=True)
class Shown:
    """The output of `show`: the finding on each load's claim, and doubts about its trial."""

    claims: dict[str, dict[str, object]]
    doubts: dict[str, set[str]]


def shown(delaylab: Run, folder: Path, loads: dict[str, str], rate: str, study: str) -> Shown:
    write(folder, loads, rate, study)
    delaylab("run", str(folder / "study.yaml"), "--out", str(folder / "data"))
    found = as_json(delaylab("show", str(folder / "data"), "--json"))
    return Shown(
        {claim["id"]: claim for claim in found["claims"]},
        {
            trial["factors"]["load"]: {each["kind"] for each in trial["warnings"]}
            for trial in found["trials"]
        },
    )


def verdict(
    delaylab: Run, folder: Path, load: str, rate: str = "20Mbit", study: str = STUDY
) -> dict[str, object]:
    """The finding on the claim of one load."""
    return shown(delaylab, folder, {"it": load}, rate, study).claims["it"]


def replace_stress_ng(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a script in the place of stress-ng for this test."""
    fake = folder / "bin"
    fake.mkdir()
    (fake / "stress-ng").write_text(script)
    (fake / "stress-ng").chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    ("loads", "rate", "count"),
    [
        ({"cpu": CPU, "disk": DISK}, "20Mbit", 100),
        # A full queue of this uplink outlasts a stream that a busy machine holds up for 2 s.
        pytest.param({"network": NETWORK}, "5Mbit", 300, marks=pytest.mark.slow),
    ],
)
def test_loads_that_act_are_judged(
    delaylab: Run, tmp_path: Path, loads: dict[str, str], rate: str, count: int
) -> None:
    study = STUDY.replace("count: 100, interval: 10ms", f"count: {count}, interval: 20ms")
    found = shown(delaylab, tmp_path, loads, rate, study)
    assert found.claims.keys() == loads.keys()
    for load, claim in found.claims.items():
        why = str(claim["why"])
        assert "did not act" not in why, load
        if claim["verdict"] != "holds":
            # On a machine that others disturb it would hold, and the trials have the doubts named.
            assert claim["verdict"] == "open", (load, why)
            named = re.findall(r"([a-z-]+) in \d of 2 trials", why.partition(LEFT_OPEN)[2])
            assert named, why
            assert {*named} <= DISTURBED & (found.doubts[load] | found.doubts["rest"]), why


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="a CPU to reserve, and one for the others")
def test_a_reserved_cpu_that_another_program_uses_gives_no_verdict(
    delaylab: Run, tmp_path: Path
) -> None:
    own = STUDY.replace("probe: {{host: sut}}", "probe: {{host: sut, cpus: [0], reserved: true}}")
    own = own.replace("noisy: {{host: sut}}", "noisy: {{host: sut, cpus: [1]}}")
    own = own.replace("echo: {{host: target}}", "echo: {{host: target, cpus: [1]}}")
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            os.sched_setaffinity(other.pid, {0})
            found = verdict(delaylab, tmp_path, CPU, study=own)
        finally:
            other.kill()
    assert found["verdict"] == "not testable here"
    assert "its reserved CPU was used by others: rest: CPU 0 of probe" in str(found["why"])


def test_a_program_that_idles_gives_no_verdict(
    delaylab: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_stress_ng(tmp_path, monkeypatch, IDLES)
    found = verdict(delaylab, tmp_path, CPU)
    assert found["verdict"] == "not testable here"
    assert "CPU used by the workers together is not known" in str(found["why"])


@pytest.mark.slow
def test_a_program_that_does_nothing_gives_no_verdict(
    delaylab: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its trial fails, since a load that ends is noticed; the claim has nothing to compare."""
    replace_stress_ng(tmp_path, monkeypatch, "#!/bin/sh\ntrue\n")
    write(tmp_path, {"it": CPU})
    delaylab("run", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "data"), code=1)
    (claim,) = as_json(delaylab("show", str(tmp_path / "data"), "--json"))["claims"]
    assert claim["verdict"] == "not testable here"


def test_a_disk_that_is_memory_gives_no_verdict(
    delaylab: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("stress-ng")
    replace_stress_ng(tmp_path, monkeypatch, IN_MEMORY.format(stress_ng=real))
    found = verdict(delaylab, tmp_path, DISK)
    assert found["verdict"] == "not testable here"
    # The kernel may still write a page to storage on behalf of the load's group.
    assert re.search(r"rate of writing to storage was .* at least 100 kB/s is", str(found["why"]))


def test_an_uplink_that_is_never_full_gives_no_verdict(delaylab: Run, tmp_path: Path) -> None:
    found = verdict(delaylab, tmp_path, NETWORK, rate="1Tbit")
    assert found["verdict"] == "not testable here"
    assert "share of the uplink's rate that was used was" in str(found["why"])
