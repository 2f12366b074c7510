"""Entry point of the command `delaylab`, and of `python -m delaylab`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. Ctrl-C ends it with one line, also while it is being imported."""
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
