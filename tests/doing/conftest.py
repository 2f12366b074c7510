"""Labs for tests: each in a run directory of its own, so that two runs at once do not meet."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from delaylab.agent.binary import agent_path
from delaylab.images import cache
from delaylab.kinds import KINDS
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.machines import LOCAL
from delaylab.plan.kind import TUN
from delaylab_study.study_file.combine import Combination
from delaylab_study.trial.measure import measure
from delaylab_study.trial.recording import Recording
from tests import command as command_line
from tests.waiting import PATIENCE_S

SOURCE = command_line.SOURCE
DELAYLAB = command_line.DELAYLAB
Run = Callable[..., subprocess.CompletedProcess[str]]
Up = Callable[[str], str]
NOBODY = 65534

TWO_HOSTS = """\
lab: testbed
hosts:
  sut: {uplink: {rate: 100Mbit, queue: 1000}}
  target: {uplink: {rate: 100Mbit, queue: 1000}}
nodes:
  probe: {kind: netns, host: sut}
  noisy: {kind: netns, host: sut}
  vps: {kind: shared, host: sut}
  base: {kind: native, host: sut}
  echo: {kind: netns, host: target}
links:
  - join: [probe, noisy, vps, base, echo]
    name: lan
"""


def skip_unless_runnable(kind: str) -> None:
    """Skip the test, with the reason, if this machine cannot run nodes of a kind."""
    if reason := KINDS[kind].can_run(LOCAL.rights(), False):
        pytest.skip(reason)


def measured(combination: Combination, probe_id: int) -> Recording:
    """Return what is measured in a lab of its own, which is then taken down."""
    with temporary(combination.lab) as lab:
        return measure(lab, combination, probe_id)


def left_to_slow(*kinds: str) -> list[Any]:
    """Kinds on which a test repeats what it shows on another one: `make test-slow` has them."""
    return [pytest.param(kind, marks=pytest.mark.slow) for kind in kinds]


@contextmanager
def own_run_directory() -> Iterator[Path]:
    """Have labs in a directory of their own; a Unix socket's path has 107 characters at most."""
    with (
        pytest.MonkeyPatch.context() as patched,
        tempfile.TemporaryDirectory(prefix="dl-") as name,
    ):
        patched.setenv("DELAYLAB_RUN", name)
        yield Path(name)
        # Tests set it, too, while the labs that a file's tests share are up.
        patched.setenv("DELAYLAB_RUN", name)
        for lab in LOCAL.labs():
            lab.access.stop()
        LOCAL.sweep()


@pytest.fixture(autouse=True)
def run_directory(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Labs of this test only, or with `shared_up` those that the tests of its file share."""
    if "shared_up" in request.fixturenames:
        yield request.getfixturevalue("shared_run_directory")
        return
    with own_run_directory() as folder:
        yield folder


@pytest.fixture(scope="module")
def shared_run_directory() -> Iterator[Path]:
    """The run directory of the labs that the tests of a file share."""
    with own_run_directory() as folder:
        yield folder


@pytest.fixture
def shared_up(
    shared_run_directory: Path, delaylab: Run, up: Up, monkeypatch: pytest.MonkeyPatch
) -> Up:
    """Bring a lab up for all tests of a file, which leave it as it is; each name is one lab."""
    monkeypatch.setenv("DELAYLAB_RUN", str(shared_run_directory))

    def bring(text: str) -> str:
        name = str(yaml.safe_load(text)["lab"])
        return name if name in {lab.name for lab in LOCAL.labs()} else up(text)

    return bring


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a cache of this test only."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("DELAYLAB_CACHE", str(home / "cache"))
    return home


@pytest.fixture(scope="session")
def images_of_all() -> Path:
    """The cache of all tests that have none of their own."""
    return cache.folder()


@pytest.fixture
def built_images(images_of_all: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of this test only, but the images that other tests have built."""
    monkeypatch.setenv("DELAYLAB_CACHE", str(images_of_all))


@pytest.fixture
def delaylab(tmp_path: Path) -> Run:
    """Call the command line as a user does; `code` is the exit code that is expected.

    With further arguments, which are those of `subprocess.run`, it has a process that imports all
    anew; without them, one that need not.
    """

    return _caller(sys.executable, None, tmp_path, {})


def _caller(
    python: str,
    user: int | None,
    folder: Path,
    own: dict[str, str | None],
    tun: str = command_line.FOR_ALL,
) -> Run:
    """Return a function that calls the command line in a folder, with an environment of its own."""

    def call(*argv: str, code: int = 0, **more: Any) -> subprocess.CompletedProcess[str]:
        timeout_s = more.pop("timeout", PATIENCE_S)
        everything = {**os.environ, **own, **more.pop("env", {})}
        environment = {name: value for name, value in everything.items() if value is not None}
        command = [python, "-c", "from delaylab.__main__ import main; main()", *argv]
        if more:
            done = subprocess.run(
                command if user is None else command_line.as_user(user, command, tun),
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
                cwd=more.pop("cwd", folder),
                env=environment,
                **more,
            )
            done.stderr = command_line.without_progress(done.stderr)
        else:
            said = command_line.delaylab(
                *argv,
                folder=folder,
                environment=environment,
                timeout_s=timeout_s,
                python=python,
                user=user,
                tun=tun,
            )
            done = subprocess.CompletedProcess(command, said.code, said.out, said.err)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return call


@pytest.fixture
def nobody(delaylab: Run, tmp_path: Path, run_directory: Path) -> Iterator[Run]:
    """Call the command line as an ordinary user, whose labs are taken down at the end."""
    if os.geteuid() != 0:
        yield delaylab
        return
    own = run_directory / "nobody"
    own.mkdir(mode=0o700)
    os.chown(own, NOBODY, NOBODY)
    run_directory.chmod(0o711)
    call = called_by(NOBODY, tmp_path, {"DELAYLAB_RUN": str(own)})
    yield call
    call("down", "--all")


@pytest.fixture
def with_tun(nobody: Run) -> Run:
    """Call the command line as an ordinary user who may open `/dev/net/tun`.

    For root the test gives the user a device of its own; an ordinary user has the machine's.
    """
    if os.geteuid() != 0 and not os.access(TUN, os.R_OK | os.W_OK):
        pytest.skip(f"{TUN} is not open to this user, and only root can give a test its own")
    return nobody


@pytest.fixture
def without_tun(nobody: Run, run_directory: Path, tmp_path: Path) -> Run:
    """Call the command line as an ordinary user to whom `/dev/net/tun` is closed."""
    if os.geteuid() != 0:
        if os.access(TUN, os.R_OK | os.W_OK):
            pytest.skip(f"{TUN} is open to this user, and only root can give a test its own")
        return nobody
    own: dict[str, str | None] = {"DELAYLAB_RUN": str(run_directory / "nobody")}
    return called_by(NOBODY, tmp_path, own, command_line.FOR_ROOT)


def called_by(
    uid: int,
    folder: Path,
    environment: dict[str, str | None],
    tun: str = command_line.FOR_ALL,
) -> Run:
    """Call the command line as another user, in a folder; a variable that is None is not set.

    `tun` is the mode of the user's `/dev/net/tun`.
    """
    python = python_for_all()
    for each in (folder, *folder.parents):
        if str(each).startswith("/tmp/"):
            each.chmod(each.stat().st_mode | 0o055)
    packages = [path for path in sys.path if path.endswith("site-packages")]
    own = {
        "DELAYLAB_AGENT": str(agent_path()),
        "PYTHONPATH": ":".join([str(SOURCE), *packages]),
        "HOME": str(folder),
        **environment,
    }
    return _caller(python, uid, folder, own, tun)


@functools.cache
def python_for_all() -> str:
    """A Python of this version that everybody may run: this one may be in root's home.

    Skips where the checkout is in a folder that others may not enter, such as root's home.
    """
    for folder in SOURCE.parents:
        if not folder.stat().st_mode & 0o001:
            pytest.skip(f"other users cannot run this checkout: {folder} is closed to them")
    for python in (os.path.realpath(sys.executable), "/usr/bin/python3"):
        asked = f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
        try:
            if not subprocess.run([python, "-c", asked], user=NOBODY, check=False).returncode:
                return python
        except OSError:
            continue
    pytest.skip("an ordinary user cannot run this Python, and /usr/bin/python3 is another version")


@pytest.fixture
def testbed(tmp_path: Path) -> Path:
    """The file of a lab with all kinds."""
    path = tmp_path / "testbed.yaml"
    path.write_text(TWO_HOSTS)
    return path


def as_json(done: subprocess.CompletedProcess[str]) -> Any:
    """What a command printed with --json."""
    return json.loads(done.stdout)


def our_processes(mark: str) -> list[str]:
    """Command lines of processes whose environment carries a test's run directory."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                if mark.encode() in (folder / "environ").read_bytes():
                    found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
    return found


def open_files() -> Iterator[tuple[int, Path]]:
    """Give each file that a process of this machine has open, with the process's number."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            for place in (process / "fd").iterdir():
                with suppress(OSError):
                    yield int(process.name), place.readlink()


def pid_in_container(pid: int) -> int | None:
    """The number that a process has in its container; None if it is in none, or has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("NSpid:"):
                _, _, *inside = line.split()
                return int(inside[-1]) if inside else None
    return None


def only_line(text: str) -> str:
    """The one line that was said, besides those about what lasts on a busy machine."""
    lines = command_line.without_progress(text).strip().splitlines()
    assert len(lines) == 1, text
    return lines[0]


@pytest.fixture
def up(delaylab: Run, tmp_path: Path) -> Up:
    """Bring a lab up from text; its name."""

    def bring(text: str) -> str:
        path = tmp_path / "lab.yaml"
        path.write_text(text)
        return str(as_json(delaylab("up", str(path), "--json"))["lab"])

    return bring


def network_of(pid: int) -> int | None:
    """Return the number of a process's network namespace; None if the process has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/ns/net").stat().st_ino
    return None


def of_program(lab: LiveLab, node: str, name: str) -> list[int]:
    """The processes of a program in the network of a node."""
    network = network_of(lab.pid(f"node.{node}"))
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            if (folder / "comm").read_text().strip() == name:
                found += [int(folder.name)] * (network_of(int(folder.name)) == network)
    return found
