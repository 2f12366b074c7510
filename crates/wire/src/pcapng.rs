//! A writer of captures in the pcapng format (draft-ietf-opsawg-pcapng): little-endian blocks to append to a
//! file, first a section header, then the interfaces, then the packets. [`Reader`] reads them back.

mod reader;

pub use reader::{Block, NotPcapng, Reader};

const LINKTYPE_ETHERNET: u16 = 1;
const OPTION_IF_NAME: u16 = 2;
const OPTION_IF_TSRESOL: u16 = 9;

/// Append a section header, the start of a file.
pub fn section_header(out: &mut Vec<u8>) {
    block(out, 0x0a0d_0d0a, |body| {
        body.extend_from_slice(&0x1a2b_3c4du32.to_le_bytes());
        body.extend_from_slice(&1u16.to_le_bytes());
        body.extend_from_slice(&0u16.to_le_bytes());
        body.extend_from_slice(&(-1i64).to_le_bytes());
    });
}

/// Append an Ethernet interface with this name, time stamps in ns and at most `snap` bytes of a packet.
/// Interfaces are numbered from 0 in the order of their blocks.
pub fn interface(out: &mut Vec<u8>, name: &str, snap: u32) {
    block(out, 1, |body| {
        body.extend_from_slice(&LINKTYPE_ETHERNET.to_le_bytes());
        body.extend_from_slice(&0u16.to_le_bytes());
        body.extend_from_slice(&snap.to_le_bytes());
        option(body, OPTION_IF_NAME, name.as_bytes());
        option(body, OPTION_IF_TSRESOL, &[9]);
        option(body, 0, &[]);
    });
}

/// Append a packet captured on `interface` at `time_ns` (ns since the Unix epoch). `data` holds the captured
/// bytes, `original` is the packet's length on the wire.
pub fn packet(out: &mut Vec<u8>, interface: u32, time_ns: u64, data: &[u8], original: u32) {
    block(out, 6, |body| {
        body.extend_from_slice(&interface.to_le_bytes());
        body.extend_from_slice(&((time_ns >> 32) as u32).to_le_bytes());
        body.extend_from_slice(&(time_ns as u32).to_le_bytes());
        body.extend_from_slice(&(data.len() as u32).to_le_bytes());
        body.extend_from_slice(&original.to_le_bytes());
        body.extend_from_slice(data);
    });
}

/// Append a block: type, total length, body padded to 4 bytes, total length again.
fn block(out: &mut Vec<u8>, kind: u32, write_body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    write_body(out);
    pad(out, start);
    let length = ((out.len() - start + 4) as u32).to_le_bytes();
    out[start + 4..start + 8].copy_from_slice(&length);
    out.extend_from_slice(&length);
}

/// Append an option: code, length, value padded to 4 bytes.
fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    // Names of interfaces and points are far below the limit of 65535 bytes per option.
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    let start = out.len();
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&(value.len() as u16).to_le_bytes());
    out.extend_from_slice(value);
    pad(out, start);
}

fn pad(out: &mut Vec<u8>, start: usize) {
    let length = (out.len() - start).next_multiple_of(4);
    out.resize(start + length, 0);
}
