//! Ethernet II frames (IEEE 802.3), with IEEE 802.1Q tags skipped.

use crate::{NotAProbe, be};

/// Bytes of an Ethernet header without tags.
pub const ETHERNET_HEADER: usize = 14;

/// What an Ethernet frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum EtherType {
    /// IPv4.
    Ipv4 = 0x0800,
    /// IPv6.
    Ipv6 = 0x86dd,
}

/// An Ethernet frame in captured bytes.
#[derive(Clone, Copy, Debug)]
pub struct EthernetView<'a> {
    bytes: &'a [u8],
    payload: usize,
}

impl<'a> EthernetView<'a> {
    /// A view of a frame; its tags (802.1Q, 802.1ad) are skipped.
    pub fn new(bytes: &'a [u8]) -> Result<Self, NotAProbe> {
        let mut payload = ETHERNET_HEADER;
        loop {
            if bytes.len() < payload {
                return Err(NotAProbe::Truncated("Ethernet"));
            }
            match be::u16(bytes, payload - 2) {
                0x8100 | 0x88a8 => payload += 4,
                _ => return Ok(Self { bytes, payload }),
            }
        }
    }

    /// What the frame carries.
    pub fn ether_type(&self) -> Result<EtherType, NotAProbe> {
        match be::u16(self.bytes, self.payload - 2) {
            0x0800 => Ok(EtherType::Ipv4),
            0x86dd => Ok(EtherType::Ipv6),
            _ => Err(NotAProbe::Other),
        }
    }

    /// The destination's and the sender's hardware addresses.
    pub fn addresses(&self) -> ([u8; 6], [u8; 6]) {
        let mut addresses = ([0; 6], [0; 6]);
        addresses.0.copy_from_slice(&self.bytes[..6]);
        addresses.1.copy_from_slice(&self.bytes[6..12]);
        addresses
    }

    /// What follows the header and its tags.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.payload..]
    }
}

/// An Ethernet header to send, untagged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EthernetRepr {
    /// The destination's hardware address.
    pub to: [u8; 6],
    /// The sender's hardware address.
    pub from: [u8; 6],
    /// What the frame carries.
    pub ether_type: EtherType,
}

impl EthernetRepr {
    /// The fields of a captured header; tags are not among them.
    pub fn parse(view: &EthernetView<'_>) -> Result<Self, NotAProbe> {
        let (to, from) = view.addresses();
        Ok(Self { to, from, ether_type: view.ether_type()? })
    }

    /// Writes the header over the start of `frame`.
    ///
    /// # Panics
    /// If `frame` is shorter than [`ETHERNET_HEADER`].
    pub fn emit(&self, frame: &mut [u8]) {
        frame[..6].copy_from_slice(&self.to);
        frame[6..12].copy_from_slice(&self.from);
        frame[12..14].copy_from_slice(&(self.ether_type as u16).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tags_are_skipped() {
        let tagged = b"\x01\x02\x03\x04\x05\x06\x02\0\0\0\0\x01\x88\xa8\0\x07\x81\0\0\x08\x08\0ip";
        let view = EthernetView::new(tagged).unwrap();
        assert_eq!((view.ether_type(), view.payload()), (Ok(EtherType::Ipv4), &b"ip"[..]));
        assert_eq!(EthernetView::new(&tagged[..17]).unwrap_err(), NotAProbe::Truncated("Ethernet"),);
    }

    proptest! {
        #[test]
        fn headers_round_trip(to: [u8; 6], from: [u8; 6], v6: bool) {
            let ether_type = if v6 { EtherType::Ipv6 } else { EtherType::Ipv4 };
            let repr = EthernetRepr { to, from, ether_type };
            let mut bytes = [0; ETHERNET_HEADER];
            repr.emit(&mut bytes);
            prop_assert_eq!(EthernetRepr::parse(&EthernetView::new(&bytes).unwrap()).unwrap(), repr);
        }
    }
}
