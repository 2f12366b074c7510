"""Settings are read from packages' scripts, and files go to their places; nothing is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab.images import settings, tree

MPI = """\
#!/bin/sh
set -e
if [ "$1" = "configure" ]; then
\tupdate-alternatives \\
\t\t--install /usr/bin/mpirun mpirun /usr/bin/mpirun.openmpi 50 \\
\t\t--slave /usr/bin/mpiexec mpiexec /usr/bin/mpiexec.openmpi
fi
"""
OTHER_MPI = "update-alternatives --install /usr/bin/mpirun mpirun /usr/bin/mpirun.mpich 40\n"
WITH_VARIABLE = "update-alternatives --install /usr/bin/$name $name /usr/bin/$name.real 50\n"
SSH = """\
if [ "$action" = configure ]; then
\tadduser --quiet --system --no-create-home --home /run/sshd --shell /usr/sbin/nologin sshd || true
\tadduser --system "$someone"
\tadduser guest
fi
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text(name)
    return tmp_path


@pytest.mark.parametrize("scripts", [[MPI, OTHER_MPI], [OTHER_MPI, MPI]])
def test_the_alternative_of_the_highest_priority_is_linked(root: Path, scripts: list[str]) -> None:
    settings.link_alternatives([*scripts, WITH_VARIABLE], root)
    assert str((root / "bin/mpirun").readlink()) == "/etc/alternatives/mpirun"
    assert str((root / "etc/alternatives/mpirun").readlink()) == "/usr/bin/mpirun.openmpi"
    assert str((root / "etc/alternatives/mpiexec").readlink()) == "/usr/bin/mpiexec.openmpi"
    assert {path.name for path in (root / "etc/alternatives").iterdir()} == {"mpirun", "mpiexec"}


def test_a_link_to_what_is_not_there_and_one_that_is_there_stay_out(root: Path) -> None:
    (root / "bin/mpiexec").write_text("the package's own")
    (root / "bin/mpirun.openmpi").unlink()
    settings.link_alternatives([MPI], root)
    assert not (root / "bin/mpirun").is_symlink()
    assert (root / "bin/mpiexec").read_text() == "the package's own"


FRR = """\
addgroup --system frrvty
adduser \\
	--system \\
	--ingroup frr \\
	--home /nonexistent \\
	frr
usermod -a -G frrvty frr
mkdir -m 0755 -p /var/log/frr
mkdir -p /etc/$WHERE
"""


def accounts(place: Path, name: str) -> list[list[str]]:
    return [line.split(":") for line in (place / name).read_text().splitlines()]


def test_accounts_of_the_system_are_those_that_scripts_and_sysusers_name(tmp_path: Path) -> None:
    folder = tmp_path / settings.SYSUSERS
    folder.mkdir(parents=True)
    text = '# users\nu messagebus - "bus"\ng other -\nu! locked - - -\nm locked other\n'
    (folder / "a.conf").write_text(text)
    settings.write_accounts([SSH], tmp_path, tmp_path)
    assert [(user[0], user[2], user[3]) for user in accounts(tmp_path, "passwd")] == [
        ("locked", "100", "100"),
        ("messagebus", "101", "101"),
        ("sshd", "103", "103"),
    ]
    assert [(group[0], group[2], group[3]) for group in accounts(tmp_path, "group")] == [
        ("locked", "100", ""),
        ("messagebus", "101", ""),
        ("other", "102", "locked"),
        ("sshd", "103", ""),
    ]


def test_a_user_has_the_groups_that_its_script_gives_it(tmp_path: Path) -> None:
    settings.write_accounts([FRR], tmp_path, tmp_path)
    (user,) = accounts(tmp_path, "passwd")
    groups = {group[0]: (group[2], group[3]) for group in accounts(tmp_path, "group")}
    assert user[0] == "frr"
    assert groups["frr"] == (user[3], "")
    assert groups["frrvty"][1] == "frr"


def test_folders_of_scripts_are_made_and_no_link_is_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "srv").symlink_to(outside)
    settings.make_folders([FRR + "mkdir -p /srv/x\nmkdir /a/../b\nmkdir here\n"], root)
    made = {str(path.relative_to(root)) for path in root.rglob("*")}
    assert made == {"var", "var/log", "var/log/frr", "srv"}
    assert [*outside.iterdir()] == []


def test_services_find_the_common_files_of_pam(tmp_path: Path) -> None:
    (tmp_path / "etc/pam.d").mkdir(parents=True)
    settings.write_pam(tmp_path)
    assert [*(tmp_path / "etc/pam.d").iterdir()] == [], "no package brings PAM's modules"
    (tmp_path / settings.PAM_UNIX).parent.mkdir(parents=True)
    (tmp_path / settings.PAM_UNIX).write_text("")
    (tmp_path / "etc/pam.d/common-auth").write_text("a package's own")
    settings.write_pam(tmp_path)
    assert (tmp_path / "etc/pam.d/common-auth").read_text() == "a package's own"
    text = (tmp_path / "etc/pam.d/common-session-noninteractive").read_text()
    assert text == "session required pam_unix.so\n"


UNPACKED = {
    "usr/bin/povray": True,
    "bin/tool": True,
    "usr/lib/x86_64-linux-gnu/libx.so.1": True,
    "etc/povray.conf": True,
    "usr/share/doc/povray/examples/vase.pov": True,
    "usr/share/doc/povray/changelog.gz": False,
    "usr/share/man/man1/povray.1.gz": False,
    "usr/share/locale/de/LC_MESSAGES/x.mo": False,
    ".control/povray/postinst": False,
}


def test_files_of_packages_are_moved_to_where_usr_is_the_root(tmp_path: Path) -> None:
    unpacked, made = tmp_path / "unpacked", tmp_path / "made"
    for name in UNPACKED:
        (unpacked / name).parent.mkdir(parents=True, exist_ok=True)
        (unpacked / name).write_text(name)
    (unpacked / "lib").symlink_to("usr/lib")  # as base-files has it
    (unpacked / "usr/share/data").symlink_to("doc")
    (unpacked / "usr/lib/x86_64-linux-gnu").chmod(0o2755)
    tree.move(unpacked, made)
    files = {
        path.relative_to(made).as_posix()
        for path in made.rglob("*")
        if path.is_symlink() or path.is_file()
    }
    kept = {name.removeprefix("usr/") for name, stays in UNPACKED.items() if stays}
    assert files == {*kept, "share/data"}
    assert (made / "share/data").readlink() == Path("doc")
    assert (made / "lib/x86_64-linux-gnu").stat().st_mode & 0o7777 == 0o2755


def test_files_laid_over_a_tree_replace_its_own_and_leave_the_layers_as_they_were(
    tmp_path: Path,
) -> None:
    below, above = tmp_path / "below", tmp_path / "above"
    for folder, text in ((below, "busybox"), (above, "real")):
        (folder / "bin").mkdir(parents=True)
        (folder / "bin/busybox").write_text(text)
    (below / "bin/xz").symlink_to("busybox")
    (above / "bin/xz").write_text("real xz")
    (below / "lib").mkdir()
    (above / "lib").symlink_to("bin")
    tree.lay_over(above, below)
    assert not (below / "bin/xz").is_symlink()
    assert (below / "bin/xz").read_text() == "real xz"
    assert (below / "bin/busybox").read_text() == "real"
    assert (below / "lib").is_dir()
    assert not (below / "lib").is_symlink()
    assert (below / "bin/xz").stat().st_ino == (above / "bin/xz").stat().st_ino
