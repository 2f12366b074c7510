//! A container engine: the one of this machine, or one of the lab's own, as `dockerd.sh` starts it.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use delaylab_os::files::poll::{self, Interest};
use delaylab_os::process::PidFd;
use delaylab_proto::{Context, Failure};

use super::http::Engine;

const UNSET: &str = "unset DOCKER_HOST: then the lab gets an engine of its own";
const SYSTEM_SOCKET: &str = "/var/run/docker.sock";
const DEADLINE: Duration = Duration::from_secs(30);
/// The lines of the log that an error quotes.
const LAST_LINES: usize = 3;

/// Return the engine that `DOCKER_HOST` names, else this machine's if it answers.
pub(super) fn running() -> Result<Option<Engine>, Failure> {
    match env::var("DOCKER_HOST") {
        Ok(host) if !host.is_empty() => named(&host).map(Some),
        _ => {
            let engine = Engine { socket: SYSTEM_SOCKET.into() };
            Ok(engine.answers().then_some(engine))
        }
    }
}

fn named(host: &str) -> Result<Engine, Failure> {
    let what = format!("DOCKER_HOST={host}");
    let Some(socket) = host.strip_prefix("unix://") else {
        let why = "an engine elsewhere cannot see the lab's files; only unix:///PATH can be used";
        return Err(Failure::new(what, why).fix(UNSET));
    };
    let engine = Engine { socket: socket.into() };
    match engine.get("/_ping") {
        Ok(_) => Ok(engine),
        Err(failure) => {
            let why = format!("no container engine answers: {}", failure.why);
            Err(Failure::new(what, why).fix(format!("start that engine, or {UNSET}")))
        }
    }
}

/// Start an engine that keeps all its files in `folder`, and ends with the lab.
pub(super) fn start(folder: &Path, script: &Path, hide_cpu: bool) -> Result<Engine, Failure> {
    let what = "start a container engine";
    fs::write(folder.join("daemon.json"), "{}").context(what)?;
    let ready = UnixDatagram::bind(folder.join("ready")).context(what)?;
    let log = folder.join("dockerd.log");
    let child = run(folder, script, hide_cpu, &log).context(what)?;
    wait(&child, &ready, &log)?;
    Ok(Engine { socket: folder.join("docker.sock") })
}

fn run(folder: &Path, script: &Path, hide_cpu: bool, log: &Path) -> io::Result<Child> {
    let log = File::create(log)?;
    let at = |name: &str| folder.join(name).display().to_string();
    Command::new("unshare")
        .args(["--mount", "sh"])
        .arg(script)
        .arg(folder.parent().unwrap_or(folder))
        .arg(if hide_cpu { "yes" } else { "no" })
        .args(["dockerd", "--config-file", &at("daemon.json")])
        .args(["-H", &format!("unix://{}", at("docker.sock")), "--data-root", &at("data")])
        .args(["--exec-root", &at("exec"), "--pidfile", &at("dockerd.pid")])
        .args(["--exec-opt", "native.cgroupdriver=cgroupfs", "--iptables=false"])
        .args(["--ip6tables=false", "--bridge=none", "--log-level=error"])
        .env("NOTIFY_SOCKET", folder.join("ready"))
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
}

/// Wait until the engine reports that it is ready, as to systemd (sd_notify(3)).
fn wait(child: &Child, ready: &UnixDatagram, log: &Path) -> Result<(), Failure> {
    let what = "wait for the container engine";
    let engine = PidFd::open(child.id().cast_signed()).context(what)?;
    let on = [(ready.as_fd(), Interest::Read), (engine.as_fd(), Interest::Read)];
    let deadline = Instant::now() + DEADLINE;
    let mut said = [0; 4096];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let woken = poll::wait(&on, Some(left)).context(what)?;
        if woken[0] {
            let length = ready.recv(&mut said).context(what)?;
            if said[..length].windows(7).any(|word| word == b"READY=1") {
                return Ok(());
            }
        } else if woken[1] || left.is_zero() {
            let why = if woken[1] { "has ended" } else { "was not ready within 30 s" };
            return Err(Failure::new(format!("dockerd {why}"), last_lines(log)));
        }
    }
}

fn last_lines(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().rev().take(LAST_LINES).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" | ")
}
