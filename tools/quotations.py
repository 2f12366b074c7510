"""Comparison of every quotation of a paper with the paper's text; it writes their hashes.

Papers are not part of this repository. Where their texts are at hand, in `../shared/papers` beside
the repository, `python -m tools.quotations` compares, and writes the list of hashes only if each
quotation is found. Elsewhere the tests compare the hashes with that list.

A quotation is the sentence of a claim, a phrase in double quotes in a docstring of the paper's
package or in one of the paper's contradictions, and the title. `…` marks what is left out of it.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from delaylab_study.papers.loading import load
from delaylab_study.papers.paper import Paper
from delaylab_study.papers.registry import installed

ROOT = Path(__file__).parent.parent
TEXTS = ROOT.parent / "shared" / "papers"
LIST = ROOT / "tests" / "papers" / "quotations.txt"
HEAD = """\
# SHA-256 of each quotation, in the form in which it was found in its paper's text; then the paper,
# the place here, and the paper's section. Written by `python -m tools.quotations`: not by hand.
"""
CUT = "…"
UNTITLED = {"xen-large-networks"}
"""Papers whose title page is missing: what stands for their title is no quotation."""
IN_COLUMNS = {"xen-large-networks"}
"""Papers whose text has both columns of a page in one line."""

PLAIN = {r"\approx": "≈", r"\times": "×", r"\mu ": "µ", r"\%": "%", "\\ ": " "}
QUOTES_AND_DASHES = str.maketrans("‘’“”–—−", "''\"\"---")
FLOAT = re.compile(r"\s*(fig\.|figure|table) \d+[.:]|.*\t", re.IGNORECASE)
HEADING = re.compile(
    r"[#*\s]*(?:(?P<roman>[IVX]+)\.|(?P<letter>[A-F])\.|(?P<number>\d+(?:\.\d+)*)\.?)"
    r"\s+\**[A-Z][^\t]{2,80}(?<!\.)"
)


@dataclass(frozen=True, slots=True)
class Quotation:
    """Words of a paper: what is quoted, where in this repository, and from which section.

    `section` is "" for a phrase: it may stand anywhere in the paper.
    """

    paper: str
    where: str
    words: str
    section: str = ""

    @property
    def parts(self) -> list[str]:
        """Return the runs of text between the cuts, in their normal form."""
        return [part for each in self.words.split(CUT) if (part := normal(each))]

    @property
    def line(self) -> str:
        """Return the line of the list."""
        normalised = CUT.join(normal(each) for each in self.words.split(CUT))
        digest = hashlib.sha256(normalised.encode()).hexdigest()
        return "  ".join(filter(None, (digest, self.paper, self.where, self.section)))


def normal(text: str) -> str:
    """Return a text in the form in which quotations and papers are compared.

    A text that was taken out of a page differs from what the page says in line breaks, ligatures,
    the forms of quotes and dashes, marks for emphasis and formulas, and the space after a formula.
    Words that end a line get a hyphen or lose one, so hyphens between letters do not count.
    Captions of figures and rows of tables stand in the middle of sentences and are left out.
    Everything else counts: letters and their case, digits, and the other marks.
    """
    text = "\n".join(line for line in text.splitlines() if not FLOAT.match(line))
    for written, meant in PLAIN.items():
        text = text.replace(written, meant)
    text = unicodedata.normalize("NFKC", text).translate(QUOTES_AND_DASHES)
    text = re.sub(r"[$*`]", "", text)
    text = re.sub(r"(?<=[^\W\d_])-\s*(?=[^\W\d_])", "", text)
    text = re.sub(r"\s+(?=[.,;:])", "", text)
    return " ".join(text.split())


def sections(text: str) -> dict[str, str]:
    """Return the normal text of each section by its label, such as `IV C` or `4.1.1`."""
    lines: dict[str, list[str]] = {}
    chapter = label = ""
    for line in text.splitlines():
        if (found := HEADING.fullmatch(line.rstrip())) is not None:
            chapter = found["roman"] or chapter
            label = found["number"] or f"{chapter} {found['letter'] or ''}".strip()
        else:
            lines.setdefault(label, []).append(line)
    return {label: normal("\n".join(own)) for label, own in lines.items()}


def quotations(paper: Paper) -> list[Quotation]:
    """Return the quotations of a paper, each place once."""
    said = [
        Quotation(paper.name, each.id, each.source.sentence, each.source.section[len("section ") :])
        for each in paper.claims
    ]
    if paper.name not in UNTITLED:
        said.append(Quotation(paper.name, "title", paper.title))
    phrases = {phrase for text in _texts(paper) for phrase in re.findall(r'"([^"]+)"', text)}
    return said + [Quotation(paper.name, f'"{each}"', each) for each in sorted(phrases)]


def _texts(paper: Paper) -> Iterator[str]:
    """Yield the docstrings of a paper's package, then the paper's contradictions."""
    folder = ROOT / "src" / "delaylab_papers" / paper.name.replace("-", "_")
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                yield str(node.value.value)
    yield from paper.contradictions


def papers() -> list[Paper]:
    """Return the papers of this repository, by name."""
    own = ROOT / "src" / "delaylab_papers"
    known = {name: load(each) for name, each in sorted(installed().items())}
    return [each for name, each in known.items() if (own / name.replace("-", "_")).is_dir()]


def differs(quotation: Quotation, text: str) -> str:
    """Return what of a quotation is not as in the paper's text, "" if all is."""
    if not quotation.parts:
        return "it quotes nothing"
    if quotation.paper in IN_COLUMNS:
        return _differs_in_columns(quotation, text)
    if not quotation.section:
        return _differs(quotation, normal(text))
    own = sections(text).get(quotation.section)
    if own is None:
        return f"the paper has no section {quotation.section}"
    return _differs(quotation, own) or _begins_or_ends_within(quotation, own)


def _differs(quotation: Quotation, text: str) -> str:
    at = 0
    for part in quotation.parts:
        words = re.compile(rf"(?<!\w){re.escape(part)}(?!\w)")
        if (found := words.search(text, at)) is None:
            where = f"section {quotation.section}" if quotation.section else "the paper"
            return f"{where} does not say, or not at this place: {part}"
        at = found.end()
    return ""


def _begins_or_ends_within(quotation: Quotation, text: str) -> str:
    """Return what is cut off a sentence without a mark, "" if nothing is."""
    first = quotation.parts[0]
    before = text[: text.index(first)].rstrip()
    if not quotation.words.startswith(CUT) and before and before[-1] not in ".:?!-":
        return f"it begins within a sentence, without {CUT}"
    if not quotation.words.endswith((CUT, ".", "?", "!")):
        return f"it ends within a sentence, without {CUT}"
    return ""


LOST = 3
"""The most letters that are lost where the columns of a page meet."""
LEAST = 6
"""The fewest letters of a line that are taken to be of the quotation."""


def _differs_in_columns(quotation: Quotation, text: str) -> str:
    """Return what of a quotation is not in a text that has two columns in each line.

    Letters are lost where the columns meet, and ligatures everywhere, so letters and digits alone
    are compared, line by line; a digit is never taken for lost. So a word of three letters may
    differ unnoticed here: whoever changes such a quotation reads the page.
    """
    lines = [letters for line in text.splitlines() if (letters := _letters(line))]
    for part in quotation.parts:
        if not any(_goes_on(_letters(part), lines, at) for at in range(len(lines))):
            return f"the paper does not say: {part}"
    return ""


def _letters(text: str) -> str:
    text = re.sub(r"\b1/[O0]\b", "I/O", text)
    plain = re.sub(r"[^a-z0-9%]", "", unicodedata.normalize("NFKD", text).lower())
    return re.sub(r"ffi|ffl|ff|fi|fl", "", plain)


def _goes_on(rest: str, lines: list[str], at: int, column: int | None = None) -> bool:
    """Return True if letters stand in a line and those after it, in order.

    They stand anywhere in the line, or at `column`, if letters are lost within a line.
    """
    if at == len(lines):
        return False
    line = lines[at] if column is None else lines[at][column:]
    for lost in range(LOST + 1):
        if re.search(r"[\d%]", rest[:lost]):
            break
        piece = rest[lost:]
        longest = next((n for n in range(len(piece), 0, -1) if _stands(piece[:n], line, column)), 0)
        if longest == len(piece):
            return True
        for n in range(longest, max(longest - LOST, LEAST) - 1, -1):
            end = line.index(piece[:n]) + n + (column or 0)
            left = piece[n:]
            if _goes_on(left, lines, at + 1):
                return True
            # A letter that is not of the quotation may stand within a line.
            if n == longest and any(_goes_on(left, lines, at, end + more) for more in (0, 1)):
                return True
    return False


def _stands(piece: str, line: str, column: int | None) -> bool:
    return piece in line if column is None else line.startswith(piece)


def listed() -> str:
    """Return the list of the quotations' hashes."""
    lines = (each.line for paper in papers() for each in quotations(paper))
    return HEAD + "".join(f"{line}\n" for line in lines)


def wrong(paper: Paper, folder: Path) -> list[str]:
    """Return what is wrong with the quotations of a paper, whose text is in a folder."""
    text = (folder / f"{paper.name}.txt").read_text()
    return [
        f"{paper.name}: {each.where}: {what}"
        for each in quotations(paper)
        if (what := differs(each, text))
    ]


def main() -> None:
    """Compare all quotations with the papers' texts; write the list if all are found."""
    parser = argparse.ArgumentParser(description="Compare quotations with the papers' texts.")
    parser.add_argument("folder", nargs="?", type=Path, default=TEXTS, help="of the texts")
    folder = parser.parse_args().folder
    missing = [each.name for each in papers() if not (folder / f"{each.name}.txt").is_file()]
    if missing:
        parser.error(f"{folder} has no text of {', '.join(missing)}: name the folder that has them")
    found = [line for paper in papers() for line in wrong(paper, folder)]
    if found:
        sys.exit("\n".join(found))
    LIST.write_text(listed())


if __name__ == "__main__":
    main()
