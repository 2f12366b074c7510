//! Captures are read back as written, and other bytes are rejected with the reason.

use delaylab_wire::pcapng::{self, Block, NotPcapng, Reader};
use proptest::prelude::*;

/// A block to write.
#[derive(Clone, Debug)]
enum Written {
    Interface { name: String, snap: u32 },
    Packet { interface: u32, time_ns: u64, data: Vec<u8>, original: u32 },
}

fn any_interface() -> impl Strategy<Value = Written> {
    ("[a-z.]{0,20}", any::<u32>()).prop_map(|(name, snap)| Written::Interface { name, snap })
}

/// Generate a packet of one of the first `interfaces`.
fn any_packet(interfaces: u32) -> impl Strategy<Value = Written> {
    let data = proptest::collection::vec(any::<u8>(), 0..130);
    (0..interfaces, any::<u64>(), data, any::<u32>()).prop_map(
        |(interface, time_ns, data, original)| Written::Packet {
            interface,
            time_ns,
            data,
            original,
        },
    )
}

proptest! {
    #[test]
    fn captures_round_trip(
        first in proptest::collection::vec(any_interface(), 3),
        rest in proptest::collection::vec(prop_oneof![any_interface(), any_packet(3)], 0..20),
    ) {
        let mut bytes = Vec::new();
        pcapng::section_header(&mut bytes);
        for block in first.iter().chain(&rest) {
            match block {
                Written::Interface { name, snap } => pcapng::interface(&mut bytes, name, *snap),
                Written::Packet { interface, time_ns, data, original } => {
                    pcapng::packet(&mut bytes, *interface, *time_ns, data, *original);
                }
            }
        }
        let mut reader = Reader::new(&bytes);
        prop_assert_eq!(reader.next(), Some(Ok(Block::Section)));
        for block in first.iter().chain(&rest) {
            let same = match block {
                Written::Interface { name, snap } => {
                    Block::Interface { name, link_type: 1, snap: *snap, resolution: 9 }
                }
                Written::Packet { interface, time_ns, data, original } => Block::Packet {
                    interface: *interface,
                    time: *time_ns,
                    data,
                    original: *original,
                },
            };
            prop_assert_eq!(reader.next(), Some(Ok(same)));
        }
        prop_assert_eq!(reader.next(), None);
    }
}

/// Build a capture of a section header, an interface and a packet of 5 bytes: 28, 36 and 40 bytes long.
fn capture() -> Vec<u8> {
    let mut bytes = Vec::new();
    pcapng::section_header(&mut bytes);
    pcapng::interface(&mut bytes, "", 0);
    pcapng::packet(&mut bytes, 0, 1 << 32 | 2, b"hello", 5);
    bytes
}

const INTERFACE: usize = 28;
const PACKET: usize = INTERFACE + 36;

#[test]
fn a_packet_is_these_bytes() {
    let bytes = capture();
    let block = b"\x06\0\0\0\x28\0\0\0\0\0\0\0\x01\0\0\0\x02\0\0\0\x05\0\0\0\x05\0\0\0hello\0\0\0\x28\0\0\0";
    assert_eq!(&bytes[PACKET..], block);
    let packet = Reader::new(&bytes).last().unwrap().unwrap();
    let data = b"hello";
    assert_eq!(packet, Block::Packet { interface: 0, time: 1 << 32 | 2, data, original: 5 });
}

#[test]
fn what_is_not_a_capture_is_refused_with_the_reason() {
    use NotPcapng::*;
    for (at, byte, reason) in [
        (0, 6, Malformed("start")),
        (4, 27, Malformed("block length")),
        (4, 8, Malformed("block length")),
        (8, 0x4e, Malformed("byte order")),
        (12, 2, Malformed("version")),
        (INTERFACE + 4, 40, Malformed("block length")),
        (INTERFACE + 18, 13, Truncated("option")),
        (INTERFACE + 22, 5, Malformed("time resolution")),
        (PACKET + 5, 1, Truncated("block")),
        (PACKET + 8, 1, NoInterface),
        (PACKET + 20, 9, Truncated("packet data")),
        (PACKET + 36, 44, Malformed("block length")),
    ] {
        let mut bytes = capture();
        bytes[at] = byte;
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.find(Result::is_err), Some(Err(reason)), "byte {at}");
        assert_eq!(reader.next(), None, "an error is the last item");
    }
    let mut bytes = capture();
    bytes[8..12].reverse();
    assert_eq!(Reader::new(&bytes).next(), Some(Err(BigEndian)));
}

#[test]
fn a_capture_cut_anywhere_but_between_blocks_is_refused() {
    let bytes = capture();
    for end in 0..=bytes.len() {
        let whole = [0, INTERFACE, PACKET, bytes.len()].contains(&end);
        assert_eq!(Reader::new(&bytes[..end]).all(|block| block.is_ok()), whole, "{end}");
    }
}

#[test]
fn blocks_and_options_that_are_not_known_are_passed_over() {
    let mut bytes = capture();
    bytes.extend_from_slice(b"\x05\0\0\0\x10\0\0\0abcd\x10\0\0\0");
    assert_eq!(Reader::new(&bytes).last(), Some(Ok(Block::Other { kind: 5, body: b"abcd" })),);
    // The option code 1 turns the interface's name into a comment.
    bytes[INTERFACE + 16] = 1;
    assert!(Reader::new(&bytes).all(|block| block.is_ok()));
}
