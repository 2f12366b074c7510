"""Model of another machine that carries hosts of a lab."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated

from pydantic import BeforeValidator, Field

from delaylab.spec.addresses import Address
from delaylab.spec.base import InterfaceName, Spec, SshTarget, no_items, spelled
from delaylab.units import Duration


def _names_alone(given: object) -> object:
    if isinstance(given, dict):
        raise ValueError(
            "a machine's interfaces are named in a list: the rates are those of its cards; "
            "`interfaces` of a host can have others"
        )
    return given


def _address(given: object) -> Address:
    """Return an IP address, which may be given as text."""
    try:
        return ip_address(str(given))
    except ValueError:
        raise ValueError(f"{given!r} is no IPv4 or IPv6 address") from None


# `IPvAnyAddress` of pydantic would do, but a lab file took 7 ms longer to read: with it comes all
# that pydantic knows of URLs.
MachineAddress = Annotated[Address, BeforeValidator(_address)]


CACHE = r"^(/[A-Za-z0-9_+-][A-Za-z0-9._+-]*)+$"
"""The syntax of a folder for the agent: no character that a shell gives a meaning."""


class MachineSpec(Spec):
    """Another machine that carries hosts: any Linux machine that this user reaches by ssh."""

    ssh: SshTarget = Field(
        description="The machine's name as `ssh` takes it: `lab2`, `root@192.0.2.1` or "
        "`ssh://root@192.0.2.1:2222`. Keys, ports and jump hosts are those of ssh's own "
        "configuration."
    )
    sudo: bool = Field(
        False,
        description="Start the agent there as root, by `sudo`, for machines that take no login of "
        "root. What sudoers needs says docs/machines.md.",
    )
    cache: Annotated[str, spelled(CACHE, "an absolute path", most=200)] | None = Field(
        None,
        description="The folder there for the agent and for images, if the user's home cannot "
        "run programs (noexec) or is too small. Left out, it is `~/.cache/delaylab`.",
    )
    address: MachineAddress | None = Field(
        None,
        description="The address by which the other machines reach it, for links between them; "
        "left out, it is the one that ssh has reached.",
    )
    interfaces: Annotated[list[InterfaceName], BeforeValidator(_names_alone)] = Field(
        default_factory=no_items,
        description="The machine's interfaces on the LAN, for `data_plane: ethernet`: links are "
        "divided among them by their `bandwidth`. Left out, it is the one by which the machine "
        "reaches the others.",
    )
    symmetric: Duration | None = Field(
        None,
        description="The largest difference of the least one-way delays to the machine and from "
        "it, if you know one: clocks are then compared more closely, and figures that rest on it "
        "say so. Of two machines other than this one both have it. Left out, nothing is assumed.",
    )
