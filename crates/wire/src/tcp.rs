//! TCP (RFC 9293). Probes by TCP are connections of the kernel, so segments are only read here, never written.

use crate::{Leg, NotAProbe, be};

/// The length of a TCP header without options, in bytes.
pub const TCP_HEADER: usize = 20;

/// The bits of the flags that tell the segments of a connection apart (RFC 9293, section 3.1).
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// A TCP segment in captured bytes.
#[derive(Clone, Copy, Debug)]
pub struct TcpView<'a> {
    bytes: &'a [u8],
    header: usize,
}

impl<'a> TcpView<'a> {
    /// Wrap `bytes`, which start at the TCP header and may end before the payload does. Fail if the header is
    /// malformed or cut.
    pub fn new(bytes: &'a [u8]) -> Result<Self, NotAProbe> {
        if bytes.len() < TCP_HEADER {
            return Err(NotAProbe::Truncated("TCP"));
        }
        let header = usize::from(bytes[12] >> 4) * 4;
        if header < TCP_HEADER {
            return Err(NotAProbe::Malformed("TCP"));
        }
        if bytes.len() < header {
            return Err(NotAProbe::Truncated("TCP"));
        }
        Ok(Self { bytes, header })
    }

    /// Return the source port.
    pub fn from_port(&self) -> u16 {
        be::u16(self.bytes, 0)
    }

    /// Return the destination port.
    pub fn to_port(&self) -> u16 {
        be::u16(self.bytes, 2)
    }

    /// Return the flags, of which CWR is the highest bit and FIN the lowest.
    pub fn flags(&self) -> u8 {
        self.bytes[13]
    }

    /// Return the sequence number of the first byte of data, or of the SYN or FIN (RFC 9293, section 3.1).
    pub fn sequence(&self) -> u32 {
        be::u32(self.bytes, 4)
    }

    /// Return the payload behind the header and its options, as far as it was captured.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header..]
    }
}

/// A TCP segment seen in a capture, as far as probes need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpSegment {
    /// The source port.
    pub from_port: u16,
    /// The destination port.
    pub to_port: u16,
    /// The flags, of which CWR is the highest bit and FIN the lowest.
    pub flags: u8,
    /// The sequence number of the first byte of data; that of a SYN is one less than that of the first data.
    pub sequence: u32,
    /// The bytes of data that the segment carries, also if they were not captured.
    pub length: u32,
    /// The remaining time to live or hop limit of its packet.
    pub ttl: u8,
}

impl TcpSegment {
    /// Read the fields of a captured segment of `total` bytes, with its header, in a packet with this time to live.
    pub fn parse(view: &TcpView<'_>, total: usize, ttl: u8) -> Self {
        let (from_port, to_port, flags) = (view.from_port(), view.to_port(), view.flags());
        let length = u32::try_from(total.saturating_sub(view.header)).unwrap_or(u32::MAX);
        Self { from_port, to_port, flags, sequence: view.sequence(), length, ttl }
    }

    /// Return true if the segment carries data.
    pub fn has_data(&self) -> bool {
        self.length > 0
    }

    /// Return true if the segment opens a connection or answers one that does.
    pub fn is_syn(&self) -> bool {
        self.flags & SYN != 0
    }

    /// Return the leg of a segment that opens a connection to the responder's port: its SYN is the request, the
    /// answer to that the reply, be it a SYN with ACK or, from a closed port, a reset. Return `None` for all
    /// other segments. A later reset by the responder is a reply, too: only the first one answers the SYN.
    pub fn leg_of_handshake(&self, responder_port: u16) -> Option<Leg> {
        match self.flags & (SYN | ACK | RST) {
            SYN if self.to_port == responder_port => Some(Leg::Request),
            flags if self.from_port == responder_port && flags & RST != 0 => Some(Leg::Reply),
            flags if self.from_port == responder_port && flags == SYN | ACK => Some(Leg::Reply),
            _ => None,
        }
    }

    /// Return the leg of a segment by its direction: to the responder's port it is the request, from there the
    /// reply.
    pub fn direction(&self, responder_port: u16) -> Option<Leg> {
        match responder_port {
            port if port == self.to_port => Some(Leg::Request),
            port if port == self.from_port => Some(Leg::Reply),
            _ => None,
        }
    }

    /// Return the port at the sender's end, which tells a probe's connections apart.
    pub fn sender_port(&self, leg: Leg) -> u16 {
        match leg {
            Leg::Request => self.from_port,
            Leg::Reply => self.to_port,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Build a header of `words` words of 32 bits.
    fn header(from: u16, to: u16, words: u8, flags: u8) -> Vec<u8> {
        let mut bytes = vec![0; usize::from(words.max(5)) * 4];
        bytes[..2].copy_from_slice(&from.to_be_bytes());
        bytes[2..4].copy_from_slice(&to.to_be_bytes());
        bytes[12] = words << 4;
        bytes[13] = flags;
        bytes
    }

    /// The SYN from port 40000 to port 443 that Linux sends, with its options.
    const LINUX_SYN: &[u8] = b"\x9c\x40\x01\xbb\x1d\x2c\x3b\x4a\0\0\0\0\xa0\x02\xfa\xf0\0\0\0\0\
        \x02\x04\x05\xb4\x04\x02\x08\x0a\x00\x01\x02\x03\0\0\0\0\x01\x03\x03\x07";

    #[test]
    fn a_syn_is_these_bytes() {
        let view = TcpView::new(LINUX_SYN).unwrap();
        let segment = TcpSegment::parse(&view, LINUX_SYN.len(), 63);
        let expected = TcpSegment {
            from_port: 40000,
            to_port: 443,
            flags: SYN,
            sequence: 0x1d2c_3b4a,
            length: 0,
            ttl: 63,
        };
        assert_eq!(segment, expected);
        assert!(view.payload().is_empty());
    }

    #[test]
    fn a_header_that_is_cut_or_shorter_than_it_must_be_is_refused() {
        for end in [0, 19, 20, 39] {
            let cut = TcpView::new(&LINUX_SYN[..end]).unwrap_err();
            assert_eq!(cut, NotAProbe::Truncated("TCP"), "{end}");
        }
        let short = TcpView::new(&header(1, 2, 4, SYN)).unwrap_err();
        assert_eq!(short, NotAProbe::Malformed("TCP"));
    }

    #[test]
    fn only_a_syn_and_its_answers_have_a_leg() {
        let leg = |from_port, to_port, flags| {
            let (sequence, length, ttl) = (1, 0, 64);
            TcpSegment { from_port, to_port, flags, sequence, length, ttl }.leg_of_handshake(443)
        };
        const ECN: u8 = 0xc0;
        for (flags, request, reply) in [
            (SYN, Some(Leg::Request), None),
            (SYN | ECN, Some(Leg::Request), None),
            (SYN | ACK, None, Some(Leg::Reply)),
            (SYN | ACK | 0x40, None, Some(Leg::Reply)),
            (RST | ACK, None, Some(Leg::Reply)),
            (RST, None, Some(Leg::Reply)),
            (ACK, None, None),
            (ACK | 0x08, None, None),
            (ACK | 0x01, None, None),
        ] {
            assert_eq!(leg(40000, 443, flags), request, "to the port: {flags:#x}");
            assert_eq!(leg(443, 40000, flags), reply, "from the port: {flags:#x}");
            assert_eq!(leg(40000, 40001, flags), None, "between others: {flags:#x}");
        }
    }

    #[test]
    fn the_port_says_the_direction() {
        let leg = |from_port, to_port| {
            let (flags, sequence, length, ttl) = (ACK, 1, 10, 64);
            TcpSegment { from_port, to_port, flags, sequence, length, ttl }.direction(80)
        };
        assert_eq!(leg(40000, 80), Some(Leg::Request));
        assert_eq!(leg(80, 40000), Some(Leg::Reply));
        assert_eq!(leg(40000, 40001), None);
    }

    proptest! {
        #[test]
        fn fields_are_read_back(
            from_port: u16, to_port: u16, sequence: u32, flags: u8, words in 5u8..16, ttl: u8,
            payload in proptest::collection::vec(any::<u8>(), 0..40), uncaptured in 0usize..2000,
        ) {
            let mut bytes = [header(from_port, to_port, words, flags), payload.clone()].concat();
            bytes[4..8].copy_from_slice(&sequence.to_be_bytes());
            let view = TcpView::new(&bytes).unwrap();
            prop_assert_eq!(view.payload(), &payload[..]);
            let length = (payload.len() + uncaptured) as u32;
            let expected = TcpSegment { from_port, to_port, flags, sequence, length, ttl };
            prop_assert_eq!(TcpSegment::parse(&view, bytes.len() + uncaptured, ttl), expected);
            let end = usize::from(words) * 4 - 1;
            prop_assert_eq!(TcpView::new(&bytes[..end]).unwrap_err(), NotAProbe::Truncated("TCP"));
        }
    }
}
