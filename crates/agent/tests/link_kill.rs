//! A link whose engine has ended has no carrier: it neither passes frames nor drops them silently. Needs
//! root.

mod common;

use std::time::Instant;

use common::links::{Lab, plan, under};
use common::{PATIENCE, exec};
use delaylab_os::process::PidFd;
use serde_json::{Value, json};

const SIGKILL: i32 = 9;

fn lab(name: &str) -> Lab {
    let members = [under(json!({"delay_ns": 2_000_000})), json!({})];
    let lab = Lab::up(name, &plan(&members, &json!({})));
    assert_eq!(lab.ping("n1", "10.9.0.2", 5, &[]).len(), 5);
    lab
}

fn has_carrier(lab: &Lab, node: &str) -> bool {
    lab.run(node, &["ip", "-o", "link", "show", "eth0"]).contains("LOWER_UP")
}

fn wait_for_carrier(lab: &Lab, wanted: bool) {
    let deadline = Instant::now() + PATIENCE;
    for node in ["n1", "n2"] {
        while has_carrier(lab, node) != wanted {
            assert!(Instant::now() < deadline, "{node}: carrier is not {wanted}");
        }
    }
}

/// Kill the engine, from within the lab.
fn kill_engine(lab: &Lab) {
    let pid = lab.links()["pid"].to_string();
    assert_eq!(lab.client("link.h").call(&exec(&["kill", "-9", &pid])).end["done"]["exit"], 0);
}

#[test]
fn an_engine_that_is_killed_takes_the_links_down_and_is_started_again() {
    let lab = lab("killed");
    let set = json!([{"link": "wan", "node": "n1", "set": {"delay_ns": 4_000_000}}]);
    lab.ask(json!({"op": "link-set", "changes": set}));
    for _ in 0..2 {
        kill_engine(&lab);
        wait_for_carrier(&lab, false);
        assert_eq!(lab.ping("n1", "10.9.0.2", 3, &[]), [] as [f64; 0]);
        let links = lab.links();
        assert_eq!((&links["state"], &links["pid"]), (&json!("down"), &Value::Null));
        assert_eq!(links["why"], "its engine was killed by signal 9");
        assert_eq!(links["directions"][0]["asked"], json!({"delay_ns": 4_000_000}));
        let end = lab.client("link.h").call(&json!({"op": "link-set", "changes": []})).end;
        assert_eq!(end["error"]["why"], "its engine was killed by signal 9", "{end}");

        lab.ask(json!({"op": "link-restart"}));
        wait_for_carrier(&lab, true);
        assert_eq!(lab.links()["state"], "running");
        // The kernel takes up to a second to use a carrier that came back (net/core/link_watch.c).
        lab.ping("n1", "10.9.0.2", 1, &["-w", "10"]);
        let times = lab.ping("n1", "10.9.0.2", 10, &[]);
        assert!(times.len() == 10 && times.iter().all(|&time| time >= 4.0), "{times:?}");
    }
    lab.down();
}

#[test]
fn a_supervisor_that_is_killed_takes_the_links_down() {
    let lab = lab("orphan");
    let pid = lab.done["agents"]["link.h"]["pid"].as_i64().unwrap();
    PidFd::open(i32::try_from(pid).unwrap()).unwrap().signal(SIGKILL).unwrap();
    wait_for_carrier(&lab, false);
    assert_eq!(lab.ping("n1", "10.9.0.2", 3, &[]), [] as [f64; 0]);
    lab.down();
}

#[test]
fn sessions_that_end_leave_no_processes() {
    let lab = lab("sessions");
    for _ in 0..20 {
        lab.links();
    }
    let pid = lab.done["agents"]["link.h"]["pid"].to_string();
    let children = || {
        let path = format!("/proc/{pid}/task/{pid}/children");
        std::fs::read_to_string(path).unwrap().split_whitespace().count()
    };
    let deadline = Instant::now() + PATIENCE;
    while children() > 1 {
        assert!(Instant::now() < deadline, "{} processes beside the engine", children() - 1);
    }
    lab.down();
}
