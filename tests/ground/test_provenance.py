"""Provenance records this machine's software and settings, without what is not installed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from delaylab import images
from delaylab.io.programs import TooSlow, output
from delaylab.machines import provenance as module
from delaylab.machines.provenance import provenance


def program(folder: Path, name: str, text: str, code: int = 0) -> None:
    place = folder / name
    place.write_text(f"#!/bin/sh\necho '{text}'\nexit {code}\n")
    place.chmod(0o755)


def test_versions_are_those_that_programs_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "qemu-system-x86_64", "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)")
    program(tmp_path, "lxc-start", "5.0.2")
    program(tmp_path, "dockerd", "Docker version 20.10.24+dfsg1, build 5d6db84")
    program(tmp_path, "stress-ng", "no version at all", code=1)
    monkeypatch.setenv("PATH", f"{tmp_path}")
    found = provenance()
    assert found.programs == {"QEMU": "7.2.22", "LXC": "5.0.2", "Docker": "20.10.24+dfsg1"}
    assert found.commit is None  # there is no git in this PATH


def git(folder: Path, *words: str) -> str:
    name = ["-c", "user.name=n", "-c", "user.email=e"]
    argv = ["git", "-C", str(folder), *name, *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def test_the_commit_is_of_the_code_and_says_if_it_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path / "code"
    code.mkdir()
    git(code, "init", "-q")
    (code / "__init__.py").write_text("")
    monkeypatch.setattr(module, "CODE", code)
    (code / "other").write_text("")
    git(code, "add", "other")
    git(code, "commit", "-q", "-m", "another project, in whose folder the package lies")
    assert provenance().commit is None
    git(code, "add", "__init__.py")
    git(code, "commit", "-q", "-m", "the code")
    head = git(code, "rev-parse", "HEAD")
    assert provenance().commit == head
    (code / "__init__.py").write_text("changed = True\n")
    assert provenance().commit == f"{head}-dirty"


def test_mitigations_are_the_kernels() -> None:
    folder = Path("/sys/devices/system/cpu/vulnerabilities")
    if not folder.exists():
        pytest.skip("this kernel names no vulnerabilities")
    told = provenance().mitigations
    assert told == {place.name: place.read_text().strip() for place in folder.iterdir()}


def test_image_layers_are_named_with_their_hashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DELAYLAB_CACHE", str(tmp_path / "cache"))
    cache = images.folder()
    words = [
        "lxc-start",
        f"lxc.rootfs.path=overlayfs:{cache}/container-396d06b2f3b84093/rootfs",
        f"bind={cache}/agent-084262fba16c4d58/delaylab-agent,ro",
        f"{cache}/kernel-cloud-00ff00ff00ff00ff/vmlinux",
        "/elsewhere/container-0123456789abcdef/rootfs",
    ]
    assert images.used(words) == {
        "agent": "084262fba16c4d58",
        "container": "396d06b2f3b84093",
        "kernel-cloud": "00ff00ff00ff00ff",
    }


def test_a_program_that_does_not_answer_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "lxc-start", "5.0.2")
    # What it starts keeps its output open.
    hangs = tmp_path / "stress-ng"
    hangs.write_text("#!/bin/sh\necho stress-ng, version 0.15\n/bin/sleep 600 &\nwait\n")
    hangs.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}")
    monkeypatch.setattr(module, "LIMIT_S", 0.2)
    assert provenance().programs == {"LXC": "5.0.2"}


def test_a_program_that_does_not_end_is_one_line() -> None:
    with pytest.raises(TooSlow) as found:
        output(["sh", "-c", "sleep 600"], {"PATH": "/usr/bin:/bin"}, 0.1)
    assert "did not end within 0.1 s" in str(found.value)
