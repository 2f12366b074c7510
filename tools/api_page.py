"""Generator of the reference in docs/api.md, from the docstrings of the public names."""

from __future__ import annotations

import dataclasses
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import delaylab
import delaylab_study

PAGE = Path(__file__).parent.parent / "docs" / "api.md"
BEGIN = "## Reference\n"
INTRODUCTION = (
    "`File` is a path: `str | os.PathLike[str]`. `Data` is a dict in the form of a file.\n"
    "`Condition` is a value as in a lab file.\n"
)
SHOWN_WITHOUT_MEMBERS = ("Finding", "Lab", "TrialRecord")
"""Types of the dataset and of files: their own modules say what they hold."""
MADE_BY_LOADING = ("Lab",)
"""Types that no user makes by their constructor."""
WIDTH = 96


def reference() -> str:
    """Return the reference: for each public name, functions first, its signature and docstring."""
    lines = (
        line
        for package in (delaylab, delaylab_study)
        for name in sorted(
            package.__all__, key=lambda name: inspect.isclass(getattr(package, name))
        )
        for line in _entry(package, name)
    )
    return "\n".join([BEGIN, INTRODUCTION, *lines])


def _entry(package: ModuleType, name: str) -> Iterator[str]:
    value = getattr(package, name)
    yield f"### `{package.__name__}.{name}`\n"
    if inspect.isclass(value):
        if dataclasses.is_dataclass(value) and not (
            issubclass(value, Exception) or name in MADE_BY_LOADING
        ):
            yield from _code(_signature(name, value))
        yield _text(value)
        if name not in SHOWN_WITHOUT_MEMBERS and not issubclass(value, Exception):
            yield from _members(value)
    else:
        yield from _code(f"{package.__name__}.{_signature(name, value)}")
        yield _text(value)


def _members(value: type) -> Iterator[str]:
    for name, member in vars(value).items():
        if name.startswith("_") or name in ("as_json", "of"):
            continue
        if isinstance(member, property):
            returned = inspect.signature(member.fget).return_annotation if member.fget else ""
            yield f"`.{name}: {returned}`\n"
            yield _text(member)
        elif inspect.isfunction(member):
            yield from _code(_signature(f".{name}", member))
            yield _text(member)


def _signature(name: str, value: object) -> str:
    """Return a signature, over several lines if it is long; private fields are left out."""
    assert callable(value)
    found = inspect.signature(value)
    parts = list(_parameters(found))
    result = found.return_annotation
    end = "" if result in (inspect.Parameter.empty, None, "None") else f" -> {result}"
    line = f"{name}({', '.join(parts)}){end}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){end}"


def _parameters(found: inspect.Signature) -> Iterator[str]:
    named_only = False
    for parameter in found.parameters.values():
        if parameter.name == "self" or parameter.name.startswith("_"):
            continue
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not named_only:
            named_only = True
            yield "*"
        default = parameter.default
        given = "" if default is inspect.Parameter.empty else f" = {default!r}"
        stars = "**" if parameter.kind is inspect.Parameter.VAR_KEYWORD else ""
        yield f"{stars}{parameter.name}: {parameter.annotation}{given}"


def _code(text: str) -> Iterator[str]:
    yield f"```python\n{text}\n```\n"


def _text(value: object) -> str:
    return textwrap.dedent(inspect.getdoc(value) or "").strip() + "\n"


def main() -> None:
    """Replace the reference in the page."""
    before = PAGE.read_text().partition(BEGIN)[0]
    PAGE.write_text(before + reference().rstrip() + "\n")


if __name__ == "__main__":
    main()
