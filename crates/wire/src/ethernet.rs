//! Ethernet II frames (IEEE 802.3), with IEEE 802.1Q tags skipped.

use crate::{NotAProbe, be};

/// The length of an Ethernet header without tags, in bytes.
pub const ETHERNET_HEADER: usize = 14;

/// The length of a tag (802.1Q, 802.1ad), in bytes; its last two are the next EtherType.
pub const VLAN_TAG: usize = 4;

/// The EtherTypes of tags: 802.1Q and 802.1ad.
const VLAN: u16 = 0x8100;
const SERVICE_VLAN: u16 = 0x88a8;

/// The protocol of an Ethernet frame's payload.
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
    /// Wrap a frame and skip its tags. Fail if the frame ends before its header does.
    pub fn new(bytes: &'a [u8]) -> Result<Self, NotAProbe> {
        let mut payload = ETHERNET_HEADER;
        loop {
            if bytes.len() < payload {
                return Err(NotAProbe::Truncated("Ethernet"));
            }
            match be::u16(bytes, payload - 2) {
                VLAN | SERVICE_VLAN => payload += VLAN_TAG,
                _ => return Ok(Self { bytes, payload }),
            }
        }
    }

    /// Return the protocol of the payload. Fail unless it is IPv4 or IPv6.
    pub fn ether_type(&self) -> Result<EtherType, NotAProbe> {
        const IPV4: u16 = EtherType::Ipv4 as u16;
        const IPV6: u16 = EtherType::Ipv6 as u16;
        match be::u16(self.bytes, self.payload - 2) {
            IPV4 => Ok(EtherType::Ipv4),
            IPV6 => Ok(EtherType::Ipv6),
            _ => Err(NotAProbe::Other),
        }
    }

    /// Return the destination and source MAC addresses, in this order.
    pub fn addresses(&self) -> ([u8; 6], [u8; 6]) {
        let mut addresses = ([0; 6], [0; 6]);
        addresses.0.copy_from_slice(&self.bytes[..6]);
        addresses.1.copy_from_slice(&self.bytes[6..12]);
        addresses
    }

    /// Return the payload behind the header and its tags.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.payload..]
    }
}

/// An Ethernet header to send, untagged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EthernetRepr {
    /// The destination MAC address.
    pub to: [u8; 6],
    /// The source MAC address.
    pub from: [u8; 6],
    /// The protocol of the payload.
    pub ether_type: EtherType,
}

impl EthernetRepr {
    /// Read the fields of a captured header, without tags. Fail unless the payload is IPv4 or IPv6.
    pub fn parse(view: &EthernetView<'_>) -> Result<Self, NotAProbe> {
        let (to, from) = view.addresses();
        Ok(Self { to, from, ether_type: view.ether_type()? })
    }

    /// Write the header over the start of `frame`.
    ///
    /// # Panics
    /// Panics if `frame` is shorter than [`ETHERNET_HEADER`].
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
