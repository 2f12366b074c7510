"""A program that reads tables of trials, for `intact`: it may crash, which then harms nothing.

It prints a line of JSON for each file given: the reason why it cannot be read, or "".
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from delaylab.api.errors import BadInput
from delaylab_study.dataset.records.table_checks import read_table


def main() -> None:
    """Read the files that the command line names, in their order."""
    for name in sys.argv[1:]:
        place = Path(name)
        why = ""
        try:
            read_table(place, place.stem)
        except BadInput as error:
            why = error.what
        print(json.dumps(why), flush=True)


if __name__ == "__main__":
    main()
