"""Campaigns whose processes die at seeded moments: every trial is there once, and whole."""

from __future__ import annotations

import os
import random
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from delaylab.machines import LOCAL
from delaylab_study.dataset.store import finished, read_study
from delaylab_study.verbs.campaigns import Cluster as OnCluster
from delaylab_study.verbs.studies import run
from tests.doing.campaigns.cluster import STUDY, Cluster, cluster, study
from tests.doing.conftest import DELAYLAB, Run
from tests.waiting import wait_until, wait_until_gone

pytestmark = pytest.mark.root

REPEATS = 20
"""40 trials."""
SOON = {
    # A network that is gone is noticed after 11 s, not 30: what happens then is the same.
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "11s",
}
HUB, FAR = "10.77.0.1", "10.77.0.2"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def networks() -> Iterator[tuple[str, str]]:
    """Have two network namespaces with a link between them, whose end `far` may be taken down."""
    hub, apart = (f"dl-{which}{os.getpid()}" for which in ("hub", "far"))
    _ip("netns", "add", hub)
    _ip("netns", "add", apart)
    try:
        _ip("-n", hub, "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", apart)
        for name, device, address in ((hub, "near", HUB), (apart, "far", FAR)):
            _ip("-n", name, "addr", "add", f"{address}/30", "dev", device)
            _ip("-n", name, "link", "set", device, "up")
            _ip("-n", name, "link", "set", "lo", "up")
        yield hub, apart
    finally:
        _ip("netns", "del", hub)
        _ip("netns", "del", apart)


def inside(namespace: str) -> list[str]:
    return ["ip", "netns", "exec", namespace]


class Campaign:
    """A run of a study on a cluster, which is killed and resumed."""

    def __init__(self, made: Cluster, file: Path, out: Path, *options: str) -> None:
        self.made, self.out = made, out
        self._log = (made.folder / "run.log").open("w")
        self.process = self._started(str(file), "--out", str(out), *options)

    def _started(self, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.made.prefix, DELAYLAB, "run", *options, "--on", self.made.address],
            env=self.made.environment,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            text=True,
        )

    def has(self, trials: int) -> bool:
        """Return True if so many trials are on disk, or the run has ended."""
        return self.ended or len(finished(self.out)) >= trials

    def kill(self) -> None:
        """Kill the command, and resume the run."""
        self.process.kill()
        self.process.wait()
        self.process = self._started("--resume", str(self.out))

    @property
    def ended(self) -> bool:
        """Return True if the command has ended."""
        return self.process.poll() is not None

    def at_work(self) -> str:
        """Return the machine that was last said to run a trial; "" if none was."""
        said = (self.made.folder / "run.log").read_text()
        return next(reversed(re.findall(r"(\w+): trial \d+ of", said)), "")

    def end(self) -> str:
        """Wait for the end; return what was printed."""
        self.process.wait()
        self._log.close()
        return (self.made.folder / "run.log").read_text()


def deeds(seed: int) -> list[tuple[int, str]]:
    """Return the kills of a seed: the number of trials on disk at each, and what is killed."""
    draw = random.Random(seed)
    chosen = draw.sample(["lab1", "lab2", "lab3"], 2)
    moments = sorted(draw.sample(range(1, 2 * REPEATS - 8), 4))
    named = [*chosen, "network", "command"]
    draw.shuffle(named)
    return list(zip(moments, named, strict=True))


LONG = STUDY.replace("count: 20, interval: 5ms", "count: 1500, interval: 5ms")
"""The study with trials of 8 s."""


def test_a_trial_that_ends_two_machines_is_set_aside_and_names_them(tmp_path: Path) -> None:
    out = tmp_path / "data"
    with cluster(tmp_path) as made:
        made.worker("lab1")
        made.worker("lab2")
        endless = LONG.replace("count: 1500", "count: 100000")
        campaign = Campaign(made, study(tmp_path, 1, endless), out, "--only", "size=small")
        for _ in range(2):
            wait_until(lambda: campaign.at_work() in made.workers or campaign.ended)
            assert not campaign.ended, campaign.end()
            name = campaign.at_work()
            made.kill(name)
        said = campaign.end()
    wait_until_gone(LOCAL.labs)
    assert campaign.process.returncode == 1, said
    (trial,) = read_study(out).trials
    assert trial.status == "failed"
    assert trial.reason is not None
    assert "set aside: machines ended while they ran it: " in trial.reason
    assert {"lab1", "lab2"} <= set(trial.reason.replace(",", " ").replace(";", " ").split())
    assert trial.machine == name, "the record names the machine that it ran on at last"


def test_a_run_waits_for_a_machine_that_ends_the_trial_of_a_killed_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("delaylab_study.campaign.coordinator.PATIENCE_S", 1.0)
    out = tmp_path / "data"
    with cluster(tmp_path) as made:
        made.worker("lab1")
        campaign = Campaign(made, study(tmp_path, 1, LONG), out)
        wait_until(lambda: bool(LOCAL.labs()) or campaign.process.poll() is not None)
        campaign.process.kill()
        campaign.end()
        outcomes = run(out, Console(stderr=True), where=OnCluster(made.address))
    assert [each.status for each in outcomes] == ["ok", "ok"]
    assert {trial.status for trial in read_study(out).trials} == {"ok"}


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 50))]
)
def test_every_trial_is_there_once_whatever_is_killed(
    seed: int, delaylab: Run, tmp_path: Path
) -> None:
    out = tmp_path / "data"
    with (
        networks() as (hub, apart),
        cluster(tmp_path, SOON, host=HUB, prefix=inside(hub)) as made,
    ):
        for name in ("lab1", "lab2", "lab3"):
            made.worker(name)
        made.worker("lab4", prefix=inside(apart))
        campaign = Campaign(made, study(tmp_path, REPEATS), out)
        wait_until(lambda: (out / "study.json").exists() or campaign.process.poll() is not None)
        for moment, what in deeds(seed):
            wait_until(lambda at=moment: campaign.has(at))  # type: ignore[misc]
            if what == "network":
                _ip("-n", apart, "link", "set", "far", "down")
            elif what == "command":
                campaign.kill()
            else:
                made.kill(what)
        said = campaign.end()
    found = read_study(out)
    aside = set_aside(said, killed={what for _, what in deeds(seed)})
    # A resumed run does not fail by what was set aside before.
    assert campaign.process.returncode == 0 or aside, said
    assert Counter(trial.id for trial in found.trials) == Counter(found.record.planned)
    assert {trial.id for trial in found.trials if trial.status == "failed"} == aside, said
    assert {trial.status for trial in found.trials if trial.id not in aside} == {"ok"}, said
    assert not [each.name for each in (out / "trials").iterdir() if each.name.startswith(".")]
    shown = delaylab("show", str(out), "--csv", "trials").stdout
    assert shown.count(",ok,") == 2 * REPEATS - len(aside)
    wait_until_gone(LOCAL.labs)


def set_aside(said: str, killed: set[str]) -> set[str]:
    """Return the trials that were set aside; check that each ran on two machines that died."""
    found = re.findall(
        r"trial (\S+) is set aside: machines ended while they ran it: ([^;]+);", said
    )
    for _, machines in found:
        names = set(machines.split(", "))
        assert len(names) == 2
        # The network that is cut is that of `lab4`.
        assert names <= killed | {"lab4"}
    return {trial for trial, _ in found}
