//! Xen domains on a machine that is a dom0. They are no processes, so the end of the lab does not end them.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The extension of the file that holds a domain's UUID; it is written before the domain is created.
const MARK: &str = "domain";
const XL: &str = "xl";
/// The time that a killed command which starts a domain has to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time in which `xl` has to answer.
const ANSWER: Duration = Duration::from_secs(30);
/// The interval at which its lock is checked.
const LOOK: Duration = Duration::from_millis(10);

/// Destroy the domains whose marks are in a run directory, once the lab's processes have ended.
pub(super) fn destroy(directory: &Path) -> io::Result<()> {
    let ours = marked(directory)?;
    if ours.is_empty() {
        return Ok(());
    }
    for id in ids(&call(&["vm-list"])?, &ours) {
        if let Err(error) = call(&["destroy", &id])
            // A domain that just ended by itself is as good as destroyed.
            && ids(&call(&["vm-list"])?, &ours).contains(&id)
        {
            return Err(error);
        }
    }
    Ok(())
}

fn marked(directory: &Path) -> io::Result<BTreeSet<String>> {
    let mut uuids = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == MARK) {
            let mut uuid = String::new();
            once_released(&path)?.read_to_string(&mut uuid)?;
            // An empty mark belongs to a command that was killed before it wrote the UUID, so it created no
            // domain.
            if !uuid.trim().is_empty() {
                uuids.insert(uuid.trim().to_owned());
            }
        }
    }
    Ok(uuids)
}

/// Open a mark once nobody holds its lock: the holder could still create its domain. Blocks for up to 5 s.
fn once_released(mark: &Path) -> io::Result<File> {
    let file = File::open(mark)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            // A wait for a lock has no deadline, and no event tells of its release.
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(LOOK),
            Err(TryLockError::WouldBlock) => {
                let what = format!("{} is still locked by who starts a domain", mark.display());
                return Err(io::Error::new(io::ErrorKind::TimedOut, what));
            }
        }
    }
}

/// Return the ids of these domains in the output of `xl vm-list`: per line UUID, id, name. They are found by
/// UUID, because a domain whose creation was cut short has no name yet.
fn ids(listed: &str, uuids: &BTreeSet<String>) -> Vec<String> {
    let lines = listed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines
        .filter(|words| words.len() > 1 && uuids.contains(words[0]))
        .map(|words| words[1].to_owned())
        .collect()
}

fn call(words: &[&str]) -> io::Result<String> {
    output(XL, words, ANSWER)
}

/// Return what a program prints. One that has not ended in time is killed, and is an error.
fn output(program: &str, words: &[&str], limit: Duration) -> io::Result<String> {
    let failed = |error: io::Error| io::Error::new(error.kind(), format!("run {program}: {error}"));
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(failed)?;
    let pid = Pid::from_raw(child.id().cast_signed());
    let (ended, end) = mpsc::channel();
    thread::spawn(move || ended.send(child.wait_with_output()));
    let Ok(done) = end.recv_timeout(limit) else {
        // It may end by itself just now.
        let _ = kill(pid, Signal::SIGKILL);
        let what = format!("{program} {}: no answer within {limit:?}, killed", words.join(" "));
        return Err(io::Error::new(io::ErrorKind::TimedOut, what));
    };
    let done = done.map_err(failed)?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(io::Error::other(format!("{program} {}: {}", words.join(" "), said.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_answer_is_killed() -> io::Result<()> {
        assert_eq!(output("echo", &["yes"], ANSWER)?, "yes\n");
        let failed = output("sh", &["-c", "echo no >&2; exit 1"], ANSWER).unwrap_err();
        assert!(failed.to_string().ends_with(": no"), "{failed}");
        let began = Instant::now();
        let late = output("sleep", &["600"], Duration::from_millis(50)).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() < Duration::from_secs(300));
        Ok(())
    }

    #[test]
    fn a_mark_counts_once_its_lock_is_free() -> io::Result<()> {
        let folder = std::env::temp_dir().join(format!("dl-domains-{}", std::process::id()));
        fs::create_dir(&folder)?;
        let mark = folder.join("dom.domain");
        fs::write(&mark, "some-uuid\n")?;
        fs::write(folder.join("other.sock"), "not-one\n")?;
        let held = File::open(&mark)?;
        held.try_lock()?;
        let releasing = thread::spawn(move || {
            thread::sleep(5 * LOOK);
            let still_there = Instant::now();
            drop(held);
            still_there
        });
        let found = marked(&folder)?;
        let (seen, released) = (Instant::now(), releasing.join().expect("it cannot panic"));
        fs::remove_dir_all(&folder)?;
        assert_eq!(found, BTreeSet::from(["some-uuid".to_owned()]));
        assert!(seen >= released);
        Ok(())
    }

    #[test]
    fn only_marked_domains_are_found() {
        let listed = "UUID                                  ID    name\n\
                      00000000-0000-0000-0000-000000000000  0    Domain-0\n\
                      5a5e9b1c-0c39-4c1f-9d2a-0d6f5b7b2f10  4    delaylab.a.one\n\
                      7b1c2d3e-0c39-4c1f-9d2a-0d6f5b7b2f10  5    somebody's\n\
                      9c1c2d3e-0c39-4c1f-9d2a-0d6f5b7b2f10  6\n";
        let ours = ["5a5e9b1c-0c39-4c1f-9d2a-0d6f5b7b2f10", "9c1c2d3e-0c39-4c1f-9d2a-0d6f5b7b2f10"];
        assert_eq!(ids(listed, &ours.map(str::to_owned).into()), ["4", "6"]);
        assert!(ids(listed, &BTreeSet::new()).is_empty());
    }
}
