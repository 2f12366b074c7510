"""References to files in the commands of guests, and kinds that cannot be on other machines."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab.errors import NotHere
from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.kind import Rights
from delaylab.plan.references import filled_in, to_file, to_file_in_option
from delaylab.spec.lab import LabSpec

PATHS = st.text(st.sampled_from("ab/%}{,:7D25 ü"), max_size=20)


@given(PATHS, PATHS)
def test_a_reference_becomes_the_path_on_its_machine(one: str, other: str) -> None:
    text = f"x={to_file(one)}:{{folder}},{to_file_in_option(other)}"
    there = {one: "/there/1", other: "/there/2"}
    assert filled_in(text, there.__getitem__) == f"x={there[one]}:{{folder}},{there[other]}"
    doubled = other.replace(",", ",,")
    assert filled_in(text, str) == f"x={one}:{{folder}},{doubled}"


def planned(node: dict[str, Any], lacking: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return the words of the command of a node on another machine."""
    lab = LabSpec.model_validate(
        {
            "lab": "there",
            "machines": {"m1": {"ssh": "m1"}},
            "hosts": {"h": {"machine": "m1"}},
            "nodes": {"a": {"host": "h"}, "b": {"host": "h", **node}},
            "links": [{"between": ["a", "b"]}],
        }
    )
    rights = Rights(root=True, lacking=lacking)
    here = Rights(root=True, lacking=frozenset({"lxc-start", "qemu-system-x86_64", "linux.uml"}))
    plan = build(lab, KINDS, here, machines={"m1": rights})
    (guest,) = (agent.guest for agent in plan.agents if agent.guest)
    return guest.command


@pytest.mark.parametrize(
    ("node", "named"),
    [
        ({"kind": "lxc", "image": "/own,root"}, ["/own,root"]),
        ({"kind": "uml", "kernel": "/k"}, ["/k", "sealed.sh"]),
        ({"kind": "qemu", "kernel": "/k", "image": "/a,b"}, ["/k", "/a,,b"]),
    ],
)
def test_all_files_of_this_machine_in_a_command_are_references(
    node: dict[str, Any], named: list[str]
) -> None:
    """None is left out: a path of this machine means nothing on another one."""
    words = planned(node)
    assert all(any(name in filled_in(word, str) for word in words) for name in named)
    there = [filled_in(word, lambda _: "PUT") for word in words]
    assert not any(name in word for word in there for name in named)
    assert sum(word.count("PUT") for word in there) >= len(named)


@pytest.mark.parametrize("kind", ["docker", "xen"])
def test_kinds_that_cannot_be_on_other_machines_say_why(kind: str) -> None:
    with pytest.raises(NotHere, match=f"cannot be {kind} on machine m1: .*; .*this machine"):
        planned({"kind": kind})


@pytest.mark.parametrize(
    ("kind", "program"),
    [("lxc", "lxc-start"), ("uml", "linux.uml"), ("qemu", "qemu-system-x86_64")],
)
def test_what_a_machine_lacks_is_named_with_the_machine(kind: str, program: str) -> None:
    assert planned({"kind": kind})
    with pytest.raises(NotHere, match=f"on machine m1: {program} is not installed; apt-get"):
        planned({"kind": kind}, frozenset({program}))
