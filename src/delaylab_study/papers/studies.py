"""Study files of papers, found by name, and of a paper's folder."""

from __future__ import annotations

from pathlib import Path

from delaylab.api.errors import BadInput
from delaylab_study.papers import registry

PAPER_FILE = "paper.py"
STUDY_FILE = "study.yaml"


def _by_name() -> dict[str, list[Path]]:
    """Return the study files of all installed papers; several papers may use one name.

    A study has the name of its file; one in `study.yaml` has the name of its paper.
    """
    found: dict[str, list[Path]] = {}
    for entry in registry.installed().values():
        place = registry.folder(entry)
        for path in _studies_in(place) if place else ():
            name = entry.name if path.name == STUDY_FILE else path.stem
            found.setdefault(name, []).append(path)
    return found


def names() -> list[str]:
    """Return the names of the installed papers' studies."""
    return sorted(_by_name())


def find(text: str) -> Path:
    """Return the file of a study that is given by name, by its path, or by its paper's folder.

    Raise BadInput if there is none, or more than one.
    """
    known = _by_name()
    if len(paths := known.get(text, [])) > 1:
        places = ", ".join(map(str, paths))
        raise BadInput(f"several papers have a study {text!r}", fix=f"give its file: {places}")
    if paths:
        return paths[0]
    path = Path(text)
    if path.is_dir():
        return study_in(path)
    if path.exists():
        return path
    raise BadInput(f"no study {text!r}", fix=f"a file, or one of: {', '.join(sorted(known))}")


def is_paper(text: str) -> bool:
    """Return True if a text is the path of a paper's folder, and no study's name."""
    return Path(text).is_dir() and text not in _by_name()


def study_in(folder: Path) -> Path:
    """Return the study file of a paper's folder: `study.yaml`, or the only one.

    Raise BadInput if the folder is no paper's, or if several files are possible.
    """
    if not (folder / PAPER_FILE).is_file():
        fix = "give a study's file, or write the paper's (docs/papers.md)"
        raise BadInput(f"the folder has no {PAPER_FILE}", str(folder), fix)
    found = _studies_in(folder)
    if folder / STUDY_FILE in found:
        return folder / STUDY_FILE
    if len(found) == 1:
        return found[0]
    if not found:
        raise BadInput("the folder has no study (*.yaml)", str(folder))
    files = ", ".join(path.name for path in found)
    fix = f"give the file and --paper {folder}: {files}"
    raise BadInput(f"the folder has {len(found)} studies and no {STUDY_FILE}", str(folder), fix)


def _studies_in(folder: Path) -> list[Path]:
    """Return a folder's study files; the labs that they name may lie beside them."""
    return [path for path in sorted(folder.glob("*.yaml")) if _is_study(path)]


def _is_study(path: Path) -> bool:
    try:
        lines = path.read_text().splitlines() if path.is_file() else []
        return any(line.startswith("study:") for line in lines)
    except (OSError, UnicodeDecodeError):
        return False
