"""Entry point of the command `delaylab`, and of `python -m delaylab`."""

from __future__ import annotations

import gc
import sys

NEW_OBJECTS = 100_000
"""Number of new objects after which Python looks for unreachable cycles among them.

A large lab makes objects by the hundred thousand and hardly any cycle. Python's own threshold, 700,
took a quarter of the time to check and plan 10,000 links (`python -m benches scale`).
"""


def main() -> None:
    """Run the command line. Ctrl-C ends it with one line, also while it is being imported."""
    gc.set_threshold(NEW_OBJECTS)
    try:
        from delaylab.io import interrupts  # noqa: PLC0415  an import can be interrupted, too

        interrupts.put_off_in_libraries()
        try:
            from delaylab.cli import main as run  # noqa: PLC0415  as above

            run()
        finally:
            interrupts.forget()
    except KeyboardInterrupt:
        sys.stderr.write("delaylab: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
