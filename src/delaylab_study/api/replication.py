"""Replication package of a dataset: one archive with all that somebody else needs to check it.

It is an RO-Crate: the file `ro-crate-metadata.json` says in JSON-LD what each part is. Unpacked, it
is a dataset, which `delaylab report` and `delaylab run --like` read.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from rocrate.model.contextentity import ContextEntity
from rocrate.model.person import Person
from rocrate.rocrate import ROCrate

from delaylab.api.errors import BadInput, DelaylabError
from delaylab.api.files import JsonObject
from delaylab.api.records import MachineRecord
from delaylab_study.api.datasets import Dataset
from delaylab_study.api.export import export

SPDX = "https://spdx.org/licenses/"
FORMATS = {
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
    ".csv": "text/csv",
    ".html": "text/html",
    ".yaml": "application/yaml",
    ".md": "text/markdown",
    ".cff": "application/yaml",
    ".pcapng": "application/vnd.tcpdump.pcap",
}
KEPT = ("study.json", "trials.parquet", "packets.parquet", "report.html")
"""Files of a dataset beside its trials; those that are not there are left out."""
README = """\
# {title}

Measured with delaylab {version} on {machines}, {created}.

- `study.json`: the study whole, the order of its trials, and each machine with its software.
- `study.yaml`: the study alone, as a file that `delaylab run` takes.
- `trials/`: each trial's record and tables, with their sizes and SHA-256 sums.
- `tables/`: claims and scenarios as CSV, and `dictionary.csv`, which says what their columns mean.
- `checks.json`: what speaks against the data: doubts about each trial, and trials that failed.

To read it: unpack it, then `delaylab report FOLDER`. To repeat it: `delaylab run --like FOLDER`.
"""


@dataclass(frozen=True, slots=True)
class Credit:
    """The people who measured, and the licence of the data by its SPDX identifier."""

    authors: tuple[str, ...]
    licence: str


def package(dataset: Dataset, archive: Path, credit: Credit, *, pcap: bool = False) -> Path:
    """Write the replication package of a dataset as a zip archive, and return its path.

    Captured packets are part of it with `pcap`. Raise BadInput if the archive is there already or
    nobody is named, DelaylabError if it cannot be written.
    """
    if archive.exists():
        raise BadInput("the file is there already", str(archive), "give another name")
    if not credit.authors or not credit.licence:
        fix = "--author 'Family, Given' --licence CC-BY-4.0"
        raise BadInput("a package names its authors and its licence", "--package", fix)
    crate = _crate(dataset, credit)
    try:
        with tempfile.TemporaryDirectory(prefix="delaylab-package-") as name:
            staged = Path(name)
            _stage(dataset, staged, credit)
            for path in _files(dataset.directory, pcap=pcap):
                _add(crate, path, path.relative_to(dataset.directory))
            for path in sorted(each for each in staged.rglob("*") if each.is_file()):
                _add(crate, path, path.relative_to(staged))
            partial = archive.with_name(f".{archive.name}.partial.zip")
            crate.write_zip(partial)
            partial.rename(archive)
    except OSError as error:
        raise DelaylabError(f"cannot be written: {error.strerror}", str(archive)) from None
    return archive


def _crate(dataset: Dataset, credit: Credit) -> ROCrate:
    study = dataset.study
    crate = ROCrate()
    crate.name = study.title or study.study
    crate.description = (
        f"Measurements of packet delay: study {study.study} at scale {study.scale}, "
        f"{len(dataset.trials)} trials"
    )
    crate.datePublished = study.created[:10]
    crate.license = f"{SPDX}{credit.licence}"
    people = [
        crate.add(Person(crate, f"#author-{number}", {"name": author}))
        for number, author in enumerate(credit.authors, start=1)
    ]
    crate.root_dataset["author"] = people
    software = crate.add(
        ContextEntity(
            crate,
            "#delaylab",
            {
                "@type": "SoftwareApplication",
                "name": "delaylab",
                "softwareVersion": study.machine.delaylab,
            },
        )
    )
    machines = [
        crate.add(ContextEntity(crate, f"#machine-{name}", _machine(name, each)))
        for name, each in study.machines.items()
    ]
    ends = [trial.ended for trial in dataset.trials if trial.ended]
    crate.add(
        ContextEntity(
            crate,
            "#run",
            {
                "@type": "CreateAction",
                "name": f"delaylab run {study.study} --scale {study.scale}",
                "startTime": study.created,
                "endTime": max(ends, default=study.created),
                "instrument": [software, *machines],
                "agent": people,
                "result": crate.root_dataset,
            },
        )
    )
    return crate


def _machine(name: str, machine: MachineRecord) -> dict[str, str]:
    return {
        "@type": "IndividualProduct",
        "name": name,
        "description": f"{machine.cpu}, {machine.cores} CPUs, "
        f"{machine.memory_bytes // 2**20} MiB, {machine.kernel}",
    }


def _stage(dataset: Dataset, folder: Path, credit: Credit) -> None:
    """Write what the dataset itself does not have."""
    study = dataset.study
    machines = "; ".join(
        f"{each.cpu}, {each.cores} CPUs, {each.kernel}" for each in study.machines.values()
    )
    readme = README.format(
        title=study.title or study.study,
        version=study.machine.delaylab,
        machines=machines,
        created=study.created[:10],
    )
    texts = {
        "README.md": readme,
        "study.yaml": yaml.safe_dump(study.spec, sort_keys=False, allow_unicode=True),
        "checks.json": json.dumps(_checks(dataset), indent=1, ensure_ascii=False) + "\n",
        "CITATION.cff": yaml.safe_dump(_citation(dataset, credit), sort_keys=False),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    export(dataset, folder / "tables", ["claims", "scenarios"], "csv")


def _checks(dataset: Dataset) -> list[JsonObject]:
    """Return what speaks against each trial."""
    return [
        {
            "trial": trial.id,
            "status": trial.status,
            "reason": trial.reason,
            "doubts": [each.message for each in trial.warnings],
            "sha256": {name: each.sha256 for name, each in trial.tables.items()},
        }
        for trial in dataset.trials
    ]


def _citation(dataset: Dataset, credit: Credit) -> JsonObject:
    """Return the content of CITATION.cff, version 1.2.0 of the format."""
    study = dataset.study
    return {
        "cff-version": "1.2.0",
        "message": "If you use these data, please cite them as below.",
        "type": "dataset",
        "title": study.title or study.study,
        "authors": [_author(each) for each in credit.authors],
        "date-released": study.created[:10],
        "license": credit.licence,
        "keywords": ["packet delay", "measurement"],
    }


def _author(text: str) -> dict[str, str]:
    """Return a person of CITATION.cff: `Family, Given`, or a name that is not taken apart."""
    family, comma, given = text.partition(",")
    if not comma:
        return {"name": text.strip()}
    return {"family-names": family.strip(), "given-names": given.strip()}


def _files(directory: Path, *, pcap: bool) -> Iterator[Path]:
    yield from (directory / name for name in KEPT if (directory / name).exists())
    folders: Sequence[str] = ("trials", "pcap") if pcap else ("trials",)
    for folder in folders:
        yield from sorted(each for each in (directory / folder).rglob("*") if each.is_file())


def _add(crate: ROCrate, path: Path, place: Path) -> None:
    about = {"name": str(place), "contentSize": str(path.stat().st_size)}
    if path.suffix in FORMATS:
        about["encodingFormat"] = FORMATS[path.suffix]
    crate.add_file(path, dest_path=str(place), properties=about)
