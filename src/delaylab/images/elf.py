"""What programs and kernel modules say of what they need, from their ELF files."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import StringTableSection, SymbolTableSection
from elftools.elf.segments import InterpSegment

MAGIC = b"\x7fELF"


def is_elf(path: Path) -> bool:
    """Whether a file is a program or a library, and not, say, a script."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def libraries(path: Path) -> list[str]:
    """The names of the shared libraries that a program or a library needs."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        dynamic, strings = (elf.get_section_by_name(name) for name in (".dynamic", ".dynstr"))
        if not isinstance(dynamic, DynamicSection) or not isinstance(strings, StringTableSection):
            return []
        return [strings.get_string(tag["d_val"]) for tag in dynamic.iter_tags("DT_NEEDED")]


def loader(path: Path) -> str | None:
    """The absolute path of the loader that the kernel starts a dynamic program with."""
    with path.open("rb") as file:
        for segment in ELFFile(file).iter_segments("PT_INTERP"):
            if isinstance(segment, InterpSegment):
                return segment.get_interp_name()
    return None


def functions(path: Path, *, defined: bool) -> set[str]:
    """The names that a file gives to others (defined), or takes from them."""
    with path.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".dynsym")
        symbols = table.iter_symbols() if isinstance(table, SymbolTableSection) else ()
        return {one.name for one in symbols if (one["st_shndx"] != "SHN_UNDEF") == defined}


def module_needs(module: bytes) -> list[str]:
    """The modules that a kernel module says must be loaded before it."""
    section = ELFFile(BytesIO(module)).get_section_by_name(".modinfo")
    if section is None:
        return []
    for entry in section.data().split(b"\0"):
        if entry.startswith(b"depends="):
            names = entry.removeprefix(b"depends=").decode()
            return [name.replace("-", "_") for name in names.split(",") if name]
    return []
