//! Completion of checksums that a sender has left to its card. User-Mode Linux cannot do otherwise: its
//! frames carry the sum of the pseudo-header where a cable has the whole checksum.

use delaylab_wire::{ETHERNET_HEADER, Sum, VLAN_TAG};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Return the frame as a card would have sent it; `None` if it is not TCP or UDP directly behind IP.
pub(super) fn completed(frame: &[u8]) -> Option<Vec<u8>> {
    let (segment, field) = segment(frame)?;
    let (end, at) = (segment.end, segment.start + field);
    // A checksum of 0 would mean that there is none (RFC 768); 0xffff is equivalent.
    let sum = match Sum::default().over(frame.get(segment)?).finish() {
        0 => u16::MAX,
        sum => sum,
    };
    let mut whole = frame.to_vec();
    whole.get_mut(at..end)?.get_mut(..2)?.copy_from_slice(&sum.to_be_bytes());
    Some(whole)
}

/// Return the range of the TCP or UDP segment, and the offset of the checksum in it.
fn segment(frame: &[u8]) -> Option<(std::ops::Range<usize>, usize)> {
    let tagged =
        matches!(frame.get(ETHERNET_HEADER - 2..ETHERNET_HEADER)?, [0x81, 0x00] | [0x88, 0xa8]);
    let ip = ETHERNET_HEADER + if tagged { VLAN_TAG } else { 0 };
    let packet = frame.get(ip..)?;
    let total =
        |at: usize| Some(usize::from(u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?])));
    let (header, length, protocol) = match packet.first()? >> 4 {
        4 => (usize::from(packet[0] & 15) * 4, total(2)?, *packet.get(9)?),
        6 => (40, 40 + total(4)?, *packet.get(6)?),
        _ => return None,
    };
    let field = match protocol {
        TCP => 16,
        UDP => 6,
        _ => return None,
    };
    (header + field + 2 <= length).then_some((ip + header..ip + length, field))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A UDP datagram "abc" from 10.0.0.1 port 1 to 10.0.0.2 port 2, from its Ethernet header on.
    const UDP4: [u8; 45] = [
        2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, // Ethernet
        0x45, 0, 0, 31, 0, 0, 0, 0, 64, 17, 0x66, 0xcc, 10, 0, 0, 1, 10, 0, 0, 2, // IPv4
        0, 1, 0, 2, 0, 11, 0, 0, b'a', b'b', b'c', // UDP
    ];

    /// Return the checksum of what a receiver sums; it is 0 if the checksum in it is right.
    fn received(source_and_target: &[u8], protocol: u8, segment: &[u8]) -> u16 {
        let pseudo = [source_and_target, &[0, protocol], &(segment.len() as u16).to_be_bytes()];
        Sum::default().over(&[&pseudo.concat(), segment].concat()).finish()
    }

    /// Put the sum of the pseudo-header in the checksum's place, as the kernel leaves it.
    fn left_to_the_card(
        mut frame: Vec<u8>,
        ip: usize,
        addresses: std::ops::Range<usize>,
    ) -> Vec<u8> {
        let (segment, field) = segment(&frame).unwrap();
        let protocol = if frame[ip] >> 4 == 4 { frame[ip + 9] } else { frame[ip + 6] };
        let pseudo =
            [&frame[addresses], &[0, protocol], &(segment.len() as u16).to_be_bytes()[..]].concat();
        let sum = !Sum::default().over(&pseudo).finish();
        frame[segment.start + field..][..2].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    #[test]
    fn what_is_completed_is_right_to_its_receiver() {
        let frame = left_to_the_card(UDP4.to_vec(), 14, 26..34);
        let whole = completed(&frame).unwrap();
        assert_eq!(received(&whole[26..34], UDP, &whole[34..]), 0);
        assert_eq!((&whole[..40], &whole[42..]), (&frame[..40], &frame[42..]));
        // Computed by hand: 0xffff less 0x141f of the pseudo-header, 0x000e of the header and 0xc462 of the
        // text.
        assert_eq!(whole[40..42], [0x27, 0x70]);
    }

    #[test]
    fn padding_behind_the_packet_is_no_part_of_it() {
        let mut frame = left_to_the_card(UDP4.to_vec(), 14, 26..34);
        let bare = completed(&frame).unwrap();
        frame.extend([7; 15]);
        assert_eq!(completed(&frame).unwrap()[..45], bare);
    }

    #[test]
    fn tcp_over_ipv6_behind_a_tag() {
        let mut frame = UDP4[..12].to_vec();
        frame.extend([0x81, 0, 0, 5, 0x86, 0xdd]);
        frame.extend([0x60, 0, 0, 0, 0, 21, TCP, 64]);
        frame.extend((0..32).map(|byte| byte * 3));
        frame.extend((0..20).map(|byte| byte * 7).chain([b'z']));
        let frame = left_to_the_card(frame, 18, 26..58);
        let whole = completed(&frame).unwrap();
        assert_eq!(received(&whole[26..58], TCP, &whole[58..]), 0);
    }

    #[test]
    fn what_is_not_understood_is_left_alone() {
        let mut icmp = UDP4;
        icmp[23] = 1;
        assert_eq!(completed(&icmp), None);
        for length in 0..UDP4.len() {
            assert_eq!(completed(&UDP4[..length]), None, "cut to {length}");
        }
        let mut short = UDP4;
        short[17] = 24;
        assert_eq!(completed(&short), None, "no room for a checksum");
    }
}
