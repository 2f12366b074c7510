"""Entry point that runs benchmarks and keeps their last results in docs/benchmarks.md."""

from __future__ import annotations

import os
import platform
import re
import signal
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

from benches import (
    campaign_kills,
    campaign_worker,
    campaigns,
    conditions,
    containers,
    cpus,
    crossing,
    data_planes,
    far_machines,
    guests,
    instrument,
    labs,
    links,
    machines,
    measuring,
    netem,
    placement,
    rates,
    report_size,
    rtt,
    scale,
    schedule,
    start,
    taps,
)
from benches.section import Section
from delaylab.errors import DelaylabError
from delaylab.machines.description import cpu_name

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
ALL: dict[str, Callable[..., Section]] = {
    "rates": rates.run,
    "taps": taps.run,
    "instrument": instrument.run,
    "rtt": rtt.run,
    "schedule": schedule.run,
    "links": links.run,
    "crossing": crossing.run,
    "conditions": conditions.run,
    "netem": netem.run,
    "labs": labs.run,
    "start": start.run,
    "scale": scale.run,
    "placement": placement.run,
    "machines": machines.run,
    "far_machines": far_machines.run,
    "data_planes": data_planes.run,
    "guests": guests.run,
    "containers": containers.run,
    "measuring": measuring.run,
    "report": report_size.run,
    "campaigns": campaigns.run,
    "campaign_worker": campaign_worker.run,
    "campaign_kills": campaign_kills.run,
    "cpus": cpus.run,
}
"""Benchmarks by name. Those that can use an existing dataset take it as `measuring=DIR`."""
BY_HAND = "by_hand"
"""The last section of the page, which no benchmark writes: figures of other commands."""
HEAD = """\
# Benchmarks

Each table compares delaylab with other tools, in turn, in one run on one machine. The machines are
shared and noisy: trust the ratios rather than the seconds. `make bench` runs all benchmarks in an
hour, half of which is a study. It needs ping, fping, irtt, tcpdump, stress-ng, Mininet, sshd, and
what guests run on (`delaylab doctor`). `.venv/bin/python -m benches NAME` runs one. *Goal* is what
the project set itself.
"""
SECTION = re.compile(r"<!-- (\w+) -->\n.*?(?=<!-- \w+ -->|\Z)", re.DOTALL)


def main() -> None:
    """Run the named benchmarks, or all."""
    wanted = [word.partition("=")[::2] for word in sys.argv[1:] or ALL]
    unknown = [name for name, _ in wanted if name not in ALL]
    if unknown:
        sys.exit(f"no benchmark {unknown[0]!r}; there are: {', '.join(ALL)}")
    # An installed program keeps its bytecode. With this variable every start would compile it.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # A benchmark that is stopped ends as with Ctrl-C, so it takes down what it has built.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for name, directory in wanted:
        try:
            section = ALL[name](Path(directory)) if directory else ALL[name]()
        except DelaylabError as error:
            sys.exit(f"{name}: {error}")
        where = f"{date.today()}, {cpu_name()}, {platform.system()} {platform.release()}"
        text = section.markdown() + f"\n*{where}*\n"
        print(text, flush=True)
        keep(section.key, text)


def keep(key: str, text: str) -> None:
    """Put a section's text into the page, in the order of ALL."""
    page = PAGE.read_text() if PAGE.exists() else ""
    sections = {match[1]: match[0] for match in SECTION.finditer(page)}
    sections[key] = f"<!-- {key} -->\n{text}\n"
    order = {name: number for number, name in enumerate([*ALL, BY_HAND])}
    kept = sorted((order[name_of(k)], k) for k in sections if name_of(k) in order)
    PAGE.write_text(HEAD + "\n" + "".join(sections[k] for _, k in kept))


def name_of(key: str) -> str:
    """Return the benchmark that a section, or a variant of one, belongs to; "" if none."""
    names = [*ALL, BY_HAND]
    return next((name for name in names if key == name or key.startswith(f"{name}_")), "")


if __name__ == "__main__":
    main()
