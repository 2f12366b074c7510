//! The kernel's software timestamps (Documentation/networking/timestamping.rst).

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

use crate::socket::batch::{ReceiveBatch, SendBatch};
use crate::socket::option::set_option;
use crate::socket::{any, local_address, udp};

/// The stamps that a socket should take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Stamp packets that enter the queueing discipline (`TX_SCHED`).
    pub qdisc: bool,
    /// Stamp packets that the driver takes (`TX`) and packets that arrive from the driver (`RX`).
    pub stack: bool,
}

/// Enable stamps on a socket. Transmit stamps come on the error queue, without the packet, and name it by its
/// number since this call (`SO_TIMESTAMPING`).
pub fn enable(fd: BorrowedFd<'_>, wanted: Wanted) -> io::Result<()> {
    let mut flags = libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    if wanted.qdisc {
        flags |= libc::SOF_TIMESTAMPING_TX_SCHED;
    }
    if wanted.stack {
        flags |= libc::SOF_TIMESTAMPING_TX_SOFTWARE | libc::SOF_TIMESTAMPING_RX_SOFTWARE;
    }
    set_option(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &flags)
}

/// Disable stamps. Enabling them again numbers packets from 0.
pub fn disable(fd: BorrowedFd<'_>) -> io::Result<()> {
    set_option(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &0u32)
}

/// Make the kernel stamp every arriving packet as long as the socket is open. Packet rings otherwise use the
/// time at which they process the packet.
pub fn keep_receive_stamps_on(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_SOFTWARE | libc::SOF_TIMESTAMPING_RX_SOFTWARE;
    set_option(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &flags)
}

/// Block until the kernel stamps arriving packets. The kernel enables stamping in the background after the
/// first socket requests it, and earlier packets have no stamp. This function sends itself datagrams over
/// loopback until one has a stamp, for at most 5 s: on a busy machine the kernel takes its time. Where
/// loopback is down no datagram arrives, and it waits 50 ms. Some socket must have requested receive stamps
/// before.
pub fn settle() -> io::Result<()> {
    const WITHOUT_LOOPBACK: Duration = Duration::from_millis(50);
    const LIMIT: Duration = Duration::from_secs(5);
    const STEP: Duration = Duration::from_millis(1);
    let here = any(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    let receiver = udp(here)?;
    enable(receiver.as_fd(), Wanted { qdisc: false, stack: true })?;
    let port = local_address(receiver.as_fd())?.port();
    let sender = udp(here)?;
    let mut outgoing = SendBatch::new(1, 1);
    outgoing.fill(0, b"?", (Ipv4Addr::LOCALHOST, port).into(), None);
    let mut incoming = ReceiveBatch::without_sources(1, 1);
    let start = Instant::now();
    let mut limit = WITHOUT_LOOPBACK;
    while start.elapsed() < limit {
        // An error means that loopback is down: then the short limit ends the wait.
        if outgoing.send(sender.as_fd(), 0, 1).is_ok() {
            limit = LIMIT;
        }
        let stamped =
            incoming.receive(receiver.as_fd())? > 0 && incoming.message(0).control().time.is_some();
        if stamped {
            return Ok(());
        }
        // The kernel gives no sign when it begins to stamp.
        std::thread::sleep(STEP);
    }
    Ok(())
}

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
        enable(fd, wanted)?;
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
        disable(fd)?;
        enable(fd, self.wanted)?;
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
