//! The packets of a probe, as filters in the kernel recognize them.

/// The packets of a probe. A field that is 0 matches any value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// The transport.
    pub transport: Transport,
    /// The IP version, 4 or 6.
    pub ip: u8,
    /// The probe's number, from the payload's header, which TCP has none of.
    pub probe: u32,
    /// The magic number of the payload's header, which TCP has none of.
    pub magic: u32,
    /// The number of bytes to keep of each packet.
    pub snap: u32,
}

/// A probe's transport protocol, and the field that identifies its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// ICMP or ICMPv6 echo request and reply with this identifier.
    Icmp(u16),
    /// UDP with this source or destination port.
    Udp(u16),
    /// TCP handshakes with this source or destination port: segments with SYN or RST.
    Tcp(u16),
    /// All TCP segments with this source or destination port.
    TcpData(u16),
}

impl Match {
    /// Return the IP protocol number of the transport.
    pub(crate) fn protocol(&self) -> u32 {
        match (self.transport, self.ip) {
            (Transport::Udp(_), _) => 17,
            (Transport::Tcp(_) | Transport::TcpData(_), _) => 6,
            (Transport::Icmp(_), 4) => 1,
            (Transport::Icmp(_), _) => 58,
        }
    }
}
