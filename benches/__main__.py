"""Runs benchmarks and keeps their last results in docs/benchmarks.md."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

from benches import containers, labs, rates, report_size, rtt, schedule, taps
from benches.section import Section
from delaylab.machine import cpu_name

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
ALL: dict[str, Callable[[], Section]] = {
    "rates": rates.run,
    "taps": taps.run,
    "rtt": rtt.run,
    "schedule": schedule.run,
    "labs": labs.run,
    "containers": containers.run,
    "report": report_size.run,
}
HEAD = """\
# Benchmarks

Each table stands beside its peers from the same run on the same machine, in turn. The machines
are shared and noisy: trust the ratios, not the seconds. All of it: `make bench`; needs ping, fping,
irtt, tcpdump, stress-ng and Mininet beside delaylab.
"""
SECTION = re.compile(r"<!-- (\w+) -->\n.*?(?=<!-- \w+ -->|\Z)", re.DOTALL)


def main() -> None:
    """Run the named benchmarks, or all."""
    wanted = sys.argv[1:] or list(ALL)
    unknown = [name for name in wanted if name not in ALL]
    if unknown:
        sys.exit(f"no benchmark {unknown[0]!r}; there are: {', '.join(ALL)}")
    for name in wanted:
        section = ALL[name]()
        where = f"{date.today()}, {cpu_name()}, {platform.system()} {platform.release()}"
        text = section.markdown() + f"\n*{where}*\n"
        print(text, flush=True)
        keep(name, text)


def keep(name: str, text: str) -> None:
    """Put a section's text into the page, in the order of ALL."""
    page = PAGE.read_text() if PAGE.exists() else ""
    sections = {match[1]: match[0] for match in SECTION.finditer(page)}
    sections[name] = f"<!-- {name} -->\n{text}\n"
    PAGE.write_text(HEAD + "\n" + "".join(sections[n] for n in ALL if n in sections))


if __name__ == "__main__":
    main()
