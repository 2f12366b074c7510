//! Whatever is killed at whatever time, nothing of the lab is left. Needs root.

mod common;

use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use common::{AGENT, PATIENCE, Process, assert_gone, build, fresh_dir, processes_of, star};
use delaylab_os::process::PidFd;

const ROUNDS: u64 = 50;
const SEED: u64 = 20_260_731;
const SIGKILL: i32 = 9;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Victim {
    Keeper,
    Init,
    Agent,
}

/// Return the next number of splitmix64 (Steele, Lea and Flood 2014).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn children(pid: i32) -> Vec<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

fn find(victim: Victim, keeper: i32, choice: u64) -> Option<i32> {
    if victim == Victim::Keeper {
        return Some(keeper);
    }
    let init = *children(keeper).first()?;
    if victim == Victim::Init {
        return Some(init);
    }
    let agents = children(init);
    (!agents.is_empty()).then(|| agents[choice as usize % agents.len()])
}

fn kill(pid: i32) {
    // A process that has just ended by itself cannot be killed.
    if let Ok(process) = PidFd::open(pid) {
        process.signal(SIGKILL).unwrap();
    }
}

/// Wait until the kernel has ended the lab's PID 1, which it does some time after the keeper's death. A PID 1
/// that has just started has no title yet and shares its keeper's lock for an instant, so a sweep takes its
/// lab to be up.
fn wait_until_dead(lab: &str, dir: &Path) {
    let deadline = Instant::now() + PATIENCE;
    while !processes_of(lab).is_empty() || is_locked(dir) {
        assert!(Instant::now() < deadline, "{lab} lives on");
        std::thread::yield_now();
    }
}

fn is_locked(dir: &Path) -> bool {
    File::open(dir.join("lock"))
        .is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}

fn sweep(below: &Path) {
    let status = Command::new(AGENT).arg("fabric").arg("--sweep").arg(below).status().unwrap();
    assert!(status.success());
}

#[test]
fn nothing_is_left_after_kill_9_of_any_process_at_any_moment() {
    let home = fresh_dir();
    fs::create_dir(&home).unwrap();
    let mut state = SEED;
    for round in 0..ROUNDS {
        let victim =
            [Victim::Keeper, Victim::Init, Victim::Agent][(random(&mut state) % 3) as usize];
        let after_build = random(&mut state).is_multiple_of(4);
        let moment = Duration::from_micros(random(&mut state) % 30_000);
        let choice = random(&mut state);
        let lab = format!("kill{round}");
        let dir = home.join(&lab);
        println!("seed {SEED}, round {round}: {victim:?} {moment:?}, after build: {after_build}");
        let mut fabric = Process::start("fabric");
        let keeper = i32::try_from(fabric.child.id()).unwrap();
        fabric.client.send(&build(&lab, &dir, &star(3, &["pid"], true)));
        let mut built = false;
        if after_build {
            let end = fabric.client.finish().end;
            assert!(end["error"].is_null(), "{end}");
            built = true;
        } else {
            std::thread::sleep(moment);
        }
        if let Some(pid) = find(victim, keeper, choice) {
            kill(pid);
        }
        if victim == Victim::Keeper {
            assert_eq!(fabric.end(), None, "the keeper was killed");
            wait_until_dead(&lab, &dir);
            sweep(&home);
        } else if victim == Victim::Init && built {
            assert_eq!(fabric.child.wait().unwrap().code(), Some(1));
        } else {
            // The keeper ends by itself or with its input, and never waits for a dead process.
            fabric.end();
        }
        assert_gone(&lab, &dir);
    }
    fs::remove_dir(&home).unwrap();
}

#[test]
fn a_sweep_leaves_labs_that_are_up() {
    let home = fresh_dir();
    let dir = home.join("alive");
    let mut fabric = Process::start("fabric");
    let end = fabric.client.call(&build("alive", &dir, &star(1, &[], true))).end;
    assert!(end["error"].is_null(), "{end}");
    sweep(&home);
    assert!(dir.join("node.n1.sock").exists());
    assert!(!common::cgroups_of("alive").is_empty());
    assert_eq!(fabric.end(), Some(0));
    assert_gone("alive", &dir);
    fs::remove_dir(home).unwrap();
}

/// Build a lab, order the keeper to keep it, and leave the keeper by `leave`. Assert that the lab serves until the
/// keeper is ordered to end.
fn assert_kept(lab: &str, leave: impl Fn(&mut Process)) {
    let dir = fresh_dir();
    let mut fabric = Process::start("fabric");
    let done = fabric.client.call(&build(lab, &dir, &star(1, &[], false))).end["done"].clone();
    let keeper = PidFd::open(i32::try_from(fabric.child.id()).unwrap()).unwrap();
    fabric.client.send(&serde_json::json!({"keep": true}));
    leave(&mut fabric);
    let socket = done["agents"]["node.n1"]["socket"].as_str().unwrap();
    let hello = common::connect(socket).call(&serde_json::json!({"op": "hello"})).end;
    assert!(hello["done"]["pid"].is_u64(), "{hello}");
    keeper.signal(15).unwrap();
    assert_eq!(fabric.end(), Some(0));
    assert_gone(lab, &dir);
}

#[test]
fn a_lab_that_is_kept_goes_on_until_it_is_told_to_end() {
    assert_kept("kept", |fabric| {
        assert!(fabric.client.frame().is_none(), "it lets go of its output");
    });
}

#[test]
fn a_lab_that_is_kept_outlives_a_client_that_goes_at_once() {
    assert_kept("kept-at-once", Process::close);
}

#[test]
fn a_lab_whose_client_goes_while_it_is_built_is_not_built() {
    let dir = fresh_dir();
    let mut fabric = Process::start("fabric");
    fabric.client.send(&build("left", &dir, &star(40, &[], false)));
    assert_eq!(fabric.end(), Some(0));
    assert_gone("left", &dir);
}
