"""Two labs of one name, started by users who know nothing of each other.

Namespaces with sshds stand for machines. A user is a run directory.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.doing.machines.ssh_machines import NEEDED, Lan, lan

pytestmark = NEEDED

LAB = """\
lab: pair
machines: {{x: {{ssh: {x}}}, y: {{ssh: {y}}}}}
hosts: {{h1: {{machine: x}}, h2: {{machine: y}}}}
nodes: {{a: {{host: h1}}, b: {{host: h2}}}}
links: [{{between: [a, b], name: wan, delay: 10ms}}]
data_plane: {plane}
"""
PINGS = 10


@pytest.fixture(scope="module")
def machines() -> Iterator[Lan]:
    with (
        tempfile.TemporaryDirectory(prefix="dlm-") as folder,
        lan(Path(folder), ["m1", "m2", "m3", "m4"]) as made,
    ):
        yield made


@pytest.fixture
def four(machines: Lan, run_directory: Path) -> Iterator[Lan]:
    """Four machines that a test leaves without a trace of a lab, whoever started it."""
    yield machines
    for user in (None, run_directory):
        with as_user(user):
            machines.delaylab("down", "--all")
    machines.wait_until_gone()


@contextmanager
def as_user(run_directory: Path | None) -> Iterator[None]:
    """Be the second user for the length of a block, with a run directory of their own."""
    with pytest.MonkeyPatch.context() as patch:
        if run_directory is not None:
            other = run_directory / "second"
            other.mkdir(mode=0o700, exist_ok=True)
            patch.setenv("DELAYLAB_RUN", str(other))
        yield


def answered(four: Lan) -> list[int]:
    """Ping from a to b; return how many answers came, and how many of them twice."""
    ping = ("ping", "-q", "-c", str(PINGS), "-i", "0.05", "-W", "1", "b")
    said = four.delaylab("exec", "--lab", "pair", "a", "--", *ping).stdout
    words = next(line for line in said.splitlines() if "received" in line).split()
    doubled = int(next((word for word in words if word.startswith("+")), "+0"))
    return [int(words[3]), doubled]


def received(four: Lan) -> int:
    """Return how many frames b has received."""
    show = ("exec", "--lab", "pair", "b", "--", "ip", "-s", "-j", "link", "show", "wan")
    return int(json.loads(four.delaylab(*show).stdout)[0]["stats64"]["rx"]["packets"])


@pytest.mark.parametrize("plane", ["ethernet", pytest.param("vxlan", marks=pytest.mark.slow)])
def test_labs_of_one_name_on_one_lan_do_not_meet(
    four: Lan, run_directory: Path, plane: str
) -> None:
    four.up(LAB.format(x="m1", y="m2", plane=plane))
    with as_user(run_directory):
        four.up(LAB.format(x="m3", y="m4", plane=plane))
        before = received(four)
    assert answered(four) == [PINGS, 0]
    with as_user(run_directory):
        assert received(four) == before
        assert answered(four) == [PINGS, 0]


def test_a_second_lab_of_one_name_on_the_same_machines_is_refused(
    four: Lan, run_directory: Path
) -> None:
    text = LAB.format(x="m1", y="m2", plane="vxlan")
    four.up(text)
    with as_user(run_directory):
        said = four.up(text.replace("m1", "m3"), code=1)
    assert said.splitlines() == [
        "delaylab: machine y: lab 'pair' is up there already (delaylab down pair --machine m2)"
    ]
    assert answered(four) == [PINGS, 0]
    four.wait_until_gone("m3")
