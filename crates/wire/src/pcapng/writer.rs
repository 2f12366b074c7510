//! A writer of captures: little-endian blocks.

/// Block types, and the value by which a reader tells the byte order.
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// The link layer of an interface's packets (the registry of link types).
const LINKTYPE_ETHERNET: u16 = 1;
/// Options of an interface, and the end of all options.
const OPTION_END: u16 = 0;
const OPTION_IF_NAME: u16 = 2;
const OPTION_IF_TSRESOL: u16 = 9;
/// The unit of time stamps is 10 to the minus this number of seconds.
const NANOSECONDS: u8 = 9;
/// The length of a section that is not known when its header is written.
const UNKNOWN_LENGTH: i64 = -1;

/// Append a section header, the start of a file.
pub fn section_header(out: &mut Vec<u8>) {
    block(out, SECTION_HEADER, |body| {
        body.extend_from_slice(&BYTE_ORDER_MAGIC.to_le_bytes());
        // Version 1.0 of the format.
        body.extend_from_slice(&1u16.to_le_bytes());
        body.extend_from_slice(&0u16.to_le_bytes());
        body.extend_from_slice(&UNKNOWN_LENGTH.to_le_bytes());
    });
}

/// Append an Ethernet interface with this name, time stamps in ns and at most `snap` bytes of a packet.
/// Interfaces are numbered from 0 in the order of their blocks.
pub fn interface(out: &mut Vec<u8>, name: &str, snap: u32) {
    block(out, INTERFACE_DESCRIPTION, |body| {
        body.extend_from_slice(&LINKTYPE_ETHERNET.to_le_bytes());
        body.extend_from_slice(&0u16.to_le_bytes());
        body.extend_from_slice(&snap.to_le_bytes());
        option(body, OPTION_IF_NAME, name.as_bytes());
        option(body, OPTION_IF_TSRESOL, &[NANOSECONDS]);
        option(body, OPTION_END, &[]);
    });
}

/// Append a packet captured on `interface` at `time_ns` (ns since the Unix epoch). `data` holds the captured
/// bytes, `original` is the packet's length on the wire.
pub fn packet(out: &mut Vec<u8>, interface: u32, time_ns: u64, data: &[u8], original: u32) {
    block(out, ENHANCED_PACKET, |body| {
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

/// Append zeros up to a multiple of 4 bytes from `start`.
fn pad(out: &mut Vec<u8>, start: usize) {
    let length = (out.len() - start).next_multiple_of(4);
    out.resize(start + length, 0);
}
