//! Captures in the pcapng format (draft-ietf-opsawg-pcapng): blocks to append to a file, first a section
//! header, then the interfaces, then the packets. [`Reader`] reads them back: it was written from the format's
//! specification, not from the writer below it, so that each checks the other.

/// Block types, and the value by which a section's byte order is known.
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Options of an interface, and the end of all options.
const NAME: u16 = 2;
const TIME_RESOLUTION: u16 = 9;
const END_OF_OPTIONS: u16 = 0;
/// The time resolution 10 to the minus 6 seconds.
const MICROSECONDS: u8 = 6;
/// The bytes of a block around its body: type, length, and length again.
const FRAMING: usize = 12;
const TRUNCATED_BLOCK: NotPcapng = NotPcapng::Truncated("block");

/// One block of a capture, which borrows its data from the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block<'a> {
    /// The start of a section, which restarts the numbering of interfaces.
    Section,
    /// An interface on which packets were captured.
    Interface {
        /// The interface's name; empty if the block has none.
        name: &'a str,
        /// The link layer of the interface's packets; 1 for Ethernet.
        link_type: u16,
        /// The maximum number of bytes kept of a packet; 0 for no limit.
        snap: u32,
        /// The unit of time stamps: 10 to the minus this number, or with the top bit set 2 to the minus the
        /// other bits.
        resolution: u8,
    },
    /// A packet.
    Packet {
        /// The number of the packet's interface.
        interface: u32,
        /// The packet's time stamp, in the interface's unit since the Unix epoch.
        time: u64,
        /// The captured bytes.
        data: &'a [u8],
        /// The packet's length on the wire.
        original: u32,
    },
    /// A block of another type.
    Other {
        /// The block type.
        kind: u32,
        /// The block's body, padding included.
        body: &'a [u8],
    },
}

/// A reason why bytes are not a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPcapng {
    /// The bytes end within this part.
    #[error("truncated {0}")]
    Truncated(&'static str),
    /// A field has a value that the format does not allow.
    #[error("malformed {0}")]
    Malformed(&'static str),
    /// The section is big-endian, which delaylab never writes.
    #[error("big-endian section")]
    BigEndian,
    /// A packet names an interface that no block before it describes.
    #[error("packet of an interface that is not described")]
    NoInterface,
}

/// An iterator over the blocks of a capture; the first error is its last item.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    unread: &'a [u8],
    /// The number of interfaces in this section so far; `None` before the first section.
    interfaces: Option<u32>,
    failed: bool,
}

impl<'a> Reader<'a> {
    /// Build a reader of a whole capture.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { unread: bytes, interfaces: None, failed: false }
    }

    /// Return the bytes behind the last block that was read.
    pub fn unread(&self) -> &'a [u8] {
        self.unread
    }

    fn block(&mut self) -> Result<Block<'a>, NotPcapng> {
        let kind = u32_at(self.unread, 0, "block")?;
        if kind == SECTION {
            // Check the byte order before reading the length, which depends on it.
            match u32_at(self.unread, 8, "section")? {
                BYTE_ORDER => {}
                order if order == BYTE_ORDER.swap_bytes() => return Err(NotPcapng::BigEndian),
                _ => return Err(NotPcapng::Malformed("byte order")),
            }
        } else if self.interfaces.is_none() {
            return Err(NotPcapng::Malformed("start"));
        }
        let length = u32_at(self.unread, 4, "block")? as usize;
        if length < FRAMING || !length.is_multiple_of(4) {
            return Err(NotPcapng::Malformed("block length"));
        }
        let (block, rest) = self.unread.split_at_checked(length).ok_or(TRUNCATED_BLOCK)?;
        if u32_at(block, length - 4, "block")? as usize != length {
            return Err(NotPcapng::Malformed("block length"));
        }
        let block = self.interpret(kind, &block[8..length - 4])?;
        self.unread = rest;
        Ok(block)
    }

    fn interpret(&mut self, kind: u32, body: &'a [u8]) -> Result<Block<'a>, NotPcapng> {
        let interfaces = self.interfaces.unwrap_or(0);
        match kind {
            SECTION => {
                if u16_at(body, 4, "section")? != 1 {
                    return Err(NotPcapng::Malformed("version"));
                }
                let options = body.get(16..).ok_or(NotPcapng::Truncated("section"))?;
                each_option(options, |_, _| Ok(()))?;
                self.interfaces = Some(0);
                Ok(Block::Section)
            }
            INTERFACE => {
                let block = read_interface(body)?;
                self.interfaces = Some(interfaces + 1);
                Ok(block)
            }
            PACKET => read_packet(body, interfaces),
            _ => Ok(Block::Other { kind, body }),
        }
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<Block<'a>, NotPcapng>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.unread.is_empty() {
            return None;
        }
        let block = self.block();
        self.failed = block.is_err();
        Some(block)
    }
}

fn read_interface(body: &[u8]) -> Result<Block<'_>, NotPcapng> {
    let link_type = u16_at(body, 0, "interface")?;
    let snap = u32_at(body, 4, "interface")?;
    // The unit is microseconds if no option says otherwise.
    let (mut name, mut resolution) = ("", MICROSECONDS);
    each_option(&body[8..], |code, value| {
        match (code, value) {
            (NAME, _) => name = str::from_utf8(value).map_err(|_| NotPcapng::Malformed("name"))?,
            (TIME_RESOLUTION, [unit]) => resolution = *unit,
            (TIME_RESOLUTION, _) => return Err(NotPcapng::Malformed("time resolution")),
            _ => {}
        }
        Ok(())
    })?;
    Ok(Block::Interface { name, link_type, snap, resolution })
}

fn read_packet(body: &[u8], interfaces: u32) -> Result<Block<'_>, NotPcapng> {
    let field = |at| u32_at(body, at, "packet");
    let (interface, high, low) = (field(0)?, field(4)?, field(8)?);
    let (captured, original) = (field(12)? as usize, field(16)?);
    if interface >= interfaces {
        return Err(NotPcapng::NoInterface);
    }
    let rest = &body[20..];
    let data = rest.get(..captured).ok_or(NotPcapng::Truncated("packet data"))?;
    // A body is a whole number of words, so the padding is within it.
    each_option(&rest[captured.next_multiple_of(4)..], |_, _| Ok(()))?;
    Ok(Block::Packet { interface, time: u64::from(high) << 32 | u64::from(low), data, original })
}

/// Pass the code and value of each option to `take`, up to the end of options or of `bytes`. The length of
/// `bytes`, like that of all data behind the fixed fields of a block, is a whole number of words.
fn each_option<'a>(
    mut bytes: &'a [u8],
    mut take: impl FnMut(u16, &'a [u8]) -> Result<(), NotPcapng>,
) -> Result<(), NotPcapng> {
    while !bytes.is_empty() {
        let (code, length) = (u16_at(bytes, 0, "option")?, u16_at(bytes, 2, "option")?);
        if code == END_OF_OPTIONS {
            return Ok(());
        }
        let end = 4 + usize::from(length);
        take(code, bytes.get(4..end).ok_or(NotPcapng::Truncated("option"))?)?;
        bytes = &bytes[end.next_multiple_of(4)..];
    }
    Ok(())
}

fn u16_at(bytes: &[u8], at: usize, part: &'static str) -> Result<u16, NotPcapng> {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map(|bytes| u16::from_le_bytes(*bytes)).ok_or(NotPcapng::Truncated(part))
}

fn u32_at(bytes: &[u8], at: usize, part: &'static str) -> Result<u32, NotPcapng> {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map(|bytes| u32::from_le_bytes(*bytes)).ok_or(NotPcapng::Truncated(part))
}

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
