//! Sessions of processes (setsid(2)).

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::unistd::{Pid, getsid};

use super::identity::PidFd;
use crate::files::poll::{self, Interest};

/// The most times that the table of processes is read: a program that starts others faster than they are
/// killed is left.
const ROUNDS: usize = 10;
/// The longest wait for the end of a process after SIGKILL: one that waits for a disk takes as long as that.
const AFTER_KILL: Duration = Duration::from_secs(2);

/// Wait until every process of the session of `leader` has ended, whatever its process group, and after
/// `grace` kill those that have not. A shell with job control and a daemon of MPI give their children groups of
/// their own, which stay in the session. Processes that this one may not signal are left.
///
/// The leader must be alive, or a child that was not waited for: else its pid may be that of another session.
/// Fails if the table of processes cannot be read.
pub fn end_session(leader: i32, grace: Duration) -> io::Result<()> {
    let mut left = members(leader)?;
    await_ends(&left, grace)?;
    for _ in 0..ROUNDS {
        // Most often all had ended before: then the table of processes is read once.
        if left.is_empty() {
            break;
        }
        left = members(leader)?
            .into_iter()
            .filter(|each| each.signal(libc::SIGKILL).is_ok())
            .collect();
        await_ends(&left, AFTER_KILL)?;
    }
    Ok(())
}

/// Wait until all of these processes have ended, or for a time.
fn await_ends(processes: &[PidFd], most: Duration) -> io::Result<()> {
    let until = Instant::now() + most;
    for process in processes {
        let left = until.saturating_duration_since(Instant::now());
        poll::wait(&[(process.as_fd(), Interest::Read)], Some(left))?;
    }
    Ok(())
}

/// Return the processes of a session that have not ended.
fn members(leader: i32) -> io::Result<Vec<PidFd>> {
    let pids =
        fs::read_dir("/proc")?.flatten().filter_map(|each| each.file_name().to_str()?.parse().ok());
    Ok(pids.filter_map(|pid| member(pid, leader).ok().flatten()).collect())
}

/// Return the handle of a process, if it belongs to the session of `leader` and has not ended.
fn member(pid: i32, leader: i32) -> io::Result<Option<PidFd>> {
    if !in_session(pid, leader)? {
        return Ok(None);
    }
    let process = PidFd::open(pid)?;
    let ended = poll::wait(&[(process.as_fd(), Interest::Read)], Some(Duration::ZERO))?[0];
    // Asked again, now that the handle keeps the pid from meaning another process.
    Ok((!ended && in_session(pid, leader)?).then_some(process))
}

/// Return true if a process belongs to the session of `leader`. This is asked of every process of the machine,
/// and getsid(2) takes far less time than reading `/proc/PID/stat`.
fn in_session(pid: i32, leader: i32) -> io::Result<bool> {
    Ok(getsid(Some(Pid::from_raw(pid)))? == Pid::from_raw(leader))
}
