"""The claims of dantas2015 where trials are missing or emulated."""

from __future__ import annotations

from pathlib import Path

from delaylab_study.analysis.analyse import groups
from delaylab_study.dataset.store import read_study
from delaylab_study.papers.findings import findings
from tests.analysis.papers import ABOVE, BEYOND, Delays, Levels, dataset, write
from tests.synthetic import lognormal


def as_in_the_paper(levels: Levels) -> Delays:
    base = 700.0 if levels["frequency"] == "1Hz" else 290.0
    count, above = int(levels["vms"]), 40.0
    if levels["load"] == "cpu" and levels["core"] == "shared":
        above += 300.0 * count
    if levels["load"] == "network":
        above += 60_000.0 * count
    return {BEYOND: lognormal(base, 0.05), ABOVE: lognormal(above, 0.05)}


def test_skipped_levels_leave_a_claim_open_and_say_why(tmp_path: Path) -> None:
    def no_loads(levels: Levels) -> str | None:
        return None if levels["load"] == "none" else "4 guests need 768 MiB, 512 MiB are free"

    found, kept = dataset(tmp_path, "dantas2015", as_in_the_paper, no_loads)
    assert len(kept) == 8
    assert found["faster-probing-lower-rtt"].verdict == "reproduced"
    for claim in ("cpu-load-grows-unless-reserved", "io-load-does-little", "host-nic-unmoved"):
        assert found[claim].verdict == "not testable here"
        assert "needs " in found[claim].why
        assert "512 MiB are free" in found[claim].why


def test_a_verdict_on_emulated_machines_says_so(tmp_path: Path) -> None:
    warning = {"kind": "emulated", "message": "no KVM", "remedy": ""}
    place = write(tmp_path, "dantas2015", as_in_the_paper, warnings=(warning,))
    study = read_study(place)
    found = {each.id: each for each in findings(study, list(groups(study)))}
    why = found["faster-probing-lower-rtt"].why
    assert why.startswith("needs nodes with a network card that hardware runs; here are qemu (emul")
    assert "as measured here it would be reproduced" in why
