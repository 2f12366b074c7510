//! The agent's server over standard input and output.

mod common;

use common::{Process, exec};
use delaylab_os::files::poll;
use delaylab_os::process::PidFd;
use delaylab_proto::Kind;
use serde_json::json;
use std::os::fd::AsFd;
use std::process::Command;
use std::time::Duration;

#[test]
fn requests_are_served_in_turn_and_unknown_ones_refused() {
    let mut agent = Process::start("serve");
    let hello = agent.client.call(&json!({"op": "hello"})).end;
    assert_eq!(hello["done"]["pid"], agent.child.id());
    assert_eq!(hello["done"]["clock"].as_str().unwrap().len(), "realtime@01234567".len());
    let unknown = agent.client.call(&json!({"op": "fly"})).end;
    assert_eq!(unknown["error"]["what"], "do `fly`");
    let field = agent.client.call(&json!({"op": "counters", "colour": 1})).end;
    assert!(field["error"]["why"].as_str().unwrap().contains("unknown field `colour`"), "{field}");
    for of_another_version in [&unknown, &field] {
        let fix = of_another_version["error"]["fix"].as_str().unwrap();
        assert!(fix.contains("different versions"), "{of_another_version}");
        assert_eq!(of_another_version["error"]["kind"], "other-version");
    }
    let counters = agent.client.call(&json!({"op": "counters"})).end;
    assert!(counters["done"]["interfaces"]["lo"]["rx_bytes"].is_u64(), "{counters}");
    assert!(counters["done"]["snmp"]["Icmp"]["OutErrors"].is_u64(), "{counters}");
    assert_eq!(agent.end(), Some(0));
}

#[test]
fn a_command_ends_with_its_code_and_all_of_its_output() {
    let mut agent = Process::start("serve");
    let answer = agent.client.call(&exec(&["sh", "-c", "seq 100000; echo no >&2; exit 3"]));
    assert_eq!(answer.end["done"]["exit"], 3);
    assert_eq!(answer.stdout().lines().count(), 100_000);
    assert_eq!(answer.output[&4], b"no\n");
    let answer = agent.client.call(&exec(&["/no/such/command"]));
    assert_eq!(answer.end["error"]["what"], "run /no/such/command");
    assert_eq!(answer.end["error"]["kind"], "not-started");
    assert_eq!(answer.end["error"]["errno"], 2);
    assert_eq!(agent.end(), Some(0));
}

#[test]
fn standard_input_reaches_a_command_that_reads_slowly() {
    let mut agent = Process::start("serve");
    agent.client.send(&json!({"op": "exec", "argv": ["wc", "-c"], "stdin": true}));
    agent.client.stdin_in_turn(&[b'x'; 1 << 20]);
    agent.client.stdin(b"");
    let answer = agent.client.finish();
    assert_eq!(answer.stdout().trim(), (1 << 20).to_string());
    assert_eq!(agent.end(), Some(0));
}

#[test]
fn input_that_a_command_does_not_read_is_not_kept() {
    let mut agent = Process::start("serve");
    agent.client.send(&json!({"op": "exec", "argv": ["sleep", "1000"], "stdin": true}));
    assert!(agent.client.event()["started"].is_u64());
    // The command's pipe takes 64 KiB; the agent keeps no more than the window beyond that.
    for _ in 0..16 {
        agent.client.stdin(&[b'x'; 16 << 10]);
    }
    let end = std::iter::from_fn(|| agent.client.frame())
        .map(|frame| serde_json::from_slice::<serde_json::Value>(&frame.payload).unwrap())
        .find(|message| message.get("event").is_none());
    let why = end.unwrap()["error"]["why"].as_str().unwrap().to_owned();
    assert!(why.contains("the command has not read"), "{why}");
    let hello = agent.client.call(&json!({"op": "hello"})).end;
    assert_eq!(hello["done"]["pid"], agent.child.id());
    assert_eq!(agent.end(), Some(0));
}

#[test]
fn input_to_a_command_that_closed_it_is_dropped() {
    let mut agent = Process::start("serve");
    let argv = ["sh", "-c", "exec <&-; echo closed; read _ </dev/tty || sleep 0.2"];
    agent.client.send(&json!({"op": "exec", "argv": argv, "stdin": true}));
    assert!(agent.client.event()["started"].is_u64());
    assert_eq!(agent.client.frame().unwrap().payload, b"closed\n");
    agent.client.stdin_in_turn(&[b'x'; 120 << 10]);
    let answer = agent.client.finish();
    assert_eq!(answer.end["done"]["exit"], 0);
    let used: u64 = answer.events.iter().filter_map(|event| event["used"].as_u64()).sum();
    assert_eq!(used, 120 << 10);
    assert_eq!(agent.end(), Some(0));
}

#[test]
fn a_client_that_reads_slowly_gets_no_more_than_it_asked_for() {
    let mut agent = Process::start("serve");
    let window = 10_000;
    let argv = ["sh", "-c", "seq 20000; echo no >&2"];
    agent.client.send(&json!({"op": "exec", "argv": argv, "window": window}));
    let (mut read, mut ahead) = (0, 0);
    let exit = loop {
        let frame = agent.client.frame().unwrap();
        if frame.kind == Kind::Message {
            let message: serde_json::Value = serde_json::from_slice(&frame.payload).unwrap();
            if message.get("done").is_some() {
                break message;
            }
            continue;
        }
        read += frame.payload.len();
        ahead += frame.payload.len();
        assert!(ahead <= window, "{ahead} bytes are under way");
        if ahead == window {
            agent.client.send(&json!({"used": ahead}));
            ahead = 0;
        }
    };
    assert_eq!(exit["done"]["exit"], 0);
    let all: usize = (1..=20000).map(|number: u32| number.to_string().len() + 1).sum();
    assert_eq!(read, all + "no\n".len());
    assert_eq!(agent.end(), Some(0));
}

#[test]
fn a_signal_reaches_the_whole_process_group() {
    let mut agent = Process::start("serve");
    agent.client.send(&exec(&["sh", "-c", "sleep 1000 & echo up; wait"]));
    assert!(agent.client.event()["started"].is_u64());
    assert_eq!(agent.client.frame().unwrap().payload, b"up\n");
    agent.client.send(&json!({"signal": 9}));
    assert_eq!(agent.client.finish().end["done"]["killed"], 9);
    assert_eq!(agent.end(), Some(0));
}

#[test]
fn a_terminal_has_its_size_and_its_control_characters() {
    let mut agent = Process::start("serve");
    let tty = json!({"rows": 40, "cols": 132, "term": "xterm"});
    let argv = ["sh", "-c", "stty size; echo $TERM; exec cat"];
    agent.client.send(&json!({"op": "exec", "argv": argv, "tty": tty, "stdin": true}));
    let mut output = String::new();
    agent.client.event();
    while !output.ends_with("xterm\r\n") {
        output += &String::from_utf8(agent.client.frame().unwrap().payload).unwrap();
    }
    assert_eq!(output, "40 132\r\nxterm\r\n");
    agent.client.stdin(b"\x03");
    assert_eq!(agent.client.finish().end["done"]["killed"], 2);
    assert_eq!(agent.end(), Some(0));
}

#[test]
fn signals_do_to_commands_what_they_usually_do() {
    let script = "trap '' INT QUIT HUP; exec \"$0\" serve";
    let mut agent = Process::spawn(Command::new("sh").args(["-c", script, common::AGENT]));
    agent.client.send(&exec(&["sh", "-c", "kill -INT $$; echo survived"]));
    assert_eq!(agent.client.finish().end["done"]["killed"], 2);
    assert_eq!(agent.end(), Some(0));
}

#[test]
fn a_command_whose_client_leaves_is_killed() {
    let mut agent = Process::start("serve");
    agent.client.send(&exec(&["sh", "-c", "trap '' TERM; echo up; while :; do sleep 1000; done"]));
    let pid = i32::try_from(agent.client.event()["started"].as_i64().unwrap()).unwrap();
    assert_eq!(agent.client.frame().unwrap().payload, b"up\n");
    let command = PidFd::open(pid).unwrap();
    agent.end();
    assert!(has_ended(&command), "the command lives on");
}

/// A command with a child in a process group of its own, as a daemon of MPI has, that ignores SIGTERM.
const WITH_A_GROUP: &str = "set -m; sh -c 'trap \"\" TERM HUP; echo $$; exec sleep 1000' & wait";

/// Start such a command, and return the handle of its child.
fn start_with_a_group(agent: &mut Process) -> PidFd {
    agent.client.send(&exec(&["bash", "-c", WITH_A_GROUP]));
    assert!(agent.client.event()["started"].is_u64());
    let said = String::from_utf8(agent.client.frame().unwrap().payload).unwrap();
    PidFd::open(said.trim().parse().unwrap()).unwrap()
}

fn has_ended(process: &PidFd) -> bool {
    poll::wait(&[(process.as_fd(), poll::Interest::Read)], Some(Duration::ZERO)).unwrap()[0]
}

#[test]
fn a_process_group_of_a_command_whose_client_leaves_is_killed() {
    let mut agent = Process::start("serve");
    let child = start_with_a_group(&mut agent);
    agent.end();
    assert!(has_ended(&child), "it lives on");
}

#[test]
fn a_process_group_of_a_command_that_was_stopped_is_killed() {
    let mut agent = Process::start("serve");
    let child = start_with_a_group(&mut agent);
    agent.client.send(&json!({"stop": true}));
    assert_eq!(agent.client.finish().end["done"]["killed"], 15);
    assert!(has_ended(&child), "it lives on");
    assert_eq!(agent.end(), Some(0));
}

#[test]
fn a_daemon_of_a_command_that_ends_by_itself_lives_on() {
    let mut agent = Process::start("serve");
    let answer = agent.client.call(&exec(&["sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!"]));
    let daemon = PidFd::open(answer.stdout().trim().parse().unwrap()).unwrap();
    assert_eq!(agent.end(), Some(0));
    assert!(!has_ended(&daemon), "it was killed");
    daemon.signal(9).unwrap();
}
