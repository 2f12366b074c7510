"""References to files in the commands of guests, and kinds that cannot be on other machines."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab.errors import NotHere
from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.kind import Rights
from delaylab.plan.parts import parts
from delaylab.plan.references import (
    Places,
    filled_in,
    to_drive,
    to_engine_image,
    to_file,
    to_place,
    to_root,
)
from delaylab.resolve.resolve import lab_from_data

HERE = Places(str, str, str, str, lambda root, path, is_folder: path)
PATHS = st.text(st.sampled_from('ab/%}{,:7D25 ü"\\'), max_size=20)


@given(PATHS, PATHS)
def test_a_reference_becomes_the_path_on_its_machine(one: str, other: str) -> None:
    text = f"x={to_file(one)}:{{folder}},{to_drive(other)}"
    there = {one: "/there/1", other: "/there/2"}
    places = replace(HERE, file=there.__getitem__, drive=lambda path: f"drive of {path}")
    assert filled_in(text, places) == f"x={there[one]}:{{folder}},drive of {other}"


@given(PATHS)
def test_a_reference_in_a_json_text_leaves_it_valid(path: str) -> None:
    text = json.dumps({"image": to_engine_image(path), "name": "box"})
    found = filled_in(text, replace(HERE, engine_image=lambda name: f"copy of {name}"))
    assert json.loads(found) == {"image": f"copy of {path}", "name": "box"}


@given(PATHS, PATHS, st.booleans())
def test_a_place_in_a_root_file_system_is_one_field_of_a_mount_entry(
    root: str, path: str, is_folder: bool
) -> None:
    asked = list[tuple[str, str, bool]]()

    def inside(*place: Any) -> str:
        asked.append(place)
        return path

    entry = f"{to_root(root)} {to_place(root, path, is_folder=is_folder)} none bind"
    found = filled_in(entry, replace(HERE, root=lambda _: "/there", inside=inside))
    assert asked == [(root, path, is_folder)]
    first, place, *_ = found.split(" ")
    assert (first, found.count(" ")) == ("/there", 3)
    assert re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), place) == path


def planned(
    node: dict[str, Any], lacking: frozenset[str] = frozenset(), *, dom0: bool = False
) -> tuple[str, ...]:
    """Return the words of the commands that start a node on another machine.

    `dom0` is what this machine is, `lacking` the programs that the other one has not.
    """
    lab = lab_from_data(
        {
            "lab": "there",
            "machines": {"m1": {"ssh": "m1"}},
            "hosts": {"h": {"machine": "m1"}},
            "nodes": {"a": {"host": "h"}, "b": {"host": "h", **node}},
            "links": [{"between": ["a", "b"]}],
        }
    )
    rights = Rights(root=True, lacking=lacking)
    none = frozenset({"lxc-start", "qemu-system-x86_64", "linux.uml"})
    here = Rights(root=True, lacking=none, dom0=dom0)
    plan = build(lab, KINDS, here, machines={"m1": rights})
    return tuple(word for agent in plan.agents if agent.guest for word in agent.guest.command)


def put_there(_: str) -> str:
    return "PUT"


@pytest.mark.parametrize(
    ("node", "named"),
    [
        ({"kind": "lxc", "image": "/own,root"}, ["/own,root"]),
        ({"kind": "uml", "kernel": "/k"}, ["/k", "sealed.sh"]),
        ({"kind": "qemu", "kernel": "/k", "image": "/a,b"}, ["/k", "/a,b"]),
        ({"kind": "docker", "image": "/own.tar"}, ["/own.tar", "dockerd.sh"]),
    ],
)
def test_all_files_of_this_machine_in_a_command_are_references(
    node: dict[str, Any], named: list[str]
) -> None:
    """None is left out: a path of this machine means nothing on another one."""
    words = planned(node)
    put = Places(put_there, put_there, put_there, put_there, HERE.inside)
    assert all(any(name in filled_in(word, HERE) for word in words) for name in named)
    there = [filled_in(word, put) for word in words]
    assert not any(name in word for word in there for name in named)
    assert sum(word.count("PUT") for word in there) >= len(named)


def test_domains_of_a_dom0_cannot_be_on_other_machines_and_say_why() -> None:
    assert any("{image:xen/hypervisor}" in word for word in planned({"kind": "xen"}))
    with pytest.raises(NotHere, match=r"kind xen cannot run on machine m1: .*; .*this machine"):
        planned({"kind": "xen"}, dom0=True)


def test_each_machine_starts_its_own_docker_containers() -> None:
    """An image's name is that of the engine there, and no file."""
    docker = {"kind": "docker", "image": "debian:12"}
    lab = lab_from_data(
        {
            "lab": "there",
            "machines": {"m1": {"ssh": "m1"}, "m2": {"ssh": "m2"}},
            "hosts": {"here": {}, "h1": {"machine": "m1"}, "h2": {"machine": "m2"}},
            "nodes": {
                "a": {"host": "here", **docker},
                "b": {"host": "h1", **docker},
                "c": {"host": "h1", **docker},
                "d": {"host": "h2", **docker},
            },
            "links": [{"join": ["a", "b", "c", "d"]}],
        }
    )
    root = Rights(root=True)
    plan = build(lab, KINDS, root, machines={"m1": root, "m2": root})
    addresses = {"local": "10.0.0.1", "m1": "10.0.0.2", "m2": "10.0.0.3"}
    found = {
        machine: {
            agent.name: [
                json.loads(word)["name"] for word in agent.guest.command if word.startswith('{"')
            ]
            for agent in part.agents
            if agent.guest and agent.name.startswith("engine.")
        }
        for machine, part in parts(plan, addresses).items()
    }
    assert found == {
        "local": {"engine.docker": ["a"]},
        "m1": {"engine.docker.m1": ["b", "c"]},
        "m2": {"engine.docker.m2": ["d"]},
    }


@pytest.mark.parametrize(
    ("kind", "program"),
    [
        ("lxc", "lxc-start"),
        ("docker", "dockerd"),
        ("uml", "linux.uml"),
        ("qemu", "qemu-system-x86_64"),
        ("xen", "qemu-system-x86_64"),
    ],
)
def test_what_a_machine_lacks_is_named_with_the_machine(kind: str, program: str) -> None:
    assert planned({"kind": kind})
    with pytest.raises(NotHere, match=f"on machine m1: {program} is not installed; apt-get"):
        planned({"kind": kind}, frozenset({program}))
