//! Matching of transmit stamps to packets.

use std::io;
use std::os::fd::BorrowedFd;

use super::stamps::{self, Wanted};

/// The mapping from the kernel's packet numbers to the caller's indices. The kernel numbers a socket's
/// packets from 0 and names a stamp's packet by that number. A refused packet may or may not have used up a
/// number; in case of doubt the numbering restarts with a new *generation*. Within a generation packets and
/// numbers match.
#[derive(Debug)]
pub struct StampIds {
    wanted: Wanted,
    /// The index, as the caller counts packets, of the packet with number 0.
    current: u32,
    previous: Option<u32>,
}

impl StampIds {
    /// Enable the stamps. The next packet is the one with the index `place`.
    pub fn start(fd: BorrowedFd<'_>, wanted: Wanted, place: u32) -> io::Result<Self> {
        stamps::enable(fd, wanted)?;
        Ok(Self { wanted, current: place, previous: None })
    }

    /// Return true if a packet that was refused for this reason certainly used up a number: it was built, and
    /// then dropped by the queue (`ENOBUFS`) or by the packet filter (`EPERM`).
    #[must_use]
    pub fn counts(refusal: &io::Error) -> bool {
        matches!(refusal.raw_os_error(), Some(libc::ENOBUFS | libc::EPERM))
    }

    /// Start a new generation after a doubtful refusal. The next packet is the one with the index `place`.
    pub fn restart(&mut self, fd: BorrowedFd<'_>, place: u32) -> io::Result<()> {
        stamps::disable(fd)?;
        stamps::enable(fd, self.wanted)?;
        self.previous = Some(self.current);
        self.current = place;
        Ok(())
    }

    /// Return the index of packet number `id`: of the current and the previous generation the one for which
    /// `fits` holds, i.e. which was sent before the stamp and has none yet. Return `None` if neither or both
    /// fit: a doubtful stamp is left out rather than assigned to another packet.
    pub fn place(&self, id: u32, fits: impl Fn(u32) -> bool) -> Option<u32> {
        let candidate = |base: u32| Some(base.wrapping_add(id)).filter(|place| fits(*place));
        let current = candidate(self.current);
        match self.previous.and_then(candidate) {
            None => current,
            Some(previous) if current.is_none() && previous < self.current => Some(previous),
            Some(previous) if previous >= self.current => current,
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(current: u32, previous: Option<u32>) -> StampIds {
        StampIds { wanted: Wanted::default(), current, previous }
    }

    #[test]
    fn the_only_packet_that_fits_is_taken() {
        assert_eq!(ids(10, None).place(3, |_| true), Some(13));
        assert_eq!(ids(10, None).place(3, |_| false), None);
        assert_eq!(ids(10, Some(0)).place(3, |place| place == 13), Some(13));
        assert_eq!(ids(10, Some(0)).place(3, |place| place == 3), Some(3));
    }

    #[test]
    fn a_packet_of_the_generation_before_lies_before_this_one() {
        assert_eq!(ids(10, Some(0)).place(12, |_| true), Some(22));
        assert_eq!(ids(10, Some(0)).place(12, |place| place == 12), None);
    }

    #[test]
    fn a_doubtful_stamp_is_left_out() {
        assert_eq!(ids(10, Some(0)).place(3, |_| true), None);
    }
}
