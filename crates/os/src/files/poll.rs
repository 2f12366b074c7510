//! Waiting until one of several descriptors is ready (ppoll(2), epoll(7)).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
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

/// A set of descriptors that are watched until they can be written to, or read, or end.
#[derive(Debug)]
pub struct ReadySet {
    epoll: Epoll,
    events: Box<[EpollEvent]>,
    count: usize,
}

impl ReadySet {
    /// Make an empty set that returns up to `slots` descriptors at once.
    pub fn new(slots: usize) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let events = vec![EpollEvent::empty(); slots.max(1)].into_boxed_slice();
        Ok(Self { epoll, events, count: 0 })
    }

    /// Watch a descriptor until it can be written to or has an error, which is reported once, by `name`. It
    /// leaves the set when it is closed.
    pub fn add(&self, fd: BorrowedFd<'_>, name: u32) -> io::Result<()> {
        let flags = EpollFlags::EPOLLOUT | EpollFlags::EPOLLONESHOT;
        Ok(self.epoll.add(fd, EpollEvent::new(flags, u64::from(name)))?)
    }

    /// Watch a descriptor for data or an error, which is reported by `name` every time there is some. It leaves the set
    /// when it is closed.
    pub fn watch(&self, fd: BorrowedFd<'_>, name: u32) -> io::Result<()> {
        Ok(self.epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, u64::from(name)))?)
    }

    /// Watch a descriptor of the set again, now until it can be read or has an error.
    pub fn await_data(&self, fd: BorrowedFd<'_>, name: u32) -> io::Result<()> {
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLONESHOT;
        Ok(self.epoll.modify(fd, &mut EpollEvent::new(flags, u64::from(name)))?)
    }

    /// Look which descriptors are ready, without waiting, and return their number.
    pub fn look(&mut self) -> io::Result<usize> {
        self.count = match self.epoll.wait(&mut self.events, EpollTimeout::ZERO) {
            Ok(count) => count,
            Err(nix::errno::Errno::EINTR) => 0,
            Err(error) => return Err(error.into()),
        };
        Ok(self.count)
    }

    /// Return the names of the descriptors that the last [`Self::look`] found.
    pub fn ready(&self) -> impl Iterator<Item = u32> {
        self.events[..self.count].iter().map(|event| event.data() as u32)
    }

    /// Return a descriptor that is readable when one of the set is ready.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.epoll.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::descriptor;

    #[test]
    fn each_ready_descriptor_is_reported_once() {
        let mut set = ReadySet::new(4).unwrap();
        let (_reader, writer) = descriptor::pipe().unwrap();
        assert_eq!(set.look().unwrap(), 0);
        set.add(writer.as_fd(), 7).unwrap();
        assert_eq!(set.look().unwrap(), 1);
        assert_eq!(set.ready().collect::<Vec<_>>(), [7]);
        assert_eq!(set.look().unwrap(), 0);
        assert_eq!(set.ready().count(), 0);
    }

    #[test]
    fn data_is_reported_when_it_is_awaited() {
        let mut set = ReadySet::new(4).unwrap();
        let (one, mut other) = std::os::unix::net::UnixStream::pair().unwrap();
        set.add(one.as_fd(), 7).unwrap();
        assert_eq!(set.look().unwrap(), 1);
        set.await_data(one.as_fd(), 7).unwrap();
        assert_eq!(set.look().unwrap(), 0);
        std::io::Write::write_all(&mut other, b"x").unwrap();
        assert_eq!(set.look().unwrap(), 1);
        assert_eq!(set.ready().collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn a_watched_descriptor_is_reported_as_long_as_there_is_data() {
        let mut set = ReadySet::new(4).unwrap();
        let (one, mut other) = std::os::unix::net::UnixStream::pair().unwrap();
        set.watch(one.as_fd(), 7).unwrap();
        assert_eq!(set.look().unwrap(), 0);
        std::io::Write::write_all(&mut other, b"x").unwrap();
        for _ in 0..2 {
            assert_eq!(set.look().unwrap(), 1);
            assert_eq!(set.ready().collect::<Vec<_>>(), [7]);
        }
        std::io::Read::read_exact(&mut &one, &mut [0]).unwrap();
        assert_eq!(set.look().unwrap(), 0);
    }

    #[test]
    fn a_closed_descriptor_is_not_reported() {
        let mut set = ReadySet::new(4).unwrap();
        let (_reader, writer) = descriptor::pipe().unwrap();
        set.add(writer.as_fd(), 7).unwrap();
        drop(writer);
        assert_eq!(set.look().unwrap(), 0);
    }
}
