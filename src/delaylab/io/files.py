"""Reading and writing of files that may be hostile.

Files are read only if they are regular and of bounded size; writing follows no symbolic link.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from delaylab.errors import BadInput, DelaylabError
from delaylab.io.interrupts import deferred
from delaylab.units import MEBIBYTE


def read_bytes(place: Path, most: int, *, pipes: bool = False) -> bytes:
    """Read a whole file of at most `most` bytes.

    Raises `BadInput` if the file is larger, cannot be read, or is not a regular file: a device
    never ends, and a pipe may never begin. With `pipes`, anything but a folder is allowed, since a
    path that the user gave may be a pipe.
    """
    try:
        # Without O_NONBLOCK, opening a pipe waits until somebody writes to it.
        flags = os.O_RDONLY | os.O_CLOEXEC | (0 if pipes else os.O_NONBLOCK)
        # Python's open() refuses a folder with an error of its own, so the descriptor is opened and
        # checked first.
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
    """Read a whole file as UTF-8, under the same rules as `read_bytes`.

    A byte order mark, which spreadsheets put in front, is left out.
    """
    try:
        return read_bytes(place, most, pipes=pipes).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        why = f"byte {error.start + 1} is not UTF-8"
        raise BadInput(f"cannot be read: {why}", str(place)) from None


def check_file(place: Path, most: int) -> int:
    """Return the size of a file in bytes; raise BadInput unless it is regular and at most `most`.

    Symbolic links are followed.
    """
    try:
        found = place.stat()
    except FileNotFoundError:
        raise BadInput("no such file", str(place)) from None
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot be read: {_why(error)}", str(place)) from None
    _check(found, place, most)
    return found.st_size


def is_folder(place: Path) -> bool:
    """Return True if a path is a folder; False also for one that cannot be, such as a long name."""
    try:
        return place.is_dir()
    except (OSError, ValueError):
        return False


def write_new(place: Path, content: bytes) -> None:
    """Replace a file atomically; a symbolic link in its place is replaced, not followed.

    Ctrl-C waits until the file is written.
    """
    with deferred():
        _replace(place, content)


def _replace(place: Path, content: bytes) -> None:
    temporary = place.with_name(f".{place.name}.{os.urandom(4).hex()}")
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


def write_text(place: Path, text: str) -> None:
    """Write a file that a user named, in one step; raise `DelaylabError` if that fails."""
    try:
        write_new(place, text.encode())
    except ValueError:  # such as `.`, which names no file
        raise DelaylabError("cannot be written: it names no file", str(place)) from None
    except OSError as error:
        raise DelaylabError(f"cannot be written: {error.strerror}", str(place)) from error


def own_folder(place: Path) -> Path:
    """Return a folder to write into, made if it is missing.

    Raises `DelaylabError` if the path is a symbolic link or no folder.
    """
    with suppress(FileExistsError):
        place.mkdir(parents=True, exist_ok=True)
    check_own_folder(place)
    return place


def check_own_folder(place: Path) -> None:
    """Raise `DelaylabError` if a path is a symbolic link or no folder; it may be missing."""
    if os.path.lexists(place) and not stat.S_ISDIR(place.lstat().st_mode):
        what = "a link" if place.is_symlink() else "no folder"
        fix = "remove it: files are not written to where it leads"
        raise DelaylabError(f"cannot be written to: it is {what}", str(place), fix)


def empty_folder(place: Path) -> None:
    """Make sure that a folder exists, is empty, and takes files; raise BadInput, with the cause."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        if any(place.iterdir()):
            raise BadInput(f"{place} is not empty", fix="take another --out, or --resume it")
        from tempfile import TemporaryFile  # noqa: PLC0415  most verbs make no folder

        with TemporaryFile(dir=place):
            pass
    except OSError as error:
        # Folders are missing from the first that could not be made; the one above it is the cause.
        there = next(each for each in (place, *place.absolute().parents) if each.exists())
        why = _why(error) if there.is_dir() else "a file, not a folder"
        cause = f"{there}: {why}" if there != place else why
        raise BadInput(f"cannot be written to: {cause}", str(place), "take another --out") from None


def new_folder(place: Path) -> Path:
    """Return a folder that was not there: the named one, or `NAME-2`, `NAME-3` and so on.

    Of callers that ask for one name at the same time, each has a folder of its own. Raises
    `BadInput` with the cause if it takes no files.
    """
    number, folder = 1, place
    with suppress(OSError):  # whose cause is found below
        place.parent.mkdir(parents=True, exist_ok=True)
        while not _made(folder):
            number += 1
            folder = place.with_name(f"{place.name}-{number}")
    empty_folder(folder)
    return folder


def _made(folder: Path) -> bool:
    try:
        folder.mkdir()
    except FileExistsError:
        return False
    return True


def _check(status: os.stat_result, place: Path, most: int, *, pipes: bool = False) -> None:
    if not stat.S_ISREG(status.st_mode) and (not pipes or stat.S_ISDIR(status.st_mode)):
        raise BadInput("cannot be read: it is no regular file", str(place))
    if status.st_size > most:
        raise _too_large(place, most)


def _too_large(place: Path, most: int) -> BadInput:
    what = f"the file is larger than {most // MEBIBYTE} MiB, the most that is read"
    return BadInput(what, str(place), "see docs/limits.md")


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
