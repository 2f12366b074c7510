//! Captures in the pcapng format (draft-ietf-opsawg-pcapng): blocks to append to a file, first a section
//! header, then the interfaces, then the packets. [`Reader`] reads them back.

mod reader;
mod writer;

pub use reader::{Block, NotPcapng, Reader};
pub use writer::{interface, packet, section_header};
