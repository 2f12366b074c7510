"""A lab over machines, of which something ends or is cut off at any moment of its life.

Each round draws a verb, what fails meanwhile, and when. The verb ends, in time and with one line at
most; `ps` says what there is; `down` leaves nothing on any machine; no finished trial is lost.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import product

import pytest

from delaylab_study.dataset import store
from tests.command import without_progress
from tests.doing.conftest import only_line
from tests.doing.machines.ssh_machines import LAB, NEEDED, Lan, machines, two
from tests.doing.machines.test_ssh_kills import children, kill_sessions
from tests.waiting import wait_until

__all__ = ["machines", "two"]
pytestmark = NEEDED

SEED = 39
ROUNDS = int(os.environ.get("DELAYLAB_KILLS", "50"))
ENDS_S = 90.0
"""The longest that a verb may take to end: one that is cut off waits for 30 s, and then undoes."""

VERBS = {
    "up": ["up", "lab.yaml"],
    "trial": ["run", "study.yaml", "--out", "out"],
    "link set": ["link", "set", "pair", "wan", "delay=20ms"],
    "down": ["down", "pair"],
}
LASTS_S = {"up": 2.5, "trial": 4.0, "link set": 1.0, "down": 1.0}
"""The time in seconds within which a failure happens. It may happen after the end of the verb."""
FAILURES = ("command", "ssh", "sshd", "agent", "partition", "reboot", "power")
"""With `power` a machine is gone without a word: nobody closes its connections."""
AWAY = ("partition", "reboot", "power")
"""Failures after which a machine is away until it is put back."""

STUDY = f"""\
study: rounds
lab:
{"".join(f"  {line}" for line in LAB.splitlines(keepends=True))}
probe: {{from: a, to: b, count: 30, interval: 4ms, at_rest: 5}}
factors: {{size: {{small: {{probe.size: 64}}, large: {{probe.size: 1000}}}}}}
repeat: 2
"""


@pytest.mark.parametrize(
    ("verb", "failure"),
    [
        ("up", "agent"),
        ("trial", "sshd"),
        ("trial", "command"),
        ("link set", "reboot"),
        ("down", "ssh"),
    ],
)
def test_a_machine_that_fails_during_a_verb(two: Lan, verb: str, failure: str) -> None:
    Round(two, verb, failure, random.Random(f"{SEED} {verb} {failure}")).play()


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_a_failure_at_any_moment_of_any_verb(two: Lan) -> None:
    choose = random.Random(SEED)
    every = list(product(VERBS, FAILURES))
    for number in range(ROUNDS):
        if number % len(every) == 0:
            choose.shuffle(every)
        verb, failure = every[number % len(every)]
        print(f"seed {SEED}, round {number}: {failure} during {verb}")
        Round(two, verb, failure, choose, early=choose.random() < 0.5).play()


class Round:
    """One verb, during which one thing fails, and what is left of the lab then.

    With `early` the lab is taken down before a machine that is away is back, and once more then.
    """

    def __init__(
        self, two: Lan, verb: str, failure: str, choose: random.Random, *, early: bool = False
    ) -> None:
        self.two, self.verb, self.failure, self.choose = two, verb, failure, choose
        self.early = early and failure in AWAY and verb != "trial"
        self.out = two.folder / "out"
        self.ends_s = ENDS_S * two.slower
        self.code = 0
        (two.folder / "lab.yaml").write_text(LAB)
        (two.folder / "study.yaml").write_text(STUDY)

    def play(self) -> None:
        """Run the verb, let the failure happen, and check what is left before and after `down`."""
        if self.verb in ("link set", "down"):
            self.two.up(LAB)
        finished = self._verb()
        self._check_labs()
        self.two.delaylab("down", "--all")
        self.two.wait_until_gone()
        assert self.two.labs() == []
        self._check_trials(finished)

    def _verb(self) -> dict[str, bytes]:
        """Run the verb with its failure; return the trials that were finished before."""
        process = subprocess.Popen(
            self.two.command(*VERBS[self.verb]),
            cwd=self.two.folder,
            env=self.two.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            finished = self._wait_for_trial(process) if self.verb == "trial" else {}
            time.sleep(self.choose.uniform(0, LASTS_S[self.verb]))  # the moment is what is drawn
            mend = self._fail(process)
            if self.verb == "trial":
                # A study tries each of its trials, so its machine is back before it ends.
                with suppress(subprocess.TimeoutExpired):
                    process.wait(self.choose.uniform(0, 20))
                mend()
            printed, said = process.communicate(timeout=self.ends_s)
            if self.verb != "trial":
                self._take_down_early()
                mend()
        finally:
            process.kill()
        self.code = process.returncode
        self._check_end(printed, said)
        return finished

    def _take_down_early(self) -> None:
        """Take the lab down while a machine is away: what is left of it is there alone."""
        if not self.early:
            return
        missing = [each for lab in self.two.labs() for each in lab["unreachable"].items()]
        assert all(name == "m2" or "taken down" in why for name, why in missing), missing
        command = self.two.command("down", "--all")
        done = subprocess.run(
            command,
            cwd=self.two.folder,
            env=self.two.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=self.ends_s,
        )
        assert "Traceback" not in done.stderr, done.stderr
        if done.returncode:
            assert "m2" in only_line(done.stderr), done.stderr
        self.two.wait_until_gone("m1")

    def _wait_for_trial(self, process: subprocess.Popen[str]) -> dict[str, bytes]:
        """Return the trials that are finished, once there is one."""

        def finished() -> bool:
            assert process.poll() is None, process.communicate()
            return bool(self._trials())

        wait_until(finished, self.ends_s)
        return self._trials()

    def _trials(self) -> dict[str, bytes]:
        found = self.out.glob("trials/[!.]*/trial.json")
        return {path.parent.name: path.read_bytes() for path in found}

    def _fail(self, process: subprocess.Popen[str]) -> Callable[[], None]:
        """Let the failure happen; return what puts the machine back once the verb has ended."""
        if self.failure == "command":
            process.kill()
        elif self.failure == "ssh":
            for pid in children(process.pid, "ssh")[-1:]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        elif self.failure == "sshd":
            kill_sessions(self.two, "m2")
        elif self.failure == "agent":
            self._kill_agent()
        elif self.failure == "partition":
            self.two.cut("m2")
            return lambda: self.two.cut("m2", off=False)
        else:
            self.two.switch_off("m2", power=self.failure == "power")
            return lambda: self.two.switch_on("m2")
        return lambda: None

    def _kill_agent(self) -> None:
        """Kill a keeper, an agent or an engine on m2, if there is one."""
        found = self.two.on("m2", "pgrep", "-f", "delaylab").split()
        if found:
            self.two.on("m2", "kill", "-9", self.choose.choice(found))

    def _check_end(self, printed: str, said: str) -> None:
        """Check that a verb that failed has said so in one line, or a study in its report."""
        assert "Traceback" not in said, said
        if self.code in (0, -signal.SIGKILL):
            return
        if self.verb == "trial" and not without_progress(said).strip():
            assert "failed" in printed, printed
        else:
            assert only_line(said).startswith("delaylab: "), said

    def _check_labs(self) -> None:
        """Check that `ps` describes what there is, and that a successful verb has done its work."""
        assert "Traceback" not in self.two.delaylab("ps").stdout
        names = [lab["lab"] for lab in self.two.labs()]
        if self.early:
            # Taken down but on a machine that was away: `ps` may not know yet that it ended there.
            assert set(names) <= {"pair"}
        elif self.code == 0 and self.verb == "down":
            assert names == []
        elif self.code == 0 and self.verb in ("up", "link set"):
            assert names == ["pair"]

    def _check_trials(self, finished: dict[str, bytes]) -> None:
        """Check that every trial that was finished before the failure is whole, and can be read."""
        if self.verb != "trial":
            return
        now = self._trials()
        assert {name: now.get(name) for name in finished} == finished
        kept = store.read_study(self.out).trials
        assert {trial.status for trial in kept} <= {"ok", "failed"}
        assert len(kept) >= len(finished)
        shutil.rmtree(self.out)
