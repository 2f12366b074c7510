//! The agent's log, which `DELAYLAB_LOG` turns on. Labs need root.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};

use common::links::{plan, under};
use common::{AGENT, Process, assert_gone, build, connect, fresh_dir};
use serde_json::{Value, json};

/// Start an agent that logs this level, or as it does by default, with its standard error.
fn start(verb: &str, level: Option<&str>) -> (Process, ChildStderr) {
    let mut command = Command::new(AGENT);
    command.arg(verb).env_remove("DELAYLAB_LOG").stderr(Stdio::piped());
    command.envs(level.map(|level| ("DELAYLAB_LOG", level)));
    let mut process = Process::spawn(&mut command);
    let stderr = process.child.stderr.take().unwrap();
    (process, stderr)
}

fn text(mut stderr: ChildStderr) -> String {
    let mut text = String::new();
    stderr.read_to_string(&mut text).unwrap();
    text
}

/// Return what an agent on standard streams logs while it serves one request.
fn log_of_a_session(level: Option<&str>) -> String {
    let (mut agent, stderr) = start("serve", level);
    agent.client.call(&json!({"op": "hello"}));
    assert_eq!(agent.end(), Some(0));
    text(stderr)
}

#[test]
fn sessions_and_requests_are_logged_on_standard_error_if_that_is_wanted() {
    assert_eq!(log_of_a_session(None), "");
    assert_eq!(log_of_a_session(Some("error")), "");
    let log = log_of_a_session(Some("info"));
    for event in ["session begins", "request done operation=\"hello\"", "session ends"] {
        assert!(log.contains(event), "{event}: {log}");
    }
    assert_eq!(log.lines().count(), 3, "{log}");
    assert!(log_of_a_session(Some("debug")).contains("request begins operation=\"hello\""));
    let wrong = log_of_a_session(Some("loud"));
    assert!(wrong.contains("DELAYLAB_LOG=loud is no level"), "{wrong}");
}

/// Return the logs in a lab's run directory by their names.
fn logs(dir: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .filter(|(name, _)| name.ends_with(".log"))
        .map(|(name, path)| (name, fs::read_to_string(path).unwrap()))
        .collect()
}

/// Bring a lab up, change a link of it, and return its logs and what its keeper logs.
fn log_of_a_lab(name: &str, level: Option<&str>) -> (BTreeMap<String, String>, String) {
    let (mut fabric, stderr) = start("fabric", level);
    let dir = fresh_dir();
    let plan = plan(&[under(json!({"delay_ns": 1_000_000})), under(json!({}))], &json!({}));
    let end = fabric.client.call(&build(name, &dir, &plan)).end;
    let socket = |agent: &str| -> String {
        let socket = end["done"]["agents"][agent]["socket"].as_str();
        socket.unwrap_or_else(|| panic!("{end}")).to_owned()
    };
    let changes = json!([{"link": "wan", "node": "n1", "set": {"delay_ns": 2_000_000}}]);
    let set = json!({"op": "link-set", "changes": changes});
    let changed: Value = connect(&socket("link.h")).call(&set).end;
    assert!(changed["error"].is_null(), "{changed}");
    connect(&socket("node.n1")).call(&json!({"op": "hello"}));
    let logs = logs(&dir);
    assert_eq!(fabric.end(), Some(0));
    assert_gone(name, &dir);
    (logs, text(stderr))
}

#[test]
fn agents_of_a_lab_log_to_files_in_its_run_directory() {
    let (logs, keeper) = log_of_a_lab("log", Some("info"));
    for (file, events) in [
        ("agent-lab.log", &["agent starts agent=\"node.n1\"", "stage=\"network\""][..]),
        ("agent-node.n1.log", &["agent ready", "session begins", "operation=\"hello\""]),
        (
            "agent-link.h.log",
            &["link engine starts", "conditions changed link=\"wan\" node=\"n1\""],
        ),
    ] {
        let log = logs.get(file).unwrap_or_else(|| panic!("{file} of {:?}", logs.keys()));
        for event in events {
            assert!(log.contains(event), "{event}: {log}");
        }
    }
    for stage in ["plan checked", "lab started", "lab built", "cleaned up"] {
        assert!(keeper.contains(&format!("stage=\"{stage}\" elapsed=")), "{stage}: {keeper}");
    }
}

#[test]
fn a_lab_logs_nothing_by_default() {
    assert_eq!(log_of_a_lab("silent", None), (BTreeMap::new(), String::new()));
}
