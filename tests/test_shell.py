"""The shell knows the command: its version, its completion, its manual page."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from subprocess import PIPE

import pytest
from tools.man_page import PAGE, page, text
from typer.main import get_command

from delaylab.cli import whole

ROOT = Path(__file__).parent.parent
FORBIDDEN = 101
"""The answer of a policy that forbids an action (invoke-rc.d(8))."""


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "delaylab", *words],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


def test_the_version_is_the_installed_one() -> None:
    ran = run("--version")
    assert (ran.returncode, ran.stdout) == (0, f"delaylab {version('delaylab')}\n")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("delaylab co", ["compare", "converge"]), ("delaylab link s", ["set", "show", "silence"])],
)
def test_bash_completes_verbs(typed: str, offered: list[str]) -> None:
    last = str(len(typed.split()) - 1)
    ran = run(_DELAYLAB_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=last)
    assert sorted(ran.stdout.split()) == offered


def test_completion_loads_no_tables() -> None:
    """A completion imports the verbs alone: the user waits for it at each press of the key."""
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "delaylab"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ
        | {"_DELAYLAB_COMPLETE": "complete_bash", "COMP_WORDS": "delaylab ", "COMP_CWORD": "1"},
    )
    loaded = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines()}
    assert "compare" in ran.stdout.split()
    assert "typer" in loaded
    assert not loaded & {"polars", "numpy", "scipy", "altair", "docker"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_calls_the_command(shell: str) -> None:
    ran = run("--show-completion", shell)
    if ran.returncode:  # typer asks for a shell's name only if it cannot find the user's own
        ran = run("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert "_DELAYLAB_COMPLETE" in ran.stdout
    assert "python" not in ran.stdout


def test_the_manual_page_is_current_and_names_every_verb() -> None:
    assert PAGE.read_text() == page(), "run `make docs`: man/delaylab.1 is stale"
    for name in get_command(whole()).commands:  # type: ignore[attr-defined]
        assert f'.SS "{name}' in page()


def test_the_manual_page_is_in_the_wheel() -> None:
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    shared = built["targets"]["wheel"]["shared-data"]
    assert shared == {"man/delaylab.1": "share/man/man1/delaylab.1"}


def test_no_text_is_taken_for_a_request() -> None:
    assert text(".so /etc/passwd") == "\\&.so /etc/passwd"
    assert text("a … b") == "a \\[u2026] b"
    assert text("a\\fB `--x` b") == "a\\efB \\fB\\-\\-x\\fR b"


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_has_nothing_against_the_page() -> None:
    ran = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", str(PAGE)], capture_output=True, text=True, check=True
    )
    assert "STUDY|FILE|FOLDER" in ran.stdout
    assert ran.stderr == ""


@pytest.mark.parametrize("named", ["", "/opt/python"])
def test_setup_takes_the_python_that_is_named_else_one_that_will_do(named: str) -> None:
    script = (ROOT / "tools/setup.sh").read_text()
    start, end = script.index("find_python() {"), script.index("missing_packages() {")
    act = f"{script[start:end]}\nfind_python; echo $PYTHON; has_venv && is_new_enough"
    environment = {"PATH": os.environ["PATH"], "PYTHON": named}
    done = subprocess.run(
        ["bash", "-uc", act], env=environment, stdout=PIPE, text=True, check=False
    )
    if named:
        assert (done.stdout, done.returncode == 0) == (f"{named}\n", False)
    else:
        assert done.stdout in ("/usr/bin/python3\n", "python3\n")
        assert done.returncode == 0


def test_a_killed_setup_leaves_no_policy_against_services(tmp_path: Path) -> None:
    """Run only two functions of setup.sh, because the whole script would install packages."""
    script = (ROOT / "tools/setup.sh").read_text()
    start, end = script.index("policy_mark="), script.index("# Packages start their services")
    policy = tmp_path / "policy-rc.d"
    act = f"policy={policy}\n{script[start:end]}\nwrite_policy; echo written; read -r _; {{}}"

    def begin(then: str) -> subprocess.Popen[str]:
        words = ["bash", "-euc", act.replace("{}", then)]
        setup = subprocess.Popen(words, stdin=PIPE, stdout=PIPE, text=True)
        assert setup.stdout is not None
        assert setup.stdout.readline() == "written\n"
        return setup

    def asked() -> int:
        return subprocess.run([str(policy), "ssh", "start"], check=False).returncode

    with begin("remove_own_policy") as setup:
        assert asked() == FORBIDDEN
        setup.communicate("\n")
    assert list(tmp_path.iterdir()) == []
    with begin("true") as setup:
        assert asked() == FORBIDDEN
        setup.kill()
    assert asked() == 0
    assert list(tmp_path.iterdir()) == []
    with begin("true") as setup:
        setup.kill()
    with begin("remove_own_policy") as setup:
        assert asked() == FORBIDDEN, "the remains of another setup are replaced"
        setup.communicate("\n")
    policy.write_text("#!/bin/sh\nexit 101\n")
    others = f"policy={policy}\n{script[start:end]}\nremove_own_policy"
    subprocess.run(["bash", "-euc", others], check=True)
    assert policy.exists(), "another's policy stays"
