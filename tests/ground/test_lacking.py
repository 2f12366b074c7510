"""Messages of programs that ended, read for the capability that their node lacks."""

from __future__ import annotations

import pytest

from delaylab.lab.programs.lacking import CAPABILITIES, lacking, why

ZEBRA = (
    "start zebra: it ended with exit code 1 before it was ready: privs_init: initial cap_set_proc "
    "failed: Operation not permitted / Wanted caps: cap_net_admin,cap_net_raw,cap_sys_admin=p / "
    "Have   caps: cap_chown,cap_net_admin,cap_net_raw=p"
)
LINES = "Wanted caps: = cap_net_admin,cap_sys_admin+p\nHave   caps: = cap_chown+p\n"


@pytest.mark.parametrize(
    ("printed", "names"),
    [
        (ZEBRA, ["sys_admin"]),
        (LINES, ["net_admin", "sys_admin"]),
        ("Wanted caps: cap_sys_admin=p\nHave   caps: =ep\n", []),
        ("Wanted caps: cap_sys_admin=p / Have   caps: =", []),
        ("cannot open /x: Operation not permitted", []),
        ("", []),
    ],
)
def test_lacking_capabilities_are_those_wanted_and_not_had(printed: str, names: list[str]) -> None:
    assert lacking(printed) == names


def test_a_program_without_a_right_is_told_by_what_to_add() -> None:
    assert why(ZEBRA) == (
        "it needs the capability sys_admin",
        "give the node `capabilities: [sys_admin]`",
    )
    assert why(LINES) == (
        "it needs capabilities net_admin, sys_admin",
        "give the node `capabilities: [net_admin, sys_admin]`",
    )
    assert why("x: chroot: Operation not permitted") == ("", CAPABILITIES)
    assert why("x: no such file") is None
