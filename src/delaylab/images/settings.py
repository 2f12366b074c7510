"""Settings that packages make when they are installed, as far as they can be read instead of run.

Links of `update-alternatives`, users and groups of the system, and empty folders. Nothing of a
package is ever run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ALTERNATIVES = "etc/alternatives"
SYSUSERS = "lib/sysusers.d"
NAME = re.compile(r"[a-z_][a-z0-9_-]*")
"""The name of a user or group of the system (useradd(8))."""
PAM_UNIX = "share/pam-configs/unix"
_PAM_END = ("requisite pam_deny.so", "required pam_permit.so")
PAM_COMMON = {
    "auth": ("[success=1 default=ignore] pam_unix.so nullok", *_PAM_END),
    "account": ("[success=1 new_authtok_reqd=done default=ignore] pam_unix.so", *_PAM_END),
    "password": ("[success=1 default=ignore] pam_unix.so obscure yescrypt", *_PAM_END),
    "session": ("required pam_unix.so",),
    "session-noninteractive": ("required pam_unix.so",),
}
"""The services' common lines by the name of their file, `common-NAME`."""
FIRST_ID = 100
"""The least number of the system's users that packages make (Debian Policy, 9.2.2)."""
NO_SHELL = "/bin/false"


@dataclass(frozen=True)
class _Alternative:
    link: str
    name: str
    path: str
    priority: int


def link_alternatives(scripts: Iterable[str], root: Path) -> None:
    """Make the links of alternatives, each to the one of the highest priority.

    Only those are made that a script writes out in full, as debhelper does.
    """
    found = sorted(
        (each for script in scripts for each in _alternatives(script)),
        key=lambda each: (each.priority, each.path),
    )
    for each in {each.name: each for each in found}.values():
        link = root / each.link.lstrip("/").removeprefix("usr/")
        target = root / each.path.lstrip("/").removeprefix("usr/")
        if link.is_symlink() or link.exists() or not target.exists():
            continue
        link.parent.mkdir(parents=True, exist_ok=True)
        (root / ALTERNATIVES).mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"/{ALTERNATIVES}/{each.name}")
        (root / ALTERNATIVES / each.name).symlink_to(each.path)


@dataclass
class _Accounts:
    """Users with their main groups, groups, and each group's further members."""

    users: dict[str, str] = field(default_factory=dict)
    groups: dict[str, set[str]] = field(default_factory=dict)

    def add_user(self, name: str, group: str | None = None) -> None:
        self.users[name] = group or self.users.get(name, name)
        self.groups.setdefault(self.users[name], set())

    def add_member(self, group: str, user: str) -> None:
        self.groups.setdefault(group, set()).add(user)


def write_accounts(scripts: Iterable[str], root: Path, out: Path) -> None:
    """Write lines for `passwd` and `group` with the users and groups that packages make."""
    made = _Accounts()
    for script in scripts:
        _read_script(script, made)
    for file in sorted((root / SYSUSERS).glob("*.conf")):
        _read_sysusers(file.read_text(), made)
    ids = {name: str(at) for at, name in enumerate(sorted({*made.users, *made.groups}), FIRST_ID)}
    users = [
        f"{name}:x:{ids[name]}:{ids[group]}:{name}:/nonexistent:{NO_SHELL}\n"
        for name, group in sorted(made.users.items())
    ]
    groups = [
        f"{name}:x:{ids[name]}:{','.join(sorted(members))}\n"
        for name, members in sorted(made.groups.items())
    ]
    (out / "passwd").write_text("".join(users))
    (out / "group").write_text("".join(groups))


def make_folders(scripts: Iterable[str], root: Path) -> None:
    """Make the folders that packages make by `mkdir`, which belong to root.

    Those for the time that a system runs (tmpfiles.d(5)) are made by a node's agent.
    """
    for script in scripts:
        for words in _commands(script, "mkdir"):
            path = words[-1].lstrip("/").removeprefix("usr/")
            if words[-1].startswith("/") and ".." not in path:
                _make_folder(root, path)


def write_pam(root: Path) -> None:
    """Write the files of PAM that all services include, as pam-auth-update(8) does for Unix alone.

    They are left out where no package brings PAM's modules.
    """
    for name, lines in PAM_COMMON.items():
        place = root / "etc/pam.d" / f"common-{name}"
        if (root / PAM_UNIX).exists() and not place.exists():
            place.write_text("".join(f"{name.partition('-')[0]} {line}\n" for line in lines))


def write_shadow(root: Path) -> None:
    """Write a file of passwords in which no user has one (shadow(5)): PAM finds all users."""
    names = [line.partition(":")[0] for line in (root / "etc/passwd").read_text().splitlines()]
    shadow = root / "etc/shadow"
    shadow.unlink(missing_ok=True)
    shadow.write_text("".join(f"{name}:*:::::::\n" for name in names))
    shadow.chmod(0o640)


def _make_folder(root: Path, path: str) -> None:
    place = root
    for part in Path(path).parts:
        place /= part
        if place.is_symlink() or place.is_file():
            return
        place.mkdir(exist_ok=True)


def _read_script(script: str, made: _Accounts) -> None:
    """Add the users and groups of the system that a script adds."""
    for words in _commands(script, "addgroup"):
        if NAME.fullmatch(words[-1]):
            made.groups.setdefault(words[-1], set())
    for words in _commands(script, "adduser"):
        name, before = words[-1], words[-2] if len(words) > 1 else "-"
        if "--system" in words and NAME.fullmatch(name):
            made.add_user(name, _value(words, "--ingroup"))
        elif len(words) == 2 and NAME.fullmatch(before) and NAME.fullmatch(name):
            made.add_member(name, before)
    for words in _commands(script, "usermod"):
        groups = _value(words, "-G") or _value(words, "-aG")
        for group in (groups or "").split(","):
            if NAME.fullmatch(group) and NAME.fullmatch(words[-1]):
                made.add_member(group, words[-1])


def _read_sysusers(text: str, made: _Accounts) -> None:
    """Add the users, groups and members of a file for systemd's sysusers (sysusers.d(5))."""
    for kind, first, second in re.findall(r"^([ugm])!?\s+(\S+)\s+(\S+)", text, re.M):
        if kind == "u" and NAME.fullmatch(first):
            made.add_user(first)
        elif kind == "g" and NAME.fullmatch(first):
            made.groups.setdefault(first, set())
        elif kind == "m" and NAME.fullmatch(first) and NAME.fullmatch(second):
            made.add_member(second, first)


def _value(words: list[str], option: str) -> str | None:
    """Return the word after an option that names a user or groups."""
    at = words.index(option) + 1 if option in words else len(words)
    return words[at] if at < len(words) else None


def _alternatives(script: str) -> Iterator[_Alternative]:
    """Yield the alternatives that a script installs, and those that follow them."""
    for words in _commands(script, "update-alternatives"):
        priority = None
        for at, word in enumerate(words):
            given = words[at + 1 : at + 5]
            if word == "--install" and len(given) == 4 and given[3].isdecimal():
                priority = int(given[3])
                yield _Alternative(given[0], given[1], given[2], priority)
            elif word == "--slave" and len(given) >= 3 and priority is not None:
                yield _Alternative(given[0], given[1], given[2], priority)


def _commands(script: str, program: str) -> Iterator[list[str]]:
    """Yield the words of a script's calls of a program; those with variables are left out."""
    for line in script.replace("\\\n", " ").splitlines():
        found = re.search(rf"(?:^|[\s;&|]){program}\s(.*)", line)
        if found is None or "$" in found[1]:
            continue
        try:
            words = shlex.split(re.split(r"\s*(?:[;&|]|\d?>)", found[1])[0])
        except ValueError:
            continue
        if words:
            yield words
