//! Waiting for many descriptors at once (epoll(7)): the cost is that of the ready ones, not of all.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

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
    use crate::files::pipe;

    #[test]
    fn each_ready_descriptor_is_reported_once() {
        let mut set = ReadySet::new(4).unwrap();
        let (_reader, writer) = pipe::pair().unwrap();
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
    fn a_closed_descriptor_is_not_reported() {
        let mut set = ReadySet::new(4).unwrap();
        let (_reader, writer) = pipe::pair().unwrap();
        set.add(writer.as_fd(), 7).unwrap();
        drop(writer);
        assert_eq!(set.look().unwrap(), 0);
    }
}
