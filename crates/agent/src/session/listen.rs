//! Sessions, each in a process of its own. A failure here ends one session, never the agent.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use delaylab_os::files::descriptor;
use delaylab_os::files::poll::{self, Interest};
use delaylab_os::process::{self, Side};
use delaylab_os::socket;
use delaylab_proto::{Context, Failure, Frame, Kind, Refusal, write_frame};

use super::{Serve, Session};

/// The pause after a failure: nothing announces that a descriptor or memory is free again.
const PAUSE: Duration = Duration::from_millis(20);

/// Serve all clients for ever.
pub(crate) fn accept(listener: &UnixListener, serve: Serve) -> ! {
    loop {
        if let Some(client) = next_client(listener) {
            start(client.into(), None, serve);
        }
    }
}

/// Block until a client connects, and accept it. Return `None` for a client that has left already, that
/// belongs to another user, or that cannot be accepted for lack of memory or descriptors.
pub(crate) fn next_client(listener: &UnixListener) -> Option<UnixStream> {
    let client = match listener.accept() {
        Ok((client, _)) => client,
        Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => return None,
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return None,
        Err(_) => {
            pause();
            return None;
        }
    };
    match socket::require_own(&client) {
        Ok(()) => Some(client),
        Err(error) => {
            refuse(client.into(), &Failure::new("talk to this agent", error));
            None
        }
    }
}

/// Block until one of these is ready, as [`poll::wait`] does. After an error none is ready.
pub(crate) fn wait(on: &[(std::os::fd::BorrowedFd<'_>, Interest)]) -> Vec<bool> {
    poll::wait(on, None).unwrap_or_else(|_| {
        pause();
        vec![false; on.len()]
    })
}

/// Start a process in which `serve` serves one session, and which ends with this process. By the stream `supervisor` the session
/// can ask this process about links. Return the session's pid, or `None` if it could not be started, which
/// the client is told.
pub(crate) fn start(stream: OwnedFd, supervisor: Option<OwnedFd>, serve: Serve) -> Option<i32> {
    let agent = std::process::id();
    match process::fork() {
        Ok(Side::Parent(pid)) => Some(pid),
        Ok(Side::Child) => {
            let result = open_session(stream, supervisor, agent).and_then(serve);
            std::process::exit(i32::from(result.is_err()));
        }
        Err(error) => {
            refuse(stream, &cannot_start(&error));
            None
        }
    }
}

/// Build the failure that tells a client why its session could not be started.
pub(crate) fn cannot_start(error: &io::Error) -> Failure {
    Failure::new("start a session", error)
        .fix("the node may be at its limit of processes, memory or open files")
}

/// Tell a client, without blocking, why it is not served.
pub(crate) fn refuse(stream: OwnedFd, failure: &Failure) {
    if descriptor::set_nonblocking(stream.as_fd()).is_ok() {
        let bytes = serde_json::to_vec(&Refusal::Error(failure.clone())).unwrap_or_default();
        // Ignore a client that does not read or has left.
        let _ = write_frame(&mut UnixStream::from(stream), &Frame::new(Kind::Message, bytes));
    }
}

fn pause() {
    std::thread::sleep(PAUSE);
}

fn open_session(
    stream: OwnedFd,
    supervisor: Option<OwnedFd>,
    agent: u32,
) -> Result<Session, Failure> {
    process::die_with_parent().context("serve a session")?;
    if process::parent().cast_unsigned() != agent {
        return Err(Failure::new("serve a session", "the agent has ended"));
    }
    process::reap_by_wait().context("serve a session")?;
    let output = stream.try_clone().context("serve a session")?;
    let session = Session::new(stream, output);
    Ok(match supervisor {
        Some(supervisor) => session.with_supervisor(supervisor),
        None => session,
    })
}
