//! Waiting for file descriptors (poll(2)).

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout};
use nix::sys::time::TimeSpec;

/// The event to wait for on a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Data to read, or the end.
    Read,
    /// Room to write, or the end.
    Write,
    /// Only the end.
    End,
}

/// Wait until one of the descriptors is ready. Return, for each of them, true if it is ready. A timeout of
/// `None` waits for ever; others are rounded up to ms. After a timeout or a signal none is ready.
pub fn wait(on: &[(BorrowedFd<'_>, Interest)], timeout: Option<Duration>) -> io::Result<Vec<bool>> {
    let mut fds: Vec<PollFd> =
        on.iter().map(|(fd, interest)| PollFd::new(*fd, flags(*interest))).collect();
    let timeout = timeout.map_or(PollTimeout::NONE, |time| {
        // Rounded up: a wait that ends early would be repeated in a busy loop.
        let millis = time.as_micros().div_ceil(1000);
        PollTimeout::try_from(i32::try_from(millis).unwrap_or(i32::MAX)).expect("not negative")
    });
    match nix::poll::poll(&mut fds, timeout) {
        Ok(_) => {}
        Err(nix::errno::Errno::EINTR) => return Ok(vec![false; on.len()]),
        Err(error) => return Err(error.into()),
    }
    Ok(fds.iter().map(|fd| fd.any().unwrap_or(true)).collect())
}

/// Wait until one of the descriptors is readable, or for a timeout as exact as the kernel's timers
/// (ppoll(2)); `None` waits for ever. Return, for each of them, true if it is ready. After a timeout or a
/// signal none is ready.
pub fn wait_exactly<const N: usize>(
    on: [BorrowedFd<'_>; N],
    timeout: Option<Duration>,
) -> io::Result<[bool; N]> {
    let mut fds = on.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    match nix::poll::ppoll(&mut fds, timeout.map(TimeSpec::from), None) {
        Ok(_) => Ok(fds.map(|fd| fd.any().unwrap_or(true))),
        Err(nix::errno::Errno::EINTR) => Ok([false; N]),
        Err(error) => Err(error.into()),
    }
}

fn flags(interest: Interest) -> PollFlags {
    match interest {
        Interest::Read => PollFlags::POLLIN,
        Interest::Write => PollFlags::POLLOUT,
        Interest::End => PollFlags::empty(),
    }
}
