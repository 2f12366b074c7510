"""Files of others: read only if they are files and of a bounded size; written past no link."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from delaylab.errors import BadInput, DelaylabError

MIB = 1 << 20


def read_bytes(place: Path, most: int, *, pipes: bool = False) -> bytes:
    """Read a whole file of at most `most` bytes.

    Raises `BadInput` for a larger one, for what is no file (a device never ends, a pipe may never
    begin), and for one that cannot be read. `pipes`: what the user himself names may be a pipe.
    """
    try:
        # Opening a pipe that nobody writes to would wait.
        flags = os.O_RDONLY | os.O_CLOEXEC | (0 if pipes else os.O_NONBLOCK)
        # A folder is no file to Python, so it is the descriptor that is looked at and closed.
        handle = os.open(place, flags)
        try:
            _check(os.fstat(handle), place, most, pipes=pipes)
            with open(handle, "rb", closefd=False) as file:
                content = file.read(most + 1)
        finally:
            os.close(handle)
    except FileNotFoundError:
        raise BadInput("no such file", str(place)) from None
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot be read: {_why(error)}", str(place)) from None
    if len(content) > most:
        raise _too_large(place, most)
    return content


def read_text(place: Path, most: int, *, pipes: bool = False) -> str:
    """Read a whole file as UTF-8, as `read_bytes`."""
    try:
        return read_bytes(place, most, pipes=pipes).decode("utf-8")
    except UnicodeDecodeError as error:
        why = f"byte {error.start + 1} is not UTF-8"
        raise BadInput(f"cannot be read: {why}", str(place)) from None


def check_file(place: Path, most: int) -> int:
    """Return the size of what must be a regular file of at most `most` bytes, links followed."""
    try:
        found = place.stat()
    except FileNotFoundError:
        raise BadInput("no such file", str(place)) from None
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot be read: {_why(error)}", str(place)) from None
    _check(found, place, most)
    return found.st_size


def write_new(place: Path, content: bytes) -> None:
    """Put a new file in a file's place, in one step; where that is a link, the link is replaced."""
    temporary = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(temporary, flags, 0o666)
    try:
        with open(handle, "wb") as file:  # noqa: PTH123  a descriptor
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(place)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def own_folder(place: Path) -> Path:
    """Return a folder to write into, made if it is not there; `DelaylabError` for a link."""
    with suppress(FileExistsError):
        place.mkdir(parents=True, exist_ok=True)
    if not stat.S_ISDIR(place.lstat().st_mode):
        what = "a link" if place.is_symlink() else "no folder"
        fix = "remove it: files are not written to where it leads"
        raise DelaylabError(f"cannot be written to: it is {what}", str(place), fix)
    return place


def _check(found: os.stat_result, place: Path, most: int, *, pipes: bool = False) -> None:
    if not stat.S_ISREG(found.st_mode) and (not pipes or stat.S_ISDIR(found.st_mode)):
        raise BadInput("cannot be read: it is no regular file", str(place))
    if found.st_size > most:
        raise _too_large(place, most)


def _too_large(place: Path, most: int) -> BadInput:
    what = f"the file is larger than {most // MIB} MiB, the most that is read"
    return BadInput(what, str(place), "see docs/limits.md")


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
