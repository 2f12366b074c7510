//! UDP (RFC 768).

use crate::{NotAProbe, Sum, be};

/// The length of a UDP header, in bytes.
pub const UDP_HEADER: usize = 8;

/// A UDP datagram in captured bytes.
#[derive(Clone, Copy, Debug)]
pub struct UdpView<'a>(&'a [u8]);

impl<'a> UdpView<'a> {
    /// Wrap `bytes`, which start at the UDP header and may end before the payload does. Fail if the header is
    /// malformed or cut.
    pub fn new(bytes: &'a [u8]) -> Result<Self, NotAProbe> {
        if bytes.len() < UDP_HEADER {
            return Err(NotAProbe::Truncated("UDP"));
        }
        if usize::from(be::u16(bytes, 4)) < UDP_HEADER {
            return Err(NotAProbe::Malformed("UDP"));
        }
        Ok(Self(bytes))
    }

    /// Return the source port.
    pub fn from_port(&self) -> u16 {
        be::u16(self.0, 0)
    }

    /// Return the destination port.
    pub fn to_port(&self) -> u16 {
        be::u16(self.0, 2)
    }

    /// Return the datagram's payload, as far as it was captured.
    pub fn payload(&self) -> &'a [u8] {
        let end = usize::from(be::u16(self.0, 4)).min(self.0.len());
        &self.0[UDP_HEADER..end]
    }
}

/// A UDP header to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpRepr {
    /// The source port.
    pub from_port: u16,
    /// The destination port.
    pub to_port: u16,
}

impl UdpRepr {
    /// Read the fields of a captured header.
    pub fn parse(view: &UdpView<'_>) -> Self {
        Self { from_port: view.from_port(), to_port: view.to_port() }
    }

    /// Write the header over the start of `datagram`, whose payload must be in place, with the checksum over
    /// `pseudo` (see [`crate::pseudo_header`]) and all of it.
    ///
    /// # Panics
    /// Panics if `datagram` is shorter than [`UDP_HEADER`] or longer than 65535 bytes.
    pub fn emit(&self, datagram: &mut [u8], pseudo: Sum) {
        let length = u16::try_from(datagram.len()).expect("a UDP datagram fits 16 bits");
        datagram[..2].copy_from_slice(&self.from_port.to_be_bytes());
        datagram[2..4].copy_from_slice(&self.to_port.to_be_bytes());
        datagram[4..6].copy_from_slice(&length.to_be_bytes());
        datagram[6..8].fill(0);
        // A checksum of zero is sent as all ones, since zero means "no checksum".
        let sum = match pseudo.over(datagram).finish() {
            0 => 0xffff,
            sum => sum,
        };
        datagram[6..8].copy_from_slice(&sum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pseudo_header;
    use proptest::prelude::*;
    use std::net::{IpAddr, Ipv4Addr};

    #[test]
    fn a_datagram_is_these_bytes() {
        let mut bytes = *b"........hi";
        let address = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        UdpRepr { from_port: 7, to_port: 0x1f90 }
            .emit(&mut bytes, pseudo_header(address(1), address(2), 17, 10));
        assert_eq!(bytes, *b"\0\x07\x1f\x90\0\x0a\x63\xd7hi");
    }

    proptest! {
        #[test]
        fn datagrams_round_trip(
            from_port: u16, to_port: u16,
            mut bytes in proptest::collection::vec(any::<u8>(), UDP_HEADER..80),
        ) {
            let repr = UdpRepr { from_port, to_port };
            repr.emit(&mut bytes, Sum::default());
            let view = UdpView::new(&bytes).unwrap();
            prop_assert_eq!(UdpRepr::parse(&view), repr);
            prop_assert_eq!(view.payload(), &bytes[UDP_HEADER..]);
            prop_assert_eq!(Sum::default().over(&bytes).finish(), 0);
        }
    }
}
