//! Captures read back as what was written, by a reader written from the format's text alone.

use delaylab_wire::pcapng;
use proptest::prelude::*;

#[derive(Debug, PartialEq, Eq, Clone)]
enum Block {
    Section,
    Interface { name: String, snap: u32, resolution: u8 },
    Packet { interface: u32, time_ns: u64, data: Vec<u8>, original: u32 },
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u16_at(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()))
}

fn read_interface(body: &[u8]) -> Block {
    let (mut name, mut resolution, mut at) = (String::new(), 6, 8);
    while u16_at(body, at) != 0 {
        let (code, length) = (u16_at(body, at), u16_at(body, at + 2));
        let value = &body[at + 4..at + 4 + length];
        match code {
            2 => name = String::from_utf8(value.to_vec()).unwrap(),
            9 => resolution = value[0],
            other => panic!("unexpected option {other}"),
        }
        at += 4 + length.next_multiple_of(4);
    }
    Block::Interface { name, snap: u32_at(body, 4), resolution }
}

fn read(mut bytes: &[u8]) -> Vec<Block> {
    let mut blocks = Vec::new();
    while !bytes.is_empty() {
        let length = u32_at(bytes, 4) as usize;
        assert_eq!(length % 4, 0);
        assert_eq!(u32_at(bytes, length - 4) as usize, length);
        let body = &bytes[8..length - 4];
        blocks.push(match u32_at(bytes, 0) {
            0x0a0d_0d0a => {
                assert_eq!(u32_at(body, 0), 0x1a2b_3c4d);
                Block::Section
            }
            1 => read_interface(body),
            6 => Block::Packet {
                interface: u32_at(body, 0),
                time_ns: u64::from(u32_at(body, 4)) << 32 | u64::from(u32_at(body, 8)),
                data: body[20..20 + u32_at(body, 12) as usize].to_vec(),
                original: u32_at(body, 16),
            },
            other => panic!("unexpected block {other:#x}"),
        });
        bytes = &bytes[length..];
    }
    blocks
}

fn any_block() -> impl Strategy<Value = Block> {
    let data = proptest::collection::vec(any::<u8>(), 0..130);
    prop_oneof![
        ("[a-z.]{1,20}", any::<u32>()).prop_map(|(name, snap)| Block::Interface {
            name,
            snap,
            resolution: 9
        }),
        (any::<u32>(), any::<u64>(), data, any::<u32>()).prop_map(
            |(interface, time_ns, data, original)| Block::Packet {
                interface,
                time_ns,
                data,
                original
            }
        ),
    ]
}

proptest! {
    #[test]
    fn captures_round_trip(rest in proptest::collection::vec(any_block(), 0..20)) {
        let mut bytes = Vec::new();
        pcapng::section_header(&mut bytes);
        for block in &rest {
            match block {
                Block::Section => unreachable!("not generated"),
                Block::Interface { name, snap, .. } => {
                    pcapng::interface(&mut bytes, name, *snap);
                }
                Block::Packet { interface, time_ns, data, original } => {
                    pcapng::packet(&mut bytes, *interface, *time_ns, data, *original);
                }
            }
        }
        let blocks = read(&bytes);
        prop_assert_eq!(&blocks[0], &Block::Section);
        prop_assert_eq!(&blocks[1..], &rest[..]);
    }
}
