"""Models of a study file."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from delaylab.api.lab_files import LabSpec
from delaylab.api.models import Name, Spec
from delaylab_study.study_file.claims import ClaimSpec, LevelName
from delaylab_study.study_file.loads import LoadSpec
from delaylab_study.study_file.machine_needs import MachineNeedsSpec
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.study_file.series import SeriesSpec, levels_of
from delaylab_study.study_file.work import WorkSpec

Level = list[LoadSpec] | dict[str, object]
Levels = Annotated[
    dict[LevelName, Level],
    BeforeValidator(levels_of, json_schema_input_type=SeriesSpec | dict[LevelName, Level]),
]
"""The levels of a factor by name; a file may have them as the values of one setting."""
Change = dict[str, object]


class StudySpec(Spec):
    """A study: factors × levels -> trials, and the claims to test on them."""

    study: Name = Field(description="The name of the study.")
    title: str = Field("", description="The title that reports print.")
    source: str = Field("", description="The name of the paper that the study repeats, if any.")
    lab: LabSpec | str = Field(
        description="The lab that every trial runs in: its content, the path of a lab file or of a "
        "map that `delaylab import` reads, a map of a collection (`topohub:backbone/europe`), or a "
        "generated network: `{generate: {fat-tree: {k: 4, delay: 1ms}}}`. A level of a factor may "
        "have a `lab:` of the last three kinds, whose nodes and links then replace the study's, or "
        "change a parameter of the study's generated network: `lab.generate.k: 8`."
    )
    factors: dict[Name, Levels] = Field(
        default_factory=dict,
        description="The factors by name. A factor has levels by name. A level is a list of loads, "
        "or changes of the study such as `nodes.probe.kind: netns`, among which `loads:` may be "
        "its loads. A file of a node goes by its path: `nodes.r1.files./etc/frr/frr.conf: {from: "
        "5s/r1.conf}`. A factor may also be the values of one setting: "
        "`{set: links.wan.delay, values: [1ms, 5ms, 20ms]}`, or "
        "`{set: links.wan.delay, range: {from: 1ms, to: 100ms, steps: 5, scale: log}}`. Figures "
        "then have an axis of these numbers. Settings that move together are a list: "
        "`{set: [routing.ospf.hello, routing.ospf.dead], values: [[1s, 4s], [5s, 20s]]}`.",
    )
    probe: ProbeSpec | None = Field(
        None,
        description="The packets that every trial sends. Left out, nothing is sent: a trial is the "
        "machine at rest, the work with its loads, and the machine at rest again.",
    )
    work: list[WorkSpec] = Field(
        default_factory=list,
        description="The work that nodes do while the packets under load are sent. All begin at "
        "once, with the first packet if there is a probe. A level changes it by its name: "
        "`work.NAME.cpu: 5000`.",
    )
    scales: dict[Name, Change] = Field(
        default_factory=dict,
        description="The sizes of the study by name. A scale is changes of the study: "
        "`probe.count: 200`; `factors.FACTOR.LEVEL:` with a level's new content; `repeat: N`; "
        "`design:` with blocks `{factor: [levels]}` that run instead of every combination.",
    )
    machine: MachineNeedsSpec | None = Field(
        None,
        description="The machine that the study needs. One that differs is refused, with the "
        "difference; left out, any machine will do.",
    )
    repeat: int = Field(
        1, gt=0, description="The number of trials of each combination of levels, one per block."
    )
    seed: int = Field(1, description="The seed of the random order of trials.")
    claims: list[ClaimSpec | str] = Field(
        default_factory=list,
        description="The claims to test on the trials: names of the paper's claims, and claims of "
        "your own.",
    )
