"""Files of nodes, and programs that run as long as their nodes, on every kind."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from delaylab.errors import BadInput, DelaylabError
from delaylab.kinds import KINDS as KINDS_OF_NODES
from delaylab.lab.programs.programs import output, states
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.plan.build import build
from delaylab.plan.kind import Rights
from delaylab.resolve.lab import Lab
from delaylab.resolve.resolve import lab_from_data
from delaylab.verbs.execute import captured
from tests.doing.conftest import (
    DELAYLAB,
    Run,
    Up,
    as_json,
    left_to_slow,
    only_line,
    our_processes,
    skip_unless_runnable,
)
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.root
SERVER = ["python3", "-m", "http.server", "8080"]


def lab(*, node: dict[str, Any], **more: Any) -> Lab:
    """A node with a neighbour, on a host of the lab."""
    nodes = {"one": node, "other": {}}
    links = [{"between": ["one", "other"], "name": "lan"}]
    given = {"lab": "programs", "hosts": {"sut": {}}, "nodes": nodes, "links": links}
    return lab_from_data(given | more)


def inside(running: LiveLab, node: str, *argv: str) -> str:
    code, out, err = captured(running, node, argv)
    assert code == 0, err
    return out.decode().strip()


KINDS = ["netns", "native", "shared", "lxc", "uml", *left_to_slow("docker", "qemu")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_node_has_its_files_and_programs(kind: str) -> None:
    skip_unless_runnable(kind)
    node = {
        "kind": kind,
        "files": {
            "/etc/delaylab-test/greeting": "hello\n",
            "/etc/delaylab-test/secret": {"content": "x", "mode": "600", "owner": "nobody:root"},
        },
        "env": {"WHO": "world"},
        "start": [
            {
                "run": "cat /etc/delaylab-test/greeting; exit 0",
                "name": "once",
                "ready": {"ends": True},
            },
            {
                "run": 'echo begins; sleep 0.1; echo "$WHO is $UP"; exec sleep 1000',
                "name": "long",
                "env": {"UP": "up"},
                "ready": {"prints": "world is up"},
            },
        ],
    }
    with temporary(lab(node=node)) as running:
        assert output(running, "one", "once") == b"hello\n"
        # It is ready only with the second line.
        assert output(running, "one", "long") == b"begins\nworld is up\n"
        once, long = sorted(states(running)["one"], key=lambda each: each.name != "once")
        assert (once.how, once.is_dead, long.how, long.is_dead) == ("done", False, "running", False)
        mode = inside(running, "one", "stat", "-c", "%a %U %G", "/etc/delaylab-test/secret")
        assert mode == "600 nobody root"
        assert inside(running, "one", "sh", "-c", "echo $WHO") == "world"
        # The lab's names are still known, and nobody else sees the files.
        assert "other" in inside(running, "one", "cat", "/etc/hosts")
        assert captured(running, "other", ["test", "-e", "/etc/delaylab-test"])[0] == 1
        assert not Path("/etc/delaylab-test").exists()
        inside(running, "one", "kill", "-9", str(long.pid))
        wait_until(lambda: any(each.is_dead for each in states(running)["one"]))
        (dead,) = [each for each in states(running)["one"] if each.is_dead]
        assert (dead.name, dead.how) == ("long", "ended by signal 9")


def test_ready_means_that_its_sign_is_there(tmp_path: Path) -> None:
    mark = "/tmp/delaylab-mark"
    udp = "import socket,time; s=socket.socket(2, 2); s.bind(('', 5353)); time.sleep(1000)"
    node = {
        "start": [
            {"run": SERVER, "name": "web", "ready": {"tcp": 8080}},
            {"run": ["python3", "-c", udp], "name": "udp", "ready": {"udp": 5353}},
            {
                "run": f"sleep 0.2; touch {mark}; exec sleep 1000",
                "name": "f",
                "ready": {"file": mark},
            },
            {
                "run": "exec sleep 1000",
                "name": "asked",
                "ready": {"command": ["test", "-e", mark]},
            },
        ]
    }
    with temporary(lab(node=node)) as running:
        fetched = inside(
            running,
            "one",
            "python3",
            "-c",
            "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8080/').status)",
        )
        assert fetched == "200"
        assert [each.how for each in states(running)["one"]] == ["running"] * 4
        # The program before `asked` made it late, and `asked` waited for that program.
        inside(running, "one", "test", "-e", mark)
        assert not Path(mark).exists(), "/tmp of the node is its own"


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (
            {"run": "echo it is broken; exit 3"},
            "start echo: it ended with exit code 3 before it was ready: it is broken",
        ),
        (
            {"run": "echo waits; exec sleep 1000", "timeout": "300ms"},
            "it was not ready within 300ms (no listening socket at TCP port 9): waits",
        ),
        ({"run": ["no-such-program"]}, "run no-such-program: No such file"),
    ],
)
def test_a_program_that_is_not_ready_ends_up_with_one_line(
    delaylab: Run, tmp_path: Path, run_directory: Path, program: dict[str, Any], says: str
) -> None:
    spec = {
        "lab": "broken",
        "hosts": {"sut": {}},
        "nodes": {"one": {"start": [{"ready": {"tcp": 9}} | program]}},
    }
    file = tmp_path / "lab.yaml"
    file.write_text(yaml.safe_dump(spec))
    line = only_line(delaylab("up", str(file), code=1).stderr)
    assert "node one" in line
    assert says in line
    assert our_processes(str(run_directory)) == []
    assert [*run_directory.iterdir()] == []
    assert as_json(delaylab("ps", "--json")) == {"labs": []}


def in_terminal(folder: Path, *argv: str) -> str:
    """Run the command line with its output on a terminal; return what the terminal got."""
    ours, theirs = pty.openpty()
    subprocess.run([DELAYLAB, *argv], cwd=folder, stdout=theirs, check=True, timeout=PATIENCE_S)
    os.close(theirs)
    try:
        return os.read(ours, 1 << 16).decode()
    finally:
        os.close(ours)


def test_ps_shows_a_dead_program_and_logs_its_last_words(delaylab: Run, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("last\x1b[2J words\n")
    spec = {
        "lab": "watched",
        "hosts": {"sut": {}},
        "nodes": {
            "one": {
                "files": {"/etc/words": {"from": "words.txt"}},
                "start": [{"run": "cat /etc/words; sleep 0.2; exit 7", "name": "speaker"}],
            }
        },
    }
    file = tmp_path / "lab.yaml"
    file.write_text(yaml.safe_dump(spec))
    planned = delaylab("plan", str(file)).stdout
    assert "write    one: /etc/words" in planned
    assert "start    one: speaker" in planned
    delaylab("up", str(file))

    def programs() -> list[dict[str, Any]]:
        (known,) = as_json(delaylab("ps", "--json"))["labs"]
        found: list[dict[str, Any]] = known["nodes"][0]["programs"]
        return found

    wait_until(lambda: programs()[0]["dead"])
    assert programs()[0]["state"] == "ended with exit code 7"
    shown = delaylab("ps").stdout
    assert "program speaker of one" in shown
    assert "delaylab logs one speaker" in shown
    assert delaylab("logs", "one").stdout == "last\x1b[2J words\n"
    # Nothing of a node controls the user's terminal.
    assert in_terminal(tmp_path, "logs", "one") == "last\\x1b[2J words\r\n"
    assert "has no program 'x'" in only_line(delaylab("logs", "one", "x", code=2).stderr)
    delaylab("down", "watched")


def test_the_kept_output_of_a_flood_is_its_end() -> None:
    line = "line $i of a flood that fills more than two files"
    flood = f'i=0; while [ $i -lt 60000 ]; do echo "{line}"; i=$((i+1)); done; exit 0'
    node = {"start": [{"run": flood, "name": "flood", "ready": {"ends": True}}]}
    with temporary(lab(node=node)) as running:
        kept = output(running, "one", "flood")
    assert 1 << 20 < len(kept) <= 2 << 20
    assert kept.endswith(b"line 59999 of a flood that fills more than two files\n")


def test_no_file_of_a_node_is_outside_of_it() -> None:
    """Neither by a path of the machine's own, nor by a link of the machine that leads out."""
    for path in ("/usr/x", "/root/x", "/home/x"):
        with (
            pytest.raises(BadInput, match="cannot have a file"),
            temporary(lab(node={"files": {path: "x"}})),
        ):
            pass
    for path in ("/etc/../usr/x", "etc/x", "/etc/"):
        with pytest.raises(ValueError, match="path from / on"):
            lab(node={"files": {path: "x"}})
    # A link in a folder that the machine shows to the node.
    link = Path("/etc/alternatives")
    out = next((each for each in link.iterdir() if each.is_symlink()), None)
    if out is None:
        pytest.skip("this machine has no link from /etc to /usr")
    before = out.resolve().read_bytes()
    with (
        pytest.raises(DelaylabError, match="write /etc/alternatives"),
        temporary(lab(node={"files": {str(out): "x"}})),
    ):
        pass
    assert out.resolve().read_bytes() == before


def test_names_of_programs_differ() -> None:
    with pytest.raises(ValueError, match="two programs are called 'sleep'"):
        lab(node={"start": ["sleep 1", ["sleep", "2"]]})
    named = lab(node={"start": ["sleep 1", {"run": ["sleep", "2"], "name": "other"}]})
    made = build(named, KINDS_OF_NODES, Rights(root=True))
    assert made.nodes["one"].programs == ("sleep", "other")


def test_a_killed_supervisor_takes_its_program_with_it() -> None:
    with temporary(lab(node={"start": [{"run": "exec sleep 1000", "name": "watched"}]})) as running:
        (state,) = states(running)["one"]
        above = inside(running, "one", "ps", "-o", "ppid=", "-p", str(state.pid))
        inside(running, "one", "kill", "-9", above)
        wait_until(lambda: states(running)["one"][0].is_dead)
        (state,) = states(running)["one"]
        assert state.how == "ended"


def test_without_root_too(nobody: Run, tmp_path: Path) -> None:
    spec = {
        "lab": "rootless",
        "hosts": {"sut": {}},
        "nodes": {
            "one": {
                "files": {"/etc/delaylab-test/own": "text"},
                "start": [{"run": "cat /etc/delaylab-test/own", "ready": {"ends": True}}],
            }
        },
    }
    file = tmp_path / "lab.yaml"
    file.write_text(yaml.safe_dump(spec))
    file.chmod(0o644)
    nobody("up", str(file))
    assert nobody("logs", "one").stdout == "text"
    nobody("down", "rootless")


def test_the_socket_that_a_killed_program_left_makes_none_ready(delaylab: Run, up: Up) -> None:
    """The next program starts once somebody has the socket: else it is refused, as FRR's were."""
    # A server removes what the one before it left.
    server = (
        "import os, socket, time; time.sleep(0.5); os.path.exists('/tmp/its') and "
        "os.unlink('/tmp/its'); s = socket.socket(1); s.bind('/tmp/its'); s.listen(); "
        "time.sleep(1000)"
    )
    user = "import socket; socket.socket(1).connect('/tmp/its'); print('taken')"
    text = yaml.safe_dump(
        {
            "lab": "stale",
            "nodes": {
                "one": {
                    "start": [
                        {
                            "run": ["python3", "-c", server],
                            "name": "server",
                            "ready": {"file": "/tmp/its"},
                        },
                        {"run": ["python3", "-c", user], "name": "user", "ready": {"ends": True}},
                    ]
                }
            },
        }
    )
    name = up(text)
    for _ in range(2):
        delaylab("node", "kill", name, "one")
        delaylab("node", "start", name, "one")
        assert delaylab("logs", "one", "user").stdout.endswith("taken\n")
