"""Links with conditions in running labs: asked, shown, changed, killed, brought back."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from delaylab.errors import DelaylabError
from delaylab.lab.attach import attach
from delaylab.lab.links import link_changes, link_engines
from delaylab.machines import LOCAL
from delaylab.plan.conditions.engine_links import Change
from delaylab.resolve.load import lab_from
from delaylab.spec.conditions.directions import conditions_of as asked_of
from delaylab.spec.conditions.engine import Conditions, made_of
from delaylab.spec.conditions.profiles import profiles
from delaylab.spec.source import parse
from tests.doing.conftest import Run, Up, as_json
from tests.plain import plain
from tests.waiting import wait_until

pytestmark = pytest.mark.root
BAD_INPUT, FAILED = 2, 1
ONE_HOST = """\
lab: short
nodes: {a: {}, b: {}}
links:
  - {between: [a, b], name: wan, delay: 5ms, from: {b: {loss: 1%}}}
  - {between: [b, a], name: lan}
"""
TWO_HOSTS = """\
lab: long
hosts: {left: {}, right: {}}
nodes:
  a: {host: left}
  own: {kind: native, host: left}
  b: {host: right}
  far: {kind: native, host: right}
links:
  - {join: [a, own, b, far], name: wan, delay: 5ms, from: {b: {delay: 1ms}, far: {delay: 1ms}}}
"""


def rtt_ms(delaylab: Run, node: str, address: str) -> float:
    """Return the least of some pings, which is the one that a busy machine held up least."""
    argv = ("ping", "-c", "20", "-i", "0.05", address)
    output = delaylab("exec", node, "--", *argv).stdout
    return min(float(text) for text in re.findall(r"time=([\d.]+) ms", output))


def asked(delaylab: Run, name: str) -> dict[str, dict[str, Any]]:
    """Node -> what is asked of what it sends on the link `wan`."""
    shown = as_json(delaylab("link", "show", name, "wan", "--json"))
    ways = [way for engine in shown["engines"] for way in engine["directions"] if way["node"]]
    return {way["node"]: way["asked"] for way in ways}


def delayed(ns: int) -> Conditions:
    """A delay, unchecked: the engine checks it, too."""
    return made_of(Conditions, {"delay_ns": ns})


def kill_engine(name: str, agent: str) -> None:
    """Kill a lab's engine, having made sure that it is one."""
    attached = attach(name)
    (report,) = (r for r in link_engines.reports(attached) if r.agent == agent)
    assert report.pid is not None
    process = os.pidfd_open(report.pid)
    assert f"{agent} engine" in Path(f"/proc/{report.pid}/cmdline").read_text()
    signal.pidfd_send_signal(process, signal.SIGKILL)
    os.close(process)


@pytest.mark.parametrize("node", ["a", "own"])
def test_a_sender_is_held_at_its_own_interface_until_it_is_not(
    delaylab: Run, up: Up, node: str
) -> None:
    name = up(TWO_HOSTS.replace("delay: 5ms", "rate: 10Mbit, queue: sender", 1))

    def rate() -> str:
        output = delaylab("exec", node, "--", "tc", "qdisc", "show", "dev", "wan").stdout
        return " ".join(re.findall(r"tbf d1a7: root .* rate (\S+)", output))

    assert rate() == "10Mbit"
    delaylab("link", "set", name, "wan", "rate=4Mbit", "--node", node)
    assert rate() == "4Mbit"
    assert "queue=sender" in delaylab("link", "show", name, "wan").stdout
    delaylab("link", "set", name, "wan", "queue=100", "--node", node)
    assert rate() == "1Tbit"
    assert asked(delaylab, name)[node]["queue"] == {"packets": 100}


def test_a_delay_is_one_way_in_each_direction(delaylab: Run, up: Up) -> None:
    up(ONE_HOST)
    assert 10 <= rtt_ms(delaylab, "a", "b.wan") < 12


def test_the_engine_warms_up_by_a_router_of_its_own_and_counts_none_of_that(
    delaylab: Run, up: Up
) -> None:
    """One comes before a frame that comes alone. The router sends back each packet that it gets."""
    name = up(TWO_HOSTS)

    def warm_ups() -> tuple[int, int]:
        table = delaylab("exec", "own", "--", "cat", "/proc/net/dev").stdout
        (line,) = (each for each in table.splitlines() if each.strip().startswith("warm~1:"))
        received, sent = (int(line.split()[column]) for column in (2, 10))
        return received, sent

    rtt_ms(delaylab, "a", "b.wan")
    received, sent = warm_ups()
    shown = as_json(delaylab("link", "show", name, "--json"))
    (left,) = (engine for engine in shown["engines"] if engine["host"] == "left")
    assert left["realtime"]
    assert left["unknown_port"] == 0
    frames = sum(way["in"]["frames"] for way in left["directions"])
    assert frames >= 20
    assert 1 <= sent <= frames
    assert received == sent


def test_neighbours_are_found_over_a_link_of_seconds(delaylab: Run, up: Up) -> None:
    """The kernel alone asks for 3 s, and then says that there is no route."""
    text = "lab: far\nip: [4, 6]\nnodes: {a: {}, b: {}, c: {}}\nlinks:\n"
    text += "- {between: [a, b], name: w, delay: 1600ms}\n"
    up(text + "- {between: [a, c], name: set, delay: 0s}\n")
    delaylab("link", "set", "far", "set", "delay=1600ms")

    # Side by side in the node: each waits for a neighbour's answer and a reply, 3.2 s each.
    pings = [
        f"ping {version} -c 2 -i 0.1 -W 9 {node} &" for version in ("-4", "-6") for node in "bc"
    ]
    said = delaylab("exec", "a", "--", "sh", "-c", " ".join([*pings, "wait"])).stdout
    assert said.count("2 received, 0% packet loss") == len(pings), said


def test_a_shared_link_over_two_hosts(delaylab: Run, up: Up) -> None:
    up(TWO_HOSTS)
    assert 10 <= rtt_ms(delaylab, "a", "own.wan") < 12, "a node in its host's own stack"
    assert 6 <= rtt_ms(delaylab, "a", "b") < 8
    assert 6 <= rtt_ms(delaylab, "own", "far") < 8, "two such nodes"
    assert 2 <= rtt_ms(delaylab, "b", "far") < 4


def test_a_change_is_of_what_it_names_only(delaylab: Run, up: Up) -> None:
    name = up(TWO_HOSTS)
    delaylab("link", "set", name, "wan", "loss=0.5%", "rate={limit: 10Mbit, overhead: 0}")
    before = asked(delaylab, name)
    assert all(way.keys() == {"delay_ns", "loss", "rate"} for way in before.values())
    delaylab("link", "set", name, "wan", "delay=20ms", "loss=none", "rate=5Mbit", "--node", "a")
    after = asked(delaylab, name)
    changed = {"delay_ns": 20_000_000, "rate": {"bps": 5_000_000, "overhead_bytes": 0}}
    assert after.pop("a") == changed
    assert after == {node: way for node, way in before.items() if node != "a"}
    assert 21 <= rtt_ms(delaylab, "a", "b") < 24


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("short", "wan", "delay=-5ms"), "is not negative: '-5ms'"),
        (("short", "wan", "loss=140%"), "a share is at most 100%, not 140%"),
        (("short", "wan", "rate=0"), "a rate of 0 lets nothing pass"),
        (("short", "wan", "profile=dsll"), "no profile 'dsll'; did you mean 'dsl'?"),
        (("short", "wan", "dealy=5ms"), "unknown field 'dealy'; did you mean 'delay'?"),
        (("short", "wan", "delay"), "'delay' is not a condition"),
        (("short", "wan", "delay=1ms", "delay=2ms"), "'delay' is there twice"),
        (("short", "wan", "trace=gone.csv"), "no such file"),
        (("short", "wan", "trace=bad.csv"), "bad.csv:3: expected a rate such as 100Mbit"),
        (("short", "wan", "queue=10"), "`queue` needs a `rate`"),
        (("short", "wan", "delay=1ms", "--node", "c"), "'c' is not on link 'wan' (members: a, b)"),
        (("short", "lan", "delay=1ms"), "link 'lan' has no conditions: the kernel carries it"),
        (("short", "man", "delay=1ms"), "no link 'man' (with conditions: wan)"),
        (("long", "wan", "delay=1ms"), "no lab 'long' is up"),
    ],
)
def test_a_change_that_cannot_be_is_one_line_and_none(
    delaylab: Run, shared_up: Up, tmp_path: Path, argv: tuple[str, ...], says: str
) -> None:
    (tmp_path / "bad.csv").write_text("seconds,rate\n0,1Mbit\n1,fast\n")
    shared_up(ONE_HOST)
    before = asked(delaylab, "short")
    said = delaylab("link", "set", *argv, code=BAD_INPUT).stderr.strip()
    assert says in said
    assert "\n" not in said
    assert asked(delaylab, "short") == before


def test_a_trace_comes_from_a_file_and_a_rate_ends_it(
    delaylab: Run, up: Up, tmp_path: Path
) -> None:
    (tmp_path / "steps.csv").write_text("seconds,rate\n0,1Mbit\n1,2Mbit\n")
    name = up(ONE_HOST)
    delaylab("link", "set", name, "wan", "trace=steps.csv", "--node", "a")
    assert asked(delaylab, name)["a"]["trace"]["points"] == [[0, 10**6], [10**9, 2 * 10**6]]
    delaylab("link", "set", name, "wan", "rate=3Mbit")
    assert asked(delaylab, name)["a"] == {"delay_ns": 5_000_000, "rate": {"bps": 3_000_000}}


def test_an_engine_that_is_killed_takes_its_links_down_and_up_brings_them_back(
    delaylab: Run, up: Up
) -> None:
    name = up(TWO_HOSTS)
    state = ("exec", "a", "--", "ip", "link", "show", "wan")
    assert "NO-CARRIER" not in delaylab(*state).stdout
    kill_engine(name, "link.left")
    wait_until(lambda: "NO-CARRIER" in delaylab(*state).stdout)
    (known,) = as_json(delaylab("ps", "--json"))["labs"]
    states = {each["host"]: each["state"] for each in known["engines"]}
    assert states == {"left": "down", "right": "running"}
    assert "links of left are down: its engine was killed by signal 9" in delaylab("ps").stdout
    down, running = as_json(delaylab("link", "show", "--json"))["engines"]
    assert set(down) == {"host", "agent", "engine", "state", "why", "directions"}
    assert set(down) < set(running), "an engine that is down has no counts"
    delaylab("up", "lab.yaml")
    assert "NO-CARRIER" not in delaylab(*state).stdout
    assert 6 <= rtt_ms(delaylab, "a", "b") < 8
    assert "nothing was changed" in delaylab("up", "lab.yaml").stdout


def test_all_hosts_change_or_none(delaylab: Run, up: Up) -> None:
    name = up(TWO_HOSTS)
    before = asked(delaylab, name)
    kill_engine(name, "link.right")
    wait_until(lambda: engine_state(name, "link.right") == "down")
    said = delaylab("link", "set", name, "wan", "delay=9ms", code=FAILED).stderr
    assert "the link engine of host 'right' is down" in said
    assert asked(delaylab, name) == before


def test_a_host_that_refuses_undoes_what_others_did(up: Up, delaylab: Run) -> None:
    """What this side lets pass and one of the engines refuses."""
    name = up(TWO_HOSTS)
    before = asked(delaylab, name)
    attached = attach(name)
    there = {
        "link.left": [Change("wan", "a", delayed(9))],
        "link.right": [Change("wan", "b", delayed(-9))],
    }
    back = {"link.left": [Change("wan", "a", delayed(5_000_000))]}
    with pytest.raises(DelaylabError, match="nothing is changed"):
        link_changes._send(attached, there, back)
    assert asked(delaylab, name) == before


def test_a_timeline_changes_links_as_it_says(delaylab: Run, up: Up) -> None:
    timeline = "timeline: [{at: 100ms, link: wan, node: a, set: {delay: 30ms}}]\n"
    name = up(ONE_HOST + timeline)
    wait_until(lambda: asked(delaylab, name)["a"]["delay_ns"] == 30_000_000)
    assert asked(delaylab, name)["b"]["delay_ns"] == 5_000_000


def engine_state(name: str, agent: str) -> str:
    (report,) = (r for r in link_engines.reports(attach(name)) if r.agent == agent)
    return report.state


def test_what_show_prints(delaylab: Run, up: Up) -> None:
    name = up(ONE_HOST)
    rtt_ms(delaylab, "a", "b.wan")
    (engine,) = as_json(delaylab("link", "show", name, "--json"))["engines"]
    ways = {way["node"]: way for way in engine["directions"]}
    assert ways["a"]["in"]["frames"] >= 8
    assert ways["a"]["in"]["frames"] == ways["a"]["out"]["frames"]
    text = delaylab("link", "show").stdout
    assert "delay=5ms loss=1%" in text
    assert "lan" not in text
    assert "no link 'lan'" in delaylab("link", "show", name, "lan", code=BAD_INPUT).stderr


def test_nothing_is_left_of_a_lab_with_engines(delaylab: Run, up: Up, run_directory: Path) -> None:
    name = up(TWO_HOSTS)
    pids = [report.pid for report in link_engines.reports(attach(name))]
    assert all(Path(f"/proc/{pid}").exists() for pid in pids)
    delaylab("down", name)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert LOCAL.labs() == []
    assert list(run_directory.iterdir()) == []


FORMS = """\
delay: 0s
delay: 1h
jitter: {spread: 1ms, distribution: paretonormal, correlation: 99.9%}
jitter: {spread: 1ms, distribution: {table: [-1, 0.5]}}
loss: {share: 0.0000001%, correlation: 25%}
loss: {gilbert-elliott: {to_bad: 1%, to_good: 20%, lost_in_bad: 50%, lost_in_good: 0.1%}}
loss: {pattern: {runs: [95, 5, 0, 1]}}
{duplicate: 1%, corrupt: 100%}
{delay: 1ms, reorder: {share: 10%, correlation: 5%, gap: 3}}
rate: 1bit
rate: {limit: 1Tbit, overhead: 65536B, minimum: 0}
{rate: 1Mbit, queue: 1}
{rate: 1Mbit, queue: 150kB}
{rate: 1Mbit, queue: {discipline: codel, target: 1ms, interval: 20ms}}
{rate: 1Mbit, queue: {bytes: 90kB, discipline: red, min: 30kB, max: 60kB, probability: 2%}}
trace: {kind: rate, points: [[0, 0], [1000, 1000000]], period_ns: 2000}
trace: {kind: delay, points: [[0, 5]]}
trace: {kind: opportunities, at_ns: [0, 0, 70], period_ns: 70}
"""


def test_the_engine_takes_every_form_that_a_file_may_have(delaylab: Run, up: Up) -> None:
    forms = [*(yaml.safe_load(line) for line in FORMS.splitlines())]
    forms += [{"profile": name} for name in profiles()]
    links = [{"between": ["a", "b"], "name": f"l{i}", **form} for i, form in enumerate(forms)]
    text = yaml.safe_dump({"lab": "all", "nodes": {"a": {}, "b": {}}, "links": links})
    up(text)
    (engine,) = as_json(delaylab("link", "show", "all", "--json"))["engines"]
    there = {(way["link"], way["node"]): way["asked"] for way in engine["directions"]}
    for link in lab_from(parse(text, "lab.yaml")).written.links:
        for node in "ab":
            assert there[link.name or "", node] == plain(asked_of(link, node).message())
    assert "not held" not in delaylab("link", "show", "all").stdout


def test_an_ordinary_user_has_links_with_conditions(nobody: Run, tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(ONE_HOST)
    nobody("up", str(tmp_path / "lab.yaml"))
    nobody("link", "set", "short", "wan", "delay=7ms")
    assert 14 <= rtt_ms(nobody, "a", "b.wan") < 20
    nobody("down", "short")


def test_many_links_with_conditions_need_no_more_than_few(delaylab: Run, tmp_path: Path) -> None:
    """A program or a socket for each port would take some 10 ms each, when it starts and ends."""

    def needed(links: int) -> tuple[int, int, int]:
        """Return the lab's processes, and the engine's threads and open files."""
        lines = [f"  - {{between: [a, b], name: l{n}, delay: 1ms}}" for n in range(links)]
        file = tmp_path / "many.yaml"
        file.write_text("\n".join(["lab: many", "nodes: {a: {}, b: {}}", "links:", *lines, ""]))
        delaylab("up", str(file))
        (engine,) = as_json(delaylab("link", "show", "--json"))["engines"]
        pid = engine["pid"]
        keeper = parent(parent(parent(pid)))
        found = len(below(keeper)), count(pid, "task"), count(pid, "fd")
        delaylab("down", "many")
        return found

    assert needed(100) == needed(2)


def parent(pid: int) -> int:
    """Return the parent of a process (proc_pid_stat(5))."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def below(pid: int) -> list[int]:
    """Return all processes below one."""
    children = [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]
    return [*children, *(one for child in children for one in below(child))]


def count(pid: int, what: str) -> int:
    """Return the number of a process's threads (`task`) or open files (`fd`)."""
    return len(list(Path(f"/proc/{pid}/{what}").iterdir()))


def test_what_changed_during_the_count_is_not_judged(delaylab: Run, up: Up) -> None:
    """Also if it was changed back, and until the counts begin anew."""
    name = up(ONE_HOST.replace("from: {b: {loss: 1%}}", "loss: 0%"))

    def lost(count: str) -> dict[str, Any]:
        delaylab("exec", "a", "--", "sh", "-c", f"ping -q -c {count} -i 0.01 -W 1 b.wan || true")
        (engine,) = as_json(delaylab("link", "show", name, "wan", "--json"))["engines"]
        return {way["node"]: way for way in engine["directions"]}

    lost("1")  # a knows its neighbour then: ping waits for 12 s where nobody answers ARP
    for loss in ("loss=100%", "loss=0%"):
        delaylab("link", "set", name, "wan", loss, "--node", "b")
        ways = lost("30")
        assert not [why for why in ways["b"]["why_not"] if "loss" in why], ways["b"]
    assert (ways["b"]["requests"], ways["a"]["requests"]) == (2, 0)
    assert ways["b"]["dropped"]["loss"] > 0
    assert ways["b"]["asked_first"] == ways["b"]["asked"], "changed and changed back"
    shown = delaylab("link", "show", name).stdout
    assert "wan from b: its conditions changed; loss is not judged" in shown
    delaylab("link", "show", name, "--reset")
    assert "asked_first" not in lost("1")["b"]
