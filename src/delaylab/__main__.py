"""Entry point of the command `delaylab`, and of `python -m delaylab`."""

from __future__ import annotations

import gc
import sys

NEW_OBJECTS = 1_000_000
"""Number of new objects after which Python looks for unreachable cycles among them.

A large lab makes objects by the hundred thousand and hardly any cycle. `delaylab plan` of 10,000
links took 1.48 s of CPU with Python's own threshold of 700, 1.12 s with 100,000 and 1.04 s with
this one; the memory was the same.
"""


def main() -> None:
    """Run the command line. Ctrl-C ends it with one line, also while it is being imported."""
    gc.set_threshold(NEW_OBJECTS)
    try:
        from delaylab.io import environment, interrupts  # noqa: PLC0415  an import can be interrupted, too

        interrupts.put_off_in_libraries()
        environment.without_plugins()
        try:
            _prepare()
            from delaylab.cli import main as run  # noqa: PLC0415  as above

            run()
        finally:
            interrupts.forget()
    except KeyboardInterrupt:
        sys.stderr.write("delaylab: interrupted\n")
        sys.exit(130)
    finally:
        # Without this, Python would look for cycles among all objects once more before it ends: 24
        # of the 186 ms that importing the verb `ps` and ending took. The kernel frees the memory.
        gc.freeze()


def _prepare() -> None:
    """Prepare the standard streams; end with one line if there is no standard output."""
    from delaylab.errors import DelaylabError  # noqa: PLC0415  as above
    from delaylab.io.terminal import prepare_streams  # noqa: PLC0415  as above

    try:
        prepare_streams()
    except DelaylabError as error:
        sys.stderr.write(f"delaylab: {error}\n")
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
