"""Messages that say what to type: of the command line, as a user sees them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from delaylab.kinds import KINDS
from delaylab.plan.kind import Rights
from tests.doing.conftest import Run, only_line

LAB = "lab: {name}\nnodes: {{a: {{}}, b: {{}}}}\nlinks: [{{between: [a, b]}}]\n"
NOT_HERE = os.cpu_count() or 1

STUDY = """\
study: levels
lab: lab.yaml
factors:
  delay:
    low: {links.0.delay: 1ms}
    bad: {links.0.delay: 10}
  size:
    big: {probe.size: 64}
probe: {from: a, to: b}
"""


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    path = tmp_path / "lab.yaml"
    path.write_text(LAB.format(name="one"))
    return path


@pytest.mark.root
def test_several_labs_are_told_apart_by_the_verbs_own_argument(
    delaylab: Run, lab: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(LAB.format(name="two"))
    for each in (lab, other):
        delaylab("up", str(each))
    assert "(say which: --lab NAME, or --all)" in delaylab("down", code=2).stderr
    place = str(tmp_path / "place")
    for words in (
        *(["exec", "a", "true"], ["shell", "a"], ["logs", "a"], ["record", "a"]),
        *(["cp", "a:/etc/hosts", place], ["link", "show"], ["watch"], ["converge"]),
    ):
        said = only_line(delaylab(*words, code=2).stderr)
        assert said == "delaylab: several labs are up: one, two (say which: --lab NAME)"
    for verb in (["link", "down"], ["link", "flap"], ["node", "kill"]):
        said = only_line(delaylab(*verb, "x", code=2).stderr)
        assert said == "delaylab: several labs are up: one, two (say which: --lab NAME)"
        said = only_line(delaylab(*verb, "x", "y", code=2).stderr)
        assert said == "delaylab: no lab 'x' is up (up: one, two) (delaylab up LAB.yaml)"
    delaylab("exec", "--lab", "two", "a", "true")
    delaylab("cp", "--lab", "two", "a:/etc/hosts", place)
    delaylab("link", "show", "-l", "two")
    delaylab("down", "-ltwo")
    assert only_line(delaylab("exec", "-ltwo", "a", "true", code=2).stderr).endswith(
        "no lab 'two' is up (up: one) (delaylab up LAB.yaml)"
    )


@pytest.mark.root
def test_the_only_lab_needs_no_name(delaylab: Run, lab: Path) -> None:
    lab.write_text(lab.read_text().replace("[a, b]}", "[a, b], delay: 1ms}"))
    delaylab("up", str(lab))
    for words in (["a-b"], ["one", "a-b"], ["--lab", "one", "a-b"]):
        for verb in ("down", "up", "silence", "up"):
            assert delaylab("link", verb, *words).stdout.startswith("link a-b: ")
    for words in (["a", "b"], ["one", "a", "b"], ["b", "-l", "one", "a"]):
        for verb in ("kill", "start", "stop", "start", "restart"):
            assert len(delaylab("node", verb, *words).stdout.splitlines()) == len("ab")
    assert "'typo'" in only_line(delaylab("link", "down", "typo", "a-b", code=2).stderr)
    assert "Missing argument" in delaylab("link", "down", "one", code=2).stderr
    assert "Usage: " in delaylab("link", "down", "typo", "--help").stdout


@pytest.mark.root
def test_exec_takes_a_command_with_and_without_dashes(delaylab: Run, lab: Path) -> None:
    delaylab("up", str(lab))
    for argv in (("--", "ls", "-l", "/"), ("ls", "-l", "/")):
        assert delaylab("exec", "a", *argv).stdout.startswith("total")
    misplaced = delaylab("exec", "a", "--lab", "one", "ls", code=2).stderr
    assert "delaylab exec --lab … NODE -- COMMAND" in misplaced
    unknown = delaylab("exec", "a", "--", "no-such-program", code=127).stderr
    assert unknown == "delaylab: node a: no-such-program: command not found\n"
    refused = delaylab("exec", "a", "--", "/etc/passwd", code=126).stderr
    assert refused == "delaylab: node a: /etc/passwd: permission denied\n"


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("nodes: {a: {}, b: {count: 2,\n  cpus: [0, CPU]}}", 3),
        ("engine: {cpus: [CPU]}\nnodes: {a: {}}", 2),
        ("nodes: {a: {}}\nhosts:\n  h:\n    cpus: [CPU]", 5),
        ("nodes: {a: {kind: qemu,\n  pin: [CPU]}}", 3),
    ],
)
@pytest.mark.parametrize("verb", ["plan", "up"])
def test_a_cpu_that_is_not_here_is_told_with_its_line(
    delaylab: Run, tmp_path: Path, verb: str, field: str, line: int
) -> None:
    path = tmp_path / "cpus.yaml"
    path.write_text("lab: cpus\n" + field.replace("CPU", str(NOT_HERE)) + "\n")
    said = delaylab(verb, str(path), code=3).stderr
    assert said.startswith(f"delaylab: {path}:{line}: no CPU {NOT_HERE}: this machine has CPU")


def test_a_lab_and_a_study_are_not_mistaken_for_each_other(
    delaylab: Run, lab: Path, tmp_path: Path
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(STUDY)
    assert (
        f"{lab}:2: this is a lab file; a study was wanted"
        in delaylab("run", str(lab), code=2).stderr
    )
    assert (
        f"{study}:1: this is a study; a lab file was wanted"
        in delaylab("up", str(study), code=2).stderr
    )


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("", "", "6: links.delay: expected a duration such as 250ms, got 10"),
        ("delay: 10}", "delay: 1ms, nodes.a.host: x}", "6: no host 'x'"),
        (
            "links.0.delay: 10}",
            "links.0.reorder: 1%}",
            "6: what 'a' sends: `reorder` lets packets go",
        ),
        (
            "{links.0.delay: 10}\n  size:\n    big: {probe.size: 64}",
            "{links.0.delay: 1s}\n  size:\n    big: {probe.size: 5}",
            "8: probe.size: expected at least",
        ),
    ],
)
def test_a_bad_level_is_told_with_its_own_line(
    delaylab: Run, lab: Path, tmp_path: Path, old: str, new: str, says: str
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(STUDY.replace(old, new))
    said = delaylab("run", str(study), "--dry-run", code=2).stderr
    assert said.startswith(f"delaylab: {study}:{says}")


def test_all_errors_of_a_file_are_printed(delaylab: Run, tmp_path: Path) -> None:
    path = tmp_path / "many.yaml"
    nodes = "\n".join(f"  n{number}: {{kinds: netns}}" for number in range(30))
    path.write_text(f"lab: many\nnodes:\n{nodes}\n")
    *said, more = delaylab("plan", str(path), code=2).stderr.splitlines()
    assert [line.split(":")[2] for line in said] == [str(number) for number in range(3, 23)]
    assert more == "delaylab: and 10 more errors"


@pytest.mark.parametrize("kind", ["docker", "lxc"])
def test_a_user_who_is_not_root_is_told_so_before_anything_is_missing(kind: str) -> None:
    ordinary = Rights(root=False, lacking=frozenset({"dockerd", "lxc-start"}))
    assert f"{kind} needs root" in str(KINDS[kind].can_run(ordinary, False))
    root = Rights(root=True, lacking=frozenset({"dockerd", "lxc-start"}))
    assert "is not installed" in str(KINDS[kind].can_run(root, False))


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root has nodes in this machine's own stack")
def test_two_labs_do_not_share_an_address_in_this_machines_stack(
    delaylab: Run, tmp_path: Path
) -> None:
    text = "lab: {}\nnodes: {{a: {{kind: native}}, b: {{}}}}\nlinks: [{{between: [a, b]{}}}]\n"
    other = ", addresses: {a: 198.19.77.1/24, b: 198.19.77.2/24}"
    for name, more in (("first", ""), ("second", ""), ("third", other)):
        (tmp_path / f"{name}.yaml").write_text(text.format(name, more))
    delaylab("up", str(tmp_path / "first.yaml"))
    said = delaylab("up", str(tmp_path / "second.yaml"), code=1).stderr
    assert re.search(r"lab 'first' has 198\.19\.[0-9.]+/31 in this machine's own stack", said)
    assert said.count("\n") == 1
    delaylab("up", str(tmp_path / "third.yaml"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("plna", "x"), "'plna'; did you mean 'plan'?"),
        (("link", "sow"), "'sow'; did you mean 'show'?"),
        (("env", "x"), "'env'."),
        (("install", "x"), "'install'."),
        (("ping", "--csv", "x"), "No such option: --csv "),
        (("ping", "--tpc", "x"), "--tpc (Possible options: --tcp)"),
    ],
)
def test_only_near_names_are_suggested(delaylab: Run, words: tuple[str, ...], says: str) -> None:
    assert says in delaylab(*words, code=2).stderr


def test_exec_without_a_command_says_what_to_type(delaylab: Run) -> None:
    said = delaylab("exec", "a", code=2).stderr
    assert said == "delaylab: node a: no command is given (delaylab exec a -- COMMAND …)\n"
