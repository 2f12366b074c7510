//! The kernel's software timestamps (Documentation/networking/timestamping.rst).

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

use crate::socket::option::set_option;
use crate::socket::receive_batch::ReceiveBatch;
use crate::socket::send_batch::SendBatch;
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
        std::thread::sleep(STEP);
    }
    Ok(())
}
