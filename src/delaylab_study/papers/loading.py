"""Loading of papers: their code is imported here, and what it defines is checked."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from hashlib import sha256
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from delaylab.api.additions import EntryPoint
from delaylab.api.errors import BadInput
from delaylab_study.analysis.claims.claim import Claim
from delaylab_study.papers.paper import Paper
from delaylab_study.papers.registry import folder, installed
from delaylab_study.papers.studies import PAPER_FILE

if TYPE_CHECKING:
    from delaylab.api.documents import Document
    from delaylab_study.study_file.claims import ClaimSpec

ATTRIBUTE = "PAPER"
FUNCTIONS = ("charts", "tables", "layer_table")
Claims = dict[str, tuple[Paper, Claim]]
"""Claims by id, each with its paper."""
TOOLKIT_OF_0_1 = "delaylab.papers"
"""The package that had the toolkit in version 0.1."""
MOVED = "the toolkit is delaylab_study.papers.toolkit now"


def given(text: str) -> Paper:
    """Return the paper that a user names: an installed one by its name, or that of a folder.

    A folder's code is imported and runs with the user's rights. Raise BadInput if there is no such
    paper or if it cannot be used.
    """
    known = installed()
    if text in known:
        return load(known[text])
    if Path(text).is_dir():
        return _of_folder(Path(text).resolve())
    fix = f"a folder with {PAPER_FILE}, or one of: {', '.join(known)}"
    raise BadInput(f"no paper {text!r}", fix=fix)


def load(entry: EntryPoint) -> Paper:
    """Return an installed paper; raise BadInput if it cannot be imported or is none."""
    where = f"installed paper {entry.name}"
    module = _imported(lambda: import_module(entry.module), where, folder(entry))
    paper = _checked(module, entry.attribute, where)
    if paper.name != entry.name:
        raise BadInput(f"its entry point is named {entry.name!r}, it {paper.name!r}", where)
    return paper


def claims(more: Paper | None = None) -> Claims:
    """Return the claims of all installed papers, and of one more, each with its paper, by id.

    Raise BadInput if two papers have a claim of the same id.
    """
    papers = {name: load(entry) for name, entry in installed().items()}
    if more is not None:
        papers[more.name] = more
    found: Claims = {}
    for paper in papers.values():
        for claim in paper.claims:
            if claim.id in found:
                both = f"{found[claim.id][0].name} and {paper.name}"
                raise BadInput(f"two papers have a claim {claim.id!r}: {both}", fix="rename one")
            found[claim.id] = paper, claim
    return found


def check_names(
    named: Sequence[ClaimSpec | str], document: Document, more: Paper | None = None
) -> None:
    """Raise BadInput for the name of a claim that no installed paper has, nor the one more.

    `named` are the claims of a file, `claims` there.
    """
    known = claims(more)
    for position, claim in enumerate(named):
        if isinstance(claim, str) and claim not in known:
            fix = f"one of: {', '.join(known)}" if known else "leave it out: no paper has claims"
            raise document.refuse(f"no claim {claim!r}", ("claims", position), fix)


def _of_folder(place: Path) -> Paper:
    """Return the paper of a folder, which may be that of an installed paper."""
    known = installed()
    for entry in known.values():
        if folder(entry) == place:
            return load(entry)
    if not (place / PAPER_FILE).is_file():
        raise BadInput(f"the folder has no {PAPER_FILE}", str(place), "see docs/papers.md")
    module = _imported(lambda: _import_folder(place), str(place / PAPER_FILE), place)
    paper = _checked(module, ATTRIBUTE, str(place / PAPER_FILE))
    if paper.name in known:
        other = folder(known[paper.name])
        what = f"a paper named {paper.name!r} is installed already, in {other}"
        raise BadInput(what, str(place / PAPER_FILE), "name it otherwise")
    return paper


def _import_folder(place: Path) -> ModuleType:
    """Import `paper.py` as part of a package of its own, so that it can import its neighbours."""
    package = f"delaylab_paper_{sha256(str(place).encode()).hexdigest()[:16]}"
    name = f"{package}.{Path(PAPER_FILE).stem}"
    if name in sys.modules:
        return sys.modules[name]
    try:
        sys.modules[package] = _package(package, place)
        return import_module(name)
    except BaseException:
        for each in [each for each in sys.modules if each.partition(".")[0] == package]:
            del sys.modules[each]
        raise


def _package(name: str, place: Path) -> ModuleType:
    """Return the folder as a package; its `__init__.py`, if it has one, is run."""
    init = place / "__init__.py"
    spec = spec_from_file_location(name, init, submodule_search_locations=[str(place)])
    if spec is None or spec.loader is None or not init.is_file():
        module = ModuleType(name)
        module.__path__ = [str(place)]
        return module
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _imported(run: Callable[[], ModuleType], where: str, place: Path | None) -> ModuleType:
    """Import a module; raise BadInput that names the file and line of an error in it."""
    try:
        return run()
    except (Exception, SystemExit) as error:
        what = f"the paper cannot be imported: {one_line(error)}"
        # An old folder of compiled files is a package, too: then the toolkit itself is missing.
        missing = isinstance(error, ModuleNotFoundError) and (error.name or "")
        moved = missing and f"{missing}.".startswith(f"{TOOLKIT_OF_0_1}.")
        raise BadInput(what, _place(error, place) or where, MOVED if moved else "") from error


def one_line(error: BaseException) -> str:
    """Return an exception's type and the first line of its message."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {(text.strip() or 'no reason given').splitlines()[0]}"


def _place(error: BaseException, place: Path | None) -> str:
    """Return the file and line in the paper's folder at which an error arose, "" if elsewhere."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    return place_in(error, place) if place else ""


def place_in(error: BaseException, place: Path) -> str:
    """Return the innermost file and line in a folder that an error passed, "" if there is none."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename).is_relative_to(place):
            return f"{frame.filename}:{frame.lineno}"
    return ""


def _checked(module: ModuleType, attribute: str, where: str) -> Paper:
    """Return a module's paper; raise BadInput if it is missing or of another type."""
    paper = getattr(module, attribute, None)
    if not isinstance(paper, Paper):
        found = "there is none" if paper is None else f"it is a {type(paper).__name__}"
        raise BadInput(f"{attribute} is no Paper: {found}", where, f"{attribute} = Paper(…)")
    if not isinstance(paper.name, str) or not paper.name:
        raise BadInput(f"the name of {attribute} is no text", where)
    ids = [claim.id if isinstance(claim, Claim) else None for claim in paper.claims]
    if None in ids:
        raise BadInput(f"a claim of {attribute} is no Claim", where)
    twice = next((each for each in ids if ids.count(each) > 1), None)
    if twice is not None:
        raise BadInput(f"{attribute} has two claims {twice!r}", where, "rename one")
    for name in FUNCTIONS:
        if not callable(getattr(paper, name)):
            raise BadInput(f"{name} of {attribute} is no function", where)
    return paper
