//! Sessions, each in a process of its own.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;

use delaylab_os::poll::{self, Want};
use delaylab_os::process::{self, Side};
use delaylab_proto::Failure;

use crate::serve;
use crate::session::Session;

/// Serves everyone who connects, for as long as `leash`, if there is one, does not end.
pub fn accept(listener: &UnixListener, name: &str, leash: Option<&OwnedFd>) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::new(format!("serve {name}"), error);
    loop {
        let mut on = vec![(listener.as_fd(), Want::Read)];
        on.extend(leash.map(|leash| (leash.as_fd(), Want::Read)));
        let ready = poll::wait(&on, None).map_err(failed)?;
        if ready.get(1) == Some(&true) {
            return Ok(());
        }
        if !ready[0] {
            continue;
        }
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            // A client that has already gone again is no reason to end.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error)),
        };
        start(stream.into(), None).map_err(failed)?;
    }
}

/// Starts a process that serves one session and ends with this process, which may answer it about
/// links by a stream; the session's pid.
pub fn start(stream: OwnedFd, supervisor: Option<OwnedFd>) -> io::Result<i32> {
    let agent = std::process::id();
    match process::fork()? {
        Side::Parent(pid) => Ok(pid),
        Side::Child => {
            let result = serve_session(stream, supervisor, agent);
            std::process::exit(i32::from(result.is_err()));
        }
    }
}

fn serve_session(stream: OwnedFd, supervisor: Option<OwnedFd>, agent: u32) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::new("serve a session", error);
    process::die_with_parent().map_err(failed)?;
    if process::parent().cast_unsigned() != agent {
        return Err(Failure::new("serve a session", "the agent has ended"));
    }
    process::reap_by_wait().map_err(failed)?;
    let output = stream.try_clone().map_err(failed)?;
    let session = Session::new(stream, output);
    serve::run(match supervisor {
        Some(supervisor) => session.with_supervisor(supervisor),
        None => session,
    })
}
