"""Record in `study.json`: the configured study and the machines that ran it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, model_validator

from delaylab.api.records import (
    LOCAL_NAME,
    MOST_TRIALS,
    Count,
    MachineRecord,
    Record,
    Text,
    TrialId,
    Word,
)
from delaylab_study.study_file.claims import ClaimSpec

Levels = Annotated[list[Text], Field(max_length=MOST_TRIALS)]


MOST_FACTORS, MOST_CLAIMS, MOST_EXTENSIONS, MOST_MACHINES = 100, 1000, 1000, 1000


class Extension(Record):
    """Repeats that were added to a dataset after its first trials."""

    added: Text = Field(description="The time when they were added, in ISO 8601.")
    before: Count = Field(description="The number of trials of each combination until then.")
    repeat: Count = Field(description="The number of trials of each combination from then on.")
    finished: Count = Field(description="The number of trials that were finished then.")
    machine: MachineRecord = Field(description="The machine that ran the added trials.")


class Origin(Record):
    """The dataset whose study another one repeats, with the same file, levels, repeats and seed."""

    study: Text = Field(description="The name of the study.")
    created: Text = Field(description="The time when that study began, in ISO 8601.")
    hostname: Text = Field(description="The host name of the machine that ran it.")


class StudyRecord(Record):
    """The record in `study.json`: the configured study and the machines that ran it."""

    format: int = Field(description="The version of the dataset's format, which is 2.")
    study: Text = Field(description="The name of the study.")
    title: Text = Field(description="The title that reports print.")
    seed: int = Field(description="The seed of the random order of trials.")
    scale: Text = Field(description="The scale at which the study was run.")
    spec: dict[str, object] = Field(
        description="The whole study file, with its lab and all files that it names written out."
    )
    factors: Annotated[dict[Word, Levels], Field(max_length=MOST_FACTORS)] = Field(
        description="The factors, and the levels of each in their order."
    )
    claims: Annotated[list[Text], Field(max_length=MOST_CLAIMS)] = Field(
        description="The names of the claims to test, in the study's order."
    )
    own_claims: Annotated[list[ClaimSpec], Field(max_length=MOST_CLAIMS)] = Field(
        [], description="The claims that the study file declares itself."
    )
    planned: Annotated[list[TrialId], Field(max_length=MOST_TRIALS)] = Field(
        description="The ids of all trials, in the order in which they run."
    )
    machines: Annotated[
        dict[Word, MachineRecord], Field(min_length=1, max_length=MOST_MACHINES)
    ] = Field(
        description="The machines that ran the study, by name; `local` is the one on which the "
        "command ran. Records of earlier versions have one, as `machine`."
    )
    created: Text = Field(description="The time when the study began, in ISO 8601.")
    repeat: Count | None = Field(
        None,
        description="The number of trials of each combination, if `--repeat` gave another than the "
        "study file.",
    )
    extensions: Annotated[list[Extension], Field(max_length=MOST_EXTENSIONS)] = Field(
        [], description="The repeats that were added after the first trials, in their order."
    )
    like: Origin | None = Field(
        None, description="The dataset whose study this one repeats, if `--like` named one."
    )

    @model_validator(mode="before")
    @classmethod
    def _of_earlier(cls, given: object) -> object:
        if isinstance(given, Mapping) and "machine" in given and "machines" not in given:
            return {**given, "machines": {LOCAL_NAME: given["machine"]}}
        return given

    @property
    def machine(self) -> MachineRecord:
        """Return the machine on which the command ran."""
        return self.machines[self.named(LOCAL_NAME)]

    @property
    def labelled(self) -> dict[str, MachineRecord]:
        """Return the machines by their hostnames, preceded by their names if there are several."""
        alone = len(self.machines) == 1
        return {
            machine.hostname if alone else f"{name}: {machine.hostname}": machine
            for name, machine in self.machines.items()
        }

    def named(self, machine: str | None) -> str:
        """Return a machine's name, or of the first one if None is given or it is not known."""
        return machine if machine in self.machines else next(iter(self.machines))
