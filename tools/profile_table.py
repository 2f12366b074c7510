"""Generator of the table of link profiles in docs/links.md, from the profiles themselves."""

from __future__ import annotations

from pathlib import Path

from delaylab.spec.conditions.model import ConditionsSpec
from delaylab.spec.conditions.profiles import contents, profiles
from delaylab.spec.conditions.words import one_line

PAGE = Path(__file__).parent.parent / "docs" / "links.md"
BEGIN, END = "| profile | up | down | source |\n", "\n\n"


def table() -> str:
    """Return the table's lines."""
    rows = ["|---|---|---|---|"]
    for name, profile in profiles().items():
        up, down = (_text(contents(name, way)) for way in ("up", "down"))
        both = [up, "the same"] if profile.symmetric else [up, down]
        rows.append(f"| `{name}` | {' | '.join(both)} | {profile.source} |")
    return BEGIN + "\n".join(rows)


def _text(said: dict[str, object] | None) -> str:
    return one_line(ConditionsSpec.model_validate(said).named())


def main() -> None:
    """Replace the table in the page."""
    text = PAGE.read_text()
    start = text.index(BEGIN)
    PAGE.write_text(text[:start] + table() + text[text.index(END, start) :])


if __name__ == "__main__":
    main()
