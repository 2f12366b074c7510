"""Networks whose right tables nobody knows: `up` and `converge` wait until they are quiet."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab.lab.attach import attach
from tests.doing.conftest import Run, as_json, only_line
from tests.doing.routing.observed import everywhere

pytestmark = pytest.mark.root
QUIET = "quiet:1500ms"
OWN = """
lab: own
routing: {expect: "quiet:1500ms"}
nodes:
  r:
    forwards: true
    count: 3
    packages: [bird2]
    files:
      /etc/bird/mine.conf:
        content: |
          protocol device {}
          protocol kernel { ipv4 { export where source != RTS_DEVICE; }; merge paths on; }
          protocol ospf v2 {
            area 0 {
              interface "a", "b", "c" { hello 1; dead 3; retransmit 2; type ptp; };
              interface "lo" { stub; };
            };
          }
    start:
      - {run: "mkdir -p /run/bird; exec bird -f -c /etc/bird/mine.conf -s /run/bird/x", name: mine}
links:
  - {between: [r-1, r-2], name: a, state: up}
  - {between: [r-2, r-3], name: b, state: up}
  - {between: [r-3, r-1], name: c, state: up}
"""


def test_daemons_of_ones_own_are_measured_until_they_are_quiet(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    """No table is known to be right: event, detection, changes and black holes need none."""
    (tmp_path / "own.yaml").write_text(OWN)
    up = delaylab("up", "own.yaml")
    assert "have been quiet for 1.5 s" in up.stdout
    assert "its routers run daemons of their own" in up.stdout
    lab = attach("own")
    tables = everywhere(lab)
    far = f"{lab.plan.nodes['r-3'].loopback(4)}/32"
    assert {hop.device for hop in tables["r-1"][far]} == {"c"}, "it was waited for"
    down, silent = as_json(
        delaylab("converge", "own", "--down", "c", "--silence", "b", "--until", QUIET, "--json")
    )
    assert down["until"] == {"rule": "quiet", "quiet_s": 1.5}
    assert down["converged_s"] == down["last_change_s"] > 0
    assert (down["right_s"], silent["right_s"]) == (None, None)
    assert {each["destination"] for each in down["black_holes"]} >= {far.partition("/")[0]}
    assert silent["until"] == down["until"]
    shown = delaylab("converge", "own", "--up", "b", "--up", "c").stdout
    assert "all tables right     not known: its routers run daemons of their own" in shown
    assert ", until quiet for 1.5 s" in shown
    refused = delaylab("converge", "own", "--down", "a", "--until", "right", code=2)
    assert "are not known: its routers run daemons of their own (take `--until quiet" in (
        refused.stderr
    )
    wrong = delaylab("converge", "own", "--until", "quiet:0s", code=2)
    assert wrong.stderr.strip() == (
        "delaylab: --until is `right`, `quiet` or `quiet:5s`, got 'quiet:0s'"
    )
    assert "all forwarding tables are quiet for 1.5 s" in delaylab("converge", "own").stdout
    delaylab("down", "own")


def test_a_lab_without_routing_is_watched_only_if_it_is_asked_for(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    text = OWN.replace('routing: {expect: "quiet:1500ms"}', "routes: none")
    (tmp_path / "own.yaml").write_text(text)
    delaylab("up", "own.yaml")
    refused = delaylab("converge", "own", "--down", "a", code=2)
    assert "lab 'own' has no `routing`" in refused.stderr
    assert "watch daemons of your own with `--until quiet:5s`" in refused.stderr
    (down,) = as_json(delaylab("converge", "own", "--down", "a", "--until", "quiet:4s", "--json"))
    assert down["converged_s"] is not None
    assert down["changes"] > 0
    delaylab("down", "own")


ZEBRA = """
lab: bare
routing: {expect: quiet}
nodes:
  r: {forwards: true, count: 2, start: [{run: [/usr/lib/frr/zebra, -u, frr, -g, frr]READY}]}
links: [{between: [r-1, r-2], name: a}]
"""


@pytest.mark.parametrize("ready", ["", ", ready: {file: /run/frr/zserv.api}"])
def test_up_says_which_capability_a_daemon_of_ones_own_lacks(
    delaylab: Run, tmp_path: Path, run_directory: Path, ready: str
) -> None:
    """FRR's zebra names what it wants and what it has, in two lines of which neither helps alone.

    With `ready` it fails while it starts, without while `up` waits for its routes.
    """
    (tmp_path / "bare.yaml").write_text(ZEBRA.replace("READY", ready))
    line = only_line(delaylab("up", "bare.yaml", code=1).stderr)
    assert ": it needs the capability sys_admin (give the node `capabilities: [sys_admin]`)" in line
    assert "node r-" in line
    assert "zebra" in line
    assert as_json(delaylab("ps", "--json")) == {"labs": []}
