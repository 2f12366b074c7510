"""Two users of one machine, one of them hostile: the other's run directory is never believed."""

from __future__ import annotations

import fcntl
import functools
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from delaylab.io.ownership import why_not_lasting
from delaylab.machines import LOCAL, NotTrusted, TrustedDirectory
from tests.doing.conftest import Run, called_by, only_line
from tests.waiting import PATIENCE_S

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="acting as two users needs root"),
]
NOT_HERE, BAD_INPUT = 3, 2
SEEN_BOTH = 2
LAB = "lab: mine\nnodes: {a: {}, b: {}}\nlinks: [{between: [a, b]}]\n"


@dataclass
class Users:
    """The attacker's and the victim's user ids, and a process of the victim to be killed."""

    hostile: int
    victim: int
    target: subprocess.Popen[bytes]

    @property
    def directory(self) -> Path:
        """Where the victim's labs are if nothing says otherwise."""
        return Path(f"/tmp/delaylab-{self.victim}")


@pytest.fixture
def users() -> Iterator[Users]:
    """Numbers that no account has, and no other run of this test."""
    hostile, victim = random.SystemRandom().sample(range(1_000_000, 2_000_000_000), 2)
    target = subprocess.Popen(["sleep", "300"], user=victim, group=victim)
    found = Users(hostile, victim, target)
    yield found
    target.kill()
    target.wait()
    shutil.rmtree(found.directory, ignore_errors=True)


@pytest.fixture
def victim(users: Users, tmp_path: Path) -> Run:
    return called_by(users.victim, tmp_path, {"DELAYLAB_RUN": None, "XDG_RUNTIME_DIR": None})


def forge(folder: Path, users: Users, treasure: Path) -> int:
    """Make a registry as the attack did; return the descriptor that holds the lab's lock."""
    lab = folder / "mine"
    lab.mkdir(parents=True)
    (lab / "lock").write_text(f"delaylab lab 1\n{treasure}\n")
    about = {"pid": users.target.pid, "start": LOCAL.started_at(users.target.pid)}
    agents: dict[str, Any] = {
        name: {**about, "cgroups": {}} for name in ("host.here", "node.a", "node.b")
    }
    spec: dict[str, Any] = {"lab": "mine", "nodes": {"a": {}, "b": {}}, "links": []}
    keeper: dict[str, Any] = {**about, "agents": agents, "warnings": []}
    record = {"spec_json": json.dumps(spec)}
    (lab / "lab.json").write_text(json.dumps({"record": record, "keeper": keeper}))
    (folder / "stale").symlink_to(treasure)
    for path in (folder, lab, lab / "lock", lab / "lab.json"):
        os.chown(path, users.hostile, users.hostile)
    lock = os.open(lab / "lock", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


@pytest.fixture
def treasure(users: Users, tmp_path: Path) -> Path:
    """A folder of the victim's that must stay as it is."""
    folder = tmp_path / "treasure"
    folder.mkdir()
    (folder / "lock").write_text("")
    (folder / "status").write_text("precious")
    for path in (folder, *folder.iterdir()):
        os.chown(path, users.victim, users.victim)
    return folder


VERBS = (
    ["ps"],
    ["ps", "--json"],
    ["up", "lab.yaml"],
    ["exec", "a", "--", "id"],
    ["shell", "a"],
    ["link", "show", "mine"],
    ["link", "set", "mine", "lan", "delay=1ms"],
    ["down", "mine"],
    ["down", "--all"],
    ["image", "clean"],
)


@pytest.mark.parametrize("how", ["theirs", "writable", "link", "file"])
def test_no_verb_believes_anothers_registry(
    users: Users, victim: Run, treasure: Path, tmp_path: Path, how: str
) -> None:
    (tmp_path / "lab.yaml").write_text(LAB)
    place = users.directory
    lock = -1
    if how == "file":
        place.write_text("")
    else:
        lock = forge(tmp_path / "forged" if how == "link" else place, users, treasure)
    if how == "writable":
        os.chown(place, users.victim, users.victim)
        place.chmod(0o777)
    if how == "link":
        place.symlink_to(tmp_path / "forged")
    try:
        for verb in VERBS:
            done = victim(*verb, code=NOT_HERE, stdin=subprocess.DEVNULL)
            assert str(place) in only_line(done.stderr), verb
            assert done.stdout == ""
        assert users.target.poll() is None, "a process of the victim's was killed"
        assert (treasure / "status").read_text() == "precious"
    finally:
        if lock >= 0:
            os.close(lock)
        if place.is_symlink() or place.is_file():
            place.unlink()


def test_a_runtime_directory_of_another_user_is_not_taken(
    users: Users, tmp_path: Path, treasure: Path
) -> None:
    runtime = tmp_path / "runtime"
    lock = forge(runtime / "delaylab", users, treasure)
    os.chown(runtime, users.hostile, users.hostile)
    runtime.chmod(0o777)
    victim = called_by(
        users.victim, tmp_path, {"DELAYLAB_RUN": None, "XDG_RUNTIME_DIR": str(runtime)}
    )
    assert victim("ps").stdout == "no lab is up\n"
    assert users.target.poll() is None
    os.close(lock)


def test_root_does_not_believe_an_ordinary_users_registry(
    users: Users, delaylab: Run, tmp_path: Path, treasure: Path
) -> None:
    folder = tmp_path / "given"
    lock = forge(folder, users, treasure)
    (tmp_path / "lab.yaml").write_text(LAB)
    for verb in VERBS[:-1]:
        done = delaylab(
            *verb, code=NOT_HERE, env={"DELAYLAB_RUN": str(folder)}, stdin=subprocess.DEVNULL
        )
        assert f"it belongs to user {users.hostile}" in only_line(done.stderr)
    assert users.target.poll() is None
    os.close(lock)


@pytest.mark.parametrize("how", ["owned", "writable", "linked", "linked-on"])
def test_a_run_directory_that_another_user_can_replace_is_not_taken(
    users: Users, tmp_path: Path, how: str
) -> None:
    """The directory is the victim's own, and one above it is not."""
    above = tmp_path / "above"
    folder = above / "between" / "run"
    folder.mkdir(parents=True, mode=0o700)
    for path in (above, above / "between", folder):
        os.chown(path, users.victim, users.victim)
    if how == "owned":
        os.chown(above, users.hostile, users.hostile)
        above.chmod(0o755)
    elif how == "writable":
        above.chmod(0o777)
    else:
        link = tmp_path / "link"
        link.symlink_to(above)
        os.chown(link, users.hostile, users.hostile, follow_symlinks=False)
        if how == "linked-on":
            mine = tmp_path / "mine"
            mine.symlink_to(link)
            os.chown(mine, users.victim, users.victim, follow_symlinks=False)
            link = mine
        folder = link / "between" / "run"
    (tmp_path / "lab.yaml").write_text(LAB)
    victim = called_by(users.victim, tmp_path, {"DELAYLAB_RUN": str(folder)})
    for verb in (("up", "lab.yaml"), ("ps",), ("down", "--all")):
        said = only_line(victim(*verb, code=NOT_HERE).stderr)
        assert f"{folder}: is not trusted: " in said
        assert "above" in said or "link" in said
    if how == "writable":
        above.chmod(0o1777)
        victim("up", "lab.yaml")
        victim("down", "mine")


SWAPS = """
import itertools, os, sys
here, away = sys.argv[1:]
for _ in itertools.count():
    os.rename(here, away)
    os.rename(away, here)
"""


def test_a_directory_that_comes_and_goes_is_not_taken(users: Users, tmp_path: Path) -> None:
    """Another user's directory was trusted if it was away just when it was to be checked."""
    above = tmp_path / "above"
    (above / "run").mkdir(parents=True, mode=0o700)
    os.chown(above, users.hostile, users.hostile)
    above.chmod(0o777)
    words = [sys.executable, "-c", SWAPS, str(above), str(tmp_path / "away")]
    seen = Counter[str]()
    with subprocess.Popen(words) as swapping:
        try:
            ends = time.monotonic() + 1
            while time.monotonic() < ends or len(seen) < SEEN_BOTH:
                try:
                    TrustedDirectory.open(above / "run")
                    seen["trusted"] += 1
                except NotTrusted:
                    seen["refused"] += 1
                except FileNotFoundError:
                    seen["away"] += 1
                assert swapping.poll() is None
                assert time.monotonic() < ends + 60, seen
        finally:
            swapping.kill()
    assert set(seen) == {"refused", "away"}, seen


def test_a_group_of_ones_own_may_write_above(tmp_path: Path) -> None:
    """Where the umask is 002, folders are writable by the group that has their user alone."""
    above = tmp_path / "above"
    (above / "run").mkdir(parents=True)
    above.chmod(0o775)
    assert why_not_lasting(above / "run") is None
    os.chown(above, -1, random.SystemRandom().randrange(1_000_000, 2_000_000_000))
    assert "other users can rename what is in" in (why_not_lasting(above / "run") or "")


def test_a_lab_of_ones_own_works_beside_it(users: Users, victim: Run, tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(LAB)
    victim("up", "lab.yaml")
    try:
        assert victim("exec", "a", "--", "hostname").stdout == "a\n"
        hostile = called_by(users.hostile, tmp_path, {"DELAYLAB_RUN": str(users.directory)})
        for verb in VERBS[:-1]:
            done = hostile(*verb, code=NOT_HERE, stdin=subprocess.DEVNULL)
            assert f"{users.directory}: cannot be opened: " in only_line(done.stderr)
        assert victim("exec", "a", "--", "hostname").stdout == "a\n"
    finally:
        victim("down", "mine")
    assert list(users.directory.iterdir()) == []


REFUSED = b"the other end belongs to user"


def sockets(folder: Path) -> list[Path]:
    return [each for each in folder.rglob("*") if each.is_socket()]


def answer(path: Path) -> bytes:
    """Return all that an agent says to who connects and asks for nothing."""
    with socket.socket(socket.AF_UNIX) as stream:
        stream.settimeout(PATIENCE_S)
        stream.connect(str(path))
        stream.shutdown(socket.SHUT_WR)
        return b"".join(iter(functools.partial(stream.recv, 4096), b""))


def test_an_agent_serves_its_own_user_alone(
    users: Users, victim: Run, delaylab: Run, run_directory: Path, tmp_path: Path
) -> None:
    """Root can open a user's sockets, and is another user to the agents behind them."""
    (tmp_path / "lab.yaml").write_text(LAB)
    delaylab("up", "lab.yaml")
    assert not any(REFUSED in answer(path) for path in sockets(run_directory))
    delaylab("down", "mine")
    victim("up", "lab.yaml")
    try:
        assert {path.stem for path in sockets(users.directory)} >= {"node.a", "node.b"}
        for path in sockets(users.directory):
            assert path.parent.stat().st_mode & 0o077 == 0
            assert REFUSED in answer(path)
    finally:
        victim("down", "mine")


def test_a_keeper_is_known_by_its_start(
    users: Users, victim: Run, treasure: Path, tmp_path: Path
) -> None:
    """A number that another process has got since is not signalled."""
    lock = forge(users.directory, users, treasure)
    lab = users.directory / "mine"
    for path in (users.directory, lab, lab / "lock", lab / "lab.json"):
        os.chown(path, users.victim, users.victim)
    about = json.loads((lab / "lab.json").read_text())
    about["keeper"]["start"] -= 1
    (lab / "lab.json").write_text(json.dumps(about))
    victim("down", "mine")
    assert users.target.poll() is None
    assert (treasure / "status").read_text() == "precious"
    os.close(lock)
    shutil.rmtree(users.directory)


@pytest.mark.parametrize("how", ["theirs", "replaceable"])
def test_an_image_cache_of_another_user_is_not_used(users: Users, tmp_path: Path, how: str) -> None:
    above = tmp_path / "above"
    cache = above / "cache"
    cache.mkdir(parents=True)
    os.chown(cache, users.hostile if how == "theirs" else users.victim, users.hostile)
    above.chmod(0o755 if how == "theirs" else 0o777)
    victim = called_by(users.victim, tmp_path, {"DELAYLAB_CACHE": str(cache)})
    said = only_line(victim("image", "list", code=NOT_HERE).stderr)
    assert "the image cache is not trusted" in said
    if how == "replaceable":
        above.chmod(0o755)
        victim("image", "list")
