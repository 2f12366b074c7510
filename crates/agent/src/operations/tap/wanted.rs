//! The packets that a tap wants, as the kernel's filter has them.

use delaylab_os::socket::filter::{Match, Transport};
use delaylab_wire::MAGIC;

use crate::protocol::measuring::{Protocol, TapFilter};

/// The bytes of a packet that a capture file has: Ethernet, IPv6, some extension headers, ICMP and probe headers.
pub(super) const SNAP: u32 = 128;
/// The bytes that a ring keeps of a packet, to check its checksum: all of it. Of TCP, all that an Ethernet frame
/// carries: longer segments are of this machine's own making, and their checksums left to the interface.
const WHOLE: u32 = 65535 + 18;
const WHOLE_SEGMENT: u32 = 2048;

impl TapFilter {
    /// Return true if requests and replies cannot be told apart.
    pub(crate) fn has_no_legs(&self) -> bool {
        self.protocol == Protocol::Udp && self.port == 0
    }

    /// Return the filter for the kernel.
    pub(crate) fn wanted(&self) -> Match {
        let transport = match self.protocol {
            Protocol::Icmp => Transport::Icmp(self.ident),
            Protocol::Udp => Transport::Udp(self.port),
            Protocol::Tcp => Transport::Tcp(self.port),
            Protocol::Http => Transport::TcpData(self.port),
        };
        let (ip, probe) = (self.ip, self.probe);
        let snap = if self.protocol.connects() { WHOLE_SEGMENT } else { WHOLE };
        Match { transport, ip, probe, magic: MAGIC, snap }
    }
}
