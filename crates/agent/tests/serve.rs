//! The agent's server over standard input and output.

mod common;

use common::{Process, exec};
use serde_json::json;
use std::process::Command;

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
    let counters = agent.client.call(&json!({"op": "counters"})).end;
    assert!(counters["done"]["interfaces"]["lo"]["rx_bytes"].is_u64(), "{counters}");
    assert!(counters["done"]["snmp"]["Icmp"]["OutErrors"].is_u64(), "{counters}");
    assert_eq!(agent.end(), Some(0));
}

#[test]
fn a_command_ends_with_its_code_and_all_of_its_output() {
    let mut agent = Process::start("serve");
    let answer = agent.client.call(&exec(&["sh", "-c", "seq 100000; echo no >&2; exit 3"]));
    assert_eq!(answer.end, json!({"done": {"exit": 3}}));
    assert_eq!(answer.stdout().lines().count(), 100_000);
    assert_eq!(answer.output[&4], b"no\n");
    let answer = agent.client.call(&exec(&["/no/such/command"]));
    assert_eq!(answer.end["error"]["what"], "run /no/such/command");
    assert_eq!(agent.end(), Some(0));
}

#[test]
fn standard_input_reaches_a_command_that_reads_slowly() {
    let mut agent = Process::start("serve");
    agent.client.send(&json!({"op": "exec", "argv": ["wc", "-c"], "stdin": true}));
    for _ in 0..64 {
        agent.client.stdin(&[b'x'; 16 << 10]);
    }
    agent.client.stdin(b"");
    let answer = agent.client.finish();
    assert_eq!(answer.stdout().trim(), (1 << 20).to_string());
    assert_eq!(agent.end(), Some(0));
}

#[test]
fn a_signal_reaches_the_whole_process_group() {
    let mut agent = Process::start("serve");
    agent.client.send(&exec(&["sh", "-c", "sleep 1000 & echo up; wait"]));
    assert!(agent.client.event()["started"].is_u64());
    assert_eq!(agent.client.frame().unwrap().payload, b"up\n");
    agent.client.send(&json!({"signal": 9}));
    assert_eq!(agent.client.finish().end, json!({"done": {"killed": 9}}));
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
    assert_eq!(agent.client.finish().end, json!({"done": {"killed": 2}}));
    assert_eq!(agent.end(), Some(0));
}

#[test]
fn signals_do_to_commands_what_they_usually_do() {
    let script = "trap '' INT QUIT HUP; exec \"$0\" serve";
    let mut agent = Process::spawn(Command::new("sh").args(["-c", script, common::AGENT]));
    agent.client.send(&exec(&["sh", "-c", "kill -INT $$; echo survived"]));
    assert_eq!(agent.client.finish().end, json!({"done": {"killed": 2}}));
    assert_eq!(agent.end(), Some(0));
}

#[test]
fn a_command_whose_client_leaves_is_killed() {
    let mut agent = Process::start("serve");
    agent.client.send(&exec(&["sh", "-c", "trap '' TERM; echo up; while :; do sleep 1000; done"]));
    let pid = i32::try_from(agent.client.event()["started"].as_i64().unwrap()).unwrap();
    assert_eq!(agent.client.frame().unwrap().payload, b"up\n");
    let command = delaylab_os::process::PidFd::open(pid).unwrap();
    agent.end();
    use std::os::fd::AsFd;
    let on = [(command.as_fd(), delaylab_os::poll::Want::Read)];
    let ended = delaylab_os::poll::wait(&on, Some(std::time::Duration::ZERO)).unwrap();
    assert!(ended[0], "the command lives on");
}

#[test]
fn watch_keeps_its_schedule_and_names_its_metrics() {
    let mut agent = Process::start("serve");
    let places = json!([{"name": "here", "pid": agent.child.id()}]);
    agent.client.send(&json!({"op": "watch", "interval_ns": 20_000_000, "places": places}));
    assert_eq!(agent.client.event(), json!({"ready": true}));
    // Long enough for some samples: the time itself is what is tested.
    std::thread::sleep(std::time::Duration::from_millis(300));
    agent.client.send(&json!({"stop": true}));
    let answer = agent.client.finish();
    let (samples, missed) = (&answer.end["done"]["samples"], &answer.end["done"]["missed"]);
    let all = samples.as_u64().unwrap() + missed.as_u64().unwrap();
    assert!((13..=40).contains(&all), "{}", answer.end);
    let table = String::from_utf8_lossy(&answer.tables.concat()).into_owned();
    assert!(table.starts_with("\u{5}hosts"));
    for name in ["time_ns", "cpu0.NET_RX", "lo.rx_bytes", "Icmp.OutErrors", "machine", "here"] {
        assert!(table.contains(name), "{name}");
    }
    assert_eq!(agent.end(), Some(0));
}
