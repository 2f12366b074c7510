//! Target `pcapng`: any bytes are blocks of a capture, up to an error.

use crate::outcome::{Outcome, inside};
use delaylab_wire::pcapng::{Block, NotPcapng, Reader, interface, packet, section_header};

/// The length of the smallest block, in bytes.
const SMALLEST: usize = 12;
/// The code of delaylab's own time resolution, which is ns.
const NANOSECONDS: u8 = 9;
const ETHERNET: u16 = 1;

/// Read a capture. Accept it if it consists of blocks to its last byte.
pub fn run(bytes: &[u8]) -> Outcome {
    let mut reader = Reader::new(bytes);
    let mut copy = Vec::new();
    let mut blocks = Vec::new();
    let mut end = 0;
    while let Some(next) = reader.next() {
        let before = end;
        end = bytes.len() - reader.unread().len();
        let block = match next {
            Ok(block) => block,
            Err(error) => {
                assert_eq!(end, before, "what is refused was taken");
                assert_eq!(reader.next(), None, "something behind the error");
                return Err(refused(bytes, before, error));
            }
        };
        assert!(end - before >= SMALLEST && (end - before).is_multiple_of(4), "no whole block");
        covered(&block, &bytes[before..end]);
        if write(&block, &mut copy, &bytes[before..end]) {
            blocks.push(block);
        }
    }
    assert_eq!(end, bytes.len(), "an end before the input's");
    let same: Result<Vec<_>, _> = Reader::new(&copy).collect();
    assert_eq!(same.as_ref(), Ok(&blocks), "written otherwise than read");
    if bytes.is_empty() { Err("no bytes".into()) } else { Ok(()) }
}

/// Assert that everything read from `whole` lies in it.
fn covered(block: &Block<'_>, whole: &[u8]) {
    let end = whole.len() - 4;
    match *block {
        Block::Section | Block::Interface { name: "", .. } => {}
        Block::Interface { name, .. } => inside(name.as_bytes(), whole, end),
        Block::Packet { data, .. } => inside(data, whole, end),
        Block::Other { body, .. } => {
            inside(body, whole, end);
            assert_eq!(body.len() + SMALLEST, whole.len());
        }
    }
}

/// Write a block again; return false for blocks that delaylab never writes. Panic if a packet's bytes differ.
fn write(block: &Block<'_>, copy: &mut Vec<u8>, whole: &[u8]) -> bool {
    let start = copy.len();
    match *block {
        Block::Section => section_header(copy),
        Block::Interface { name, link_type: ETHERNET, snap, resolution: NANOSECONDS } => {
            interface(copy, name, snap);
        }
        Block::Interface { .. } => {
            // Interfaces are numbered, so one of another kind must not be left out.
            copy.extend_from_slice(whole);
        }
        Block::Packet { interface, time, data, original } => {
            packet(copy, interface, time, data, original);
            let written = &mut copy[start..];
            // Options and padding that is not zero are not written.
            if written.len() == whole.len() {
                let padding = 28 + data.len()..whole.len() - 4;
                let mut whole = whole.to_vec();
                whole[padding].fill(0);
                assert_eq!(written, whole, "a packet written otherwise than read");
            }
        }
        Block::Other { .. } => return false,
    }
    true
}

/// Assert that the error fits the bytes, and return it as a reason.
fn refused(bytes: &[u8], at: usize, error: NotPcapng) -> String {
    let rest = &bytes[at..];
    if error == NotPcapng::Truncated("block") && rest.len() >= SMALLEST {
        let length = u32::from_le_bytes([rest[4], rest[5], rest[6], rest[7]]);
        assert!(length as usize > rest.len(), "the block is there");
    }
    error.to_string()
}
