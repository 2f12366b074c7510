"""The file `lab.conf`: devices, each with its interfaces, its collision domains and its options."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

from delaylab.topology.remarks import Remarks
from delaylab.topology.source import Source

OPTION = re.compile(
    r"""\s*(?P<device>[A-Za-z0-9_-]{1,60})\[(?P<name>[0-9]{1,4}|[A-Za-z_][A-Za-z0-9_]{0,29})\]\s*=\s*"""
    r"""(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s#"']*))\s*(?:\#.*)?"""
)
ABOUT = re.compile(r"\s*LAB_[A-Z]+\s*=.*")


@dataclass
class Device:
    """A device: the line where it is first named, its interfaces, and its options."""

    name: str
    line: int
    domains: dict[int, str] = field(default_factory=dict)
    """The number of each interface -> its collision domain."""
    said: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    lines: dict[str, int] = field(default_factory=dict)
    """The line where each option is first said."""


@dataclass
class Conf:
    """The devices of a `lab.conf`, in the order of the file."""

    devices: dict[str, Device] = field(default_factory=dict)


def conf_of(source: Source, remarks: Remarks) -> Conf:
    """Return what a `lab.conf` says; what is no line of one is remarked."""
    conf = Conf()
    for number, line in enumerate(source.lines(), start=1):
        if not line.strip() or line.lstrip().startswith("#") or ABOUT.fullmatch(line):
            continue
        found = OPTION.fullmatch(line)
        if found is None:
            remarks.problem(number, 'expected a line such as `r1[0]="A"`: left out')
            continue
        value = next(each for each in found.group("double", "single", "bare") if each is not None)
        device = conf.devices.setdefault(found["device"], Device(found["device"], number))
        _add(device, found["name"], value.strip(), number, remarks)
    return conf


def _add(device: Device, name: str, value: str, line: int, remarks: Remarks) -> None:
    if not name.isdigit():
        device.said[name].append(value)
        device.lines.setdefault(name, line)
        return
    domain, _, mac = value.partition("/")
    if not domain:
        remarks.problem(line, "an interface without a collision domain: left out")
        return
    if mac:
        device.said["mac"].append(mac)
        device.lines.setdefault("mac", line)
    device.domains[int(name)] = domain
