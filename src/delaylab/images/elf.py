"""Dependencies of programs and kernel modules, read from their ELF files.

pyelftools is imported where a file is read: it takes 25 ms, and only images that are made need it.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

from io import BytesIO
from pathlib import Path

MAGIC = b"\x7fELF"


def is_elf(path: Path) -> bool:
    """Return True if a file is an ELF program or library, and not, say, a script."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def libraries(path: Path) -> list[str]:
    """Return the names of the shared libraries that a program or a library needs."""
    from elftools.elf.dynamic import DynamicSection
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import StringTableSection

    with path.open("rb") as file:
        elf = ELFFile(file)
        dynamic, strings = (elf.get_section_by_name(name) for name in (".dynamic", ".dynstr"))
        if not isinstance(dynamic, DynamicSection) or not isinstance(strings, StringTableSection):
            return []
        return [strings.get_string(tag["d_val"]) for tag in dynamic.iter_tags("DT_NEEDED")]


def loader(path: Path) -> str | None:
    """Return the absolute path of a dynamic program's loader; None for a static program."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.segments import InterpSegment

    with path.open("rb") as file:
        for segment in ELFFile(file).iter_segments("PT_INTERP"):
            if isinstance(segment, InterpSegment):
                return segment.get_interp_name()
    return None


def module_needs(module: bytes) -> list[str]:
    """Return the modules that must be loaded before a kernel module."""
    from elftools.elf.elffile import ELFFile

    section = ELFFile(BytesIO(module)).get_section_by_name(".modinfo")
    if section is None:
        return []
    for entry in section.data().split(b"\0"):
        if entry.startswith(b"depends="):
            names = entry.removeprefix(b"depends=").decode()
            return [name.replace("-", "_") for name in names.split(",") if name]
    return []
