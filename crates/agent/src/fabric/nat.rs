//! A node's way outside: slirp4netns gives the node an interface, and makes each of its connections anew by a socket of
//! this machine, in user space. No setting of this machine changes, and nothing of it stays: the interface is the
//! node's, and the program is a process of the lab.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use delaylab_os::files::descriptor;
use delaylab_os::files::poll::{self, Interest};
use delaylab_os::process::{self, PidFd, namespace};
use delaylab_proto::{Context, Failure};
use tracing::{info, warn};

use crate::link::Agents;
use crate::protocol::lab::Nat;

const PROGRAM: &str = "slirp4netns";
/// The time that the program has to make the interface.
const PATIENCE: Duration = Duration::from_secs(20);
/// The descriptors' numbers in the program: it writes to the first when it is ready, and ends with the second.
const READY: i32 = 3;
const EXIT: i32 = 4;

/// Start a node's way outside, and wait until the node has it. This process then ends with the program.
pub(super) fn start(nat: &Nat, agents: &Agents) -> Result<(), Failure> {
    let what = || format!("lead {} outside", nat.of);
    let pid = *agents.get(&nat.of).ok_or_else(|| {
        Failure::new(what(), format!("no agent before this one is named {}", nat.of))
    })?;
    let (ready, writer) = descriptor::pipe().with_context(what)?;
    let (reader, exit) = descriptor::pipe().with_context(what)?;
    let mut program = run(nat, pid, writer, reader).with_context(what)?;
    let said = program.stderr.take().map(last_line);
    let came = poll::wait(&[(ready.as_fd(), Interest::Read)], Some(PATIENCE)).with_context(what)?;
    let made =
        came[0] && descriptor::read_some(ready.as_fd(), &mut [0]).with_context(what)? == Some(1);
    if !made {
        let _ = program.kill();
        let why = said.and_then(|said| said.recv().ok()).unwrap_or_default();
        return Err(Failure::new(what(), format!("{PROGRAM} made no interface: {why}")));
    }
    if nat.forwards {
        answer_for_others(nat, pid).with_context(what)?;
    }
    let running = PidFd::open(program.id().cast_signed()).with_context(what)?;
    thread::spawn(move || {
        // Held until then: the program ends once it is closed.
        let _exit = exit;
        let _ = poll::wait(&[(running.as_fd(), Interest::Read)], None);
        warn!("{PROGRAM} has ended, and so does the way outside");
        std::process::exit(1)
    });
    Ok(())
}

/// Run the program for the network namespace of a process.
fn run(nat: &Nat, pid: i32, ready: OwnedFd, exit: OwnedFd) -> io::Result<Child> {
    let mut command = Command::new(PROGRAM);
    command.args(["--configure", "--mtu=1500", "--enable-sandbox", "--enable-seccomp"]);
    // A node is not to reach what this machine offers itself alone.
    command.arg("--disable-host-loopback");
    command.args([format!("--ready-fd={READY}"), format!("--exit-fd={EXIT}")]);
    command.args([&pid.to_string(), &nat.card]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    process::new_session(&mut command, false);
    process::hand_over(&mut command, vec![(ready, READY), (exit, EXIT)])?;
    // The program waits for a child of its own, and inherits what this process does about children.
    process::reap_by_wait()?;
    let child = command.spawn();
    process::reap_by_kernel()?;
    child
}

/// Log what the program says, and return its last line once it has ended.
fn last_line(said: ChildStderr) -> mpsc::Receiver<String> {
    let (last, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        for next in BufReader::new(said).lines().map_while(Result::ok) {
            info!(said = next, "{PROGRAM}");
            line = next;
        }
        let _ = last.send(line);
    });
    receiver
}

/// Let the node answer on its new interface for the addresses of the lab (proxy ARP): the program asks there who has
/// the address that a packet came from, and the node forwards the answer to it.
fn answer_for_others(nat: &Nat, pid: i32) -> io::Result<()> {
    let node = PidFd::open(pid)?;
    let setting = format!("/proc/sys/net/ipv4/conf/{}/proxy_arp", nat.card);
    // Only this thread moves to the node's network, and it ends.
    let set = move || {
        namespace::join_network(&node)?;
        fs::write(setting, "1")
    };
    thread::spawn(set).join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}
