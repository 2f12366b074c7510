"""Cases that are too large to keep as files, or need a pipe or a link beside them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.hostile.cases import Build, Case, made_of, written
from tests.hostile.dataset import refused

SHOW, REPORT = ("show",), ("report",)


def beside_a_pipe(folder: Path) -> list[str]:
    os.mkfifo(folder / "pipe")
    said = "lab: a\nnodes: {a: {}, b: {}}\nlinks: [{between: [a, b], trace: pipe}]\n"
    return written(said, "plan")(folder)


def of_newlines(folder: Path) -> list[str]:
    (folder / "trace").write_text("\n" * (31 << 20))
    said = "lab: a\nnodes: {a: {}, b: {}}\nlinks: [{between: [a, b], trace: trace}]\n"
    return written(said, "plan")(folder)


def linked(name: str, to: str) -> refused.Change:
    def change(place: Path) -> None:
        (place.parent / "elsewhere").mkdir()
        shutil.rmtree(place / name, ignore_errors=True)
        (place / name).symlink_to(place.parent / to)

    return change


def resumed(**fields: object) -> Build:
    return made_of(refused.study(**fields), "run", "--resume")


LAUGHS = "lab: &a {}\n".format("[" + "x," * 1000 + "x]") + "x: [" + "*a," * 600 + "*a]\n"
GENERATED = [
    Case(
        "lab/brackets", "nested more than", written("lab: " + "[" * 100_000 + "]" * 100_000, "plan")
    ),
    Case("lab/brackets-open", "nested more than", written("[" * 100_000, "plan")),
    Case("lab/braces", "nested more than", written("{a: " * 100_000, "plan")),
    Case("lab/question-marks", "nested more than", written("? " * 100_000, "plan")),
    Case("lab/dashes", "nested more than", written("- " * 100_000, "plan")),
    Case("lab/digits", "more than 40 digits", written("lab: a\nseed: " + "9" * 5000, "plan")),
    Case("lab/wide-alias", "more than 250000 values", written(LAUGHS, "plan")),
    Case(
        "lab/values", "more than 250000 values", written("lab: [" + "1," * 300_000 + "1]", "plan")
    ),
    Case("lab/bytes", "larger than 8 MiB", written("lab: a # " + "x" * (9 << 20), "plan")),
    Case("lab/device", "larger than 8 MiB", lambda _: ["plan", "/dev/zero"]),
    Case("lab/folder", "no regular file", lambda folder: ["plan", str(folder)]),
    Case("lab/long-key", "a key has more than", written("? " + "x" * 50_000 + "\n: 1\n", "plan")),
    Case(
        "lab/long-field",
        "expected a name of",
        written("lab: a\nnodes: {" + "x" * 900 + ": {}}\n", "plan"),
    ),
    Case("lab/long-value", "lab: ", written("lab: " + "x" * 50_000 + "\nnodes: {a: {}}\n", "plan")),
    Case("lab/trace-a-pipe", "no regular file", beside_a_pipe),
    Case("lab/trace-of-newlines", "more than 2000000 lines", of_newlines),
    Case("study/device", "larger than 8 MiB", lambda _: ["run", "--dry-run", "/dev/zero"]),
    Case("dataset/none", "not a dataset", lambda folder: ["show", str(folder)]),
    Case("dataset/device", "not a dataset", lambda _: ["show", "/dev/zero"]),
    Case("dataset/report-deep", "nested more than", made_of(refused.text("[" * 100_000), *REPORT)),
    Case(
        "dataset/json-of-a-pipe",
        "no regular file",
        made_of(refused.pipe("study.json"), *SHOW, "--json"),
    ),
    Case("dataset/charts-a-link", "it is a link", made_of(linked("charts", "elsewhere"), *REPORT)),
    Case("dataset/charts-a-dangling-link", "", made_of(linked("charts", "nowhere"), *REPORT)),
    Case("resume/no-study", "'study' is missing", resumed(spec={})),
    Case(
        "resume/of-a-device",
        "no regular file",
        resumed(spec={"study": "s", "lab": "/dev/zero", "probe": {"from": "a", "to": "b"}}),
    ),
    Case(
        "resume/scale-unknown",
        "has no scale",
        resumed(
            scale="\x1b[31m",
            spec={
                "study": "s",
                "lab": {"lab": "l", "nodes": {"a": {}, "b": {}}, "links": [{"join": ["a", "b"]}]},
                "probe": {"from": "a", "to": "b"},
            },
        ),
    ),
    Case(
        "resume/trials-endless",
        "at most 100000",
        resumed(
            spec={
                "study": "s",
                "repeat": 10**9,
                "lab": {"lab": "l", "nodes": {"a": {}, "b": {}}, "links": [{"join": ["a", "b"]}]},
                "probe": {"from": "a", "to": "b"},
            }
        ),
    ),
    Case(
        "resume/trace-a-device",
        "no regular file",
        resumed(
            spec={
                "study": "s",
                "lab": {
                    "lab": "l",
                    "nodes": {"a": {}, "b": {}},
                    "links": [{"between": ["a", "b"], "trace": "/dev/zero"}],
                },
                "probe": {"from": "a", "to": "b"},
            }
        ),
    ),
]
