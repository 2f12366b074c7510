"""Circumstances that differ between two datasets and are no levels: machine, probe, versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from delaylab.api.records import LOCAL_NAME, MachineRecord, Provenance
from delaylab_study.analysis.compared.configured import NOT_SET, Fields, configured
from delaylab_study.analysis.group import Group
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.records.ways import Way
from delaylab_study.dataset.store import Study

NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True)
class DifferingCircumstance:
    """A circumstance that is not the same in both datasets."""

    name: str
    before: str
    after: str


def _links(way: Way) -> str:
    return " → ".join(hop.link for hop in way.hops) or "one link"


OF_TRIALS: dict[str, Callable[[TrialRecord], str]] = {
    "probe": lambda trial: "one" if trial.probed else "none",
    "kind of the sender": lambda trial: trial.sender.kind if trial.sender else "unknown",
    "kind of the responder": lambda trial: trial.responder.kind if trial.responder else "unknown",
    "protocol": lambda trial: trial.protocol or "unknown",
    "payload": lambda trial: f"{trial.size_bytes} B",
    "interval": lambda trial: (
        f"{(trial.interval_ns or 0) / 1e6:g} ms" if trial.timeout_ns is None else "closed loop"
    ),
    "TCP congestion control": lambda trial: trial.tcp_congestion_control or NOT_KNOWN,
    "way": lambda trial: " or ".join(_links(way) for way in trial.ways) or "one link",
}


def circumstances(
    before: Study, after: Study, pairs: list[tuple[Group, Group]]
) -> list[DifferingCircumstance]:
    """Return what differs between the machines, and between trials that are compared.

    Trials differ in what they recorded, or in any field that the study files configured for them.
    What the file of one study configured otherwise is what is compared: its levels.
    """
    # Datasets of earlier versions do not tell their software: nothing is known to differ.
    told = all(each.machine.provenance for each in (before.record, after.record))
    one, other = (_of_study(study, software=told) for study in (before, after))
    found = [
        DifferingCircumstance(name, *values)
        for name in dict.fromkeys([*one, *other])
        if len(set(values := (one.get(name, NOT_KNOWN), other.get(name, NOT_KNOWN)))) > 1
    ]
    for name, of in OF_TRIALS.items():
        for ours, theirs in pairs:
            values = (_joined(of, ours), _joined(of, theirs))
            difference = DifferingCircumstance(f"{name}, {ours.label}", *values)
            if values[0] != values[1] and difference not in found:
                found.append(difference)
    one_study = before.directory == after.directory
    return [*found, *([] if one_study else _of_files(before, after, pairs))]


def _of_files(
    before: Study, after: Study, pairs: list[tuple[Group, Group]]
) -> Iterator[DifferingCircumstance]:
    """Yield the fields of the study files that differ; one that does in all pairs is named once."""
    sides = configured(before), configured(after)
    of_pairs: dict[DifferingCircumstance, list[str]] = {}
    for ours, theirs in pairs:
        one, other = (_of(group, side) for group, side in zip((ours, theirs), sides, strict=True))
        for name in dict.fromkeys([*one, *other]) if one and other else ():
            values = one.get(name, NOT_SET), other.get(name, NOT_SET)
            if values[0] != values[1]:
                of_pairs.setdefault(DifferingCircumstance(name, *values), []).append(ours.label)
    for difference, labels in of_pairs.items():
        everywhere = len(labels) == len(pairs)
        for label in [""] if everywhere else labels:
            name = f"{difference.name}, {label}" if label else difference.name
            yield replace(difference, name=name)


def _of(group: Group, combinations: list[tuple[Mapping[str, str], Fields]]) -> Fields:
    """Return the fields of a group's combination of levels."""
    return next((fields for levels, fields in combinations if levels == group.factors), {})


def _of_study(study: Study, *, software: bool) -> dict[str, str]:
    record = study.record
    found = {"study": record.study, "scale": record.scale}
    ran = {machine for trial in study.trials for machine in trial.hosts.values()}
    machines = {name: each for name, each in record.machines.items() if not ran or name in ran}
    # Of two sides that ran on one machine each, the machines are compared whatever they are called.
    unnamed = next(iter(machines)) if len(machines) == 1 else LOCAL_NAME
    for name, machine in machines.items():
        which = "" if name == unnamed else f" of {name}"
        of_it = _of_machine(machine) | (_software(machine) if software else {})
        found |= {f"{what}{which}": value for what, value in of_it.items()}
    return found


def _of_machine(machine: MachineRecord) -> dict[str, str]:
    return {
        "machine": machine.hostname,
        "CPU": machine.cpu,
        "cores": str(machine.cores),
        "kernel": machine.kernel,
        "delaylab": machine.delaylab,
        "agent": str(machine.agent),
    }


def _software(machine: MachineRecord) -> dict[str, str]:
    found = machine.provenance or Provenance()
    return {
        "commit": found.commit or NOT_KNOWN,
        "CPU frequency governor": found.governor or NOT_KNOWN,
        "control groups": found.cgroups or NOT_KNOWN,
        **{f"mitigation of {name}": text for name, text in found.mitigations.items()},
        **found.programs,
    }


def _joined(of: Callable[[TrialRecord], str], group: Group) -> str:
    return ", ".join(dict.fromkeys(of(trial) for trial in group.trials))
