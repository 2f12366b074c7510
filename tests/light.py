"""The command line in a light install: no package of the extra `study` can be imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

WITHOUT = """
import sys
from delaylab.extras import PACKAGES

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in PACKAGES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refused())
"""
VERB = f"{WITHOUT}from delaylab.__main__ import main; main()"
SMALL = """\
lab: small
nodes: {a: {}, b: {}}
links:
  - {between: [a, b], name: wan, delay: 1ms, loss: 1%}
"""


def light(folder: Path, *argv: str, code: int = 0) -> str:
    """Run a verb in a folder; return what it printed, of one that must fail its complaint."""
    return python(folder, VERB, *argv, code=code)


def python(folder: Path, program: str, *argv: str, code: int = 0) -> str:
    """Run a program in a folder, as `light` runs a verb."""
    command = [sys.executable, "-c", program, *argv]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert ran.returncode == code, ran.stderr
    return ran.stderr if code else ran.stdout
