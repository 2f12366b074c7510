//! A pcapng file of the packets that the taps see.

use super::wanted::SNAP;
use delaylab_os::ring::Captured;
use delaylab_proto::{Context, Failure};
use delaylab_wire::pcapng;
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// A capture file. A write error is kept until the next [`Self::check`].
#[derive(Debug)]
pub(super) struct Capture {
    path: String,
    file: BufWriter<File>,
    block: Vec<u8>,
    result: io::Result<()>,
}

impl Capture {
    /// Create the file, with one interface for each point, in their order.
    pub(super) fn create(path: &str, points: &[String]) -> Result<Self, Failure> {
        let file = File::create(path).with_context(|| format!("write capture {path}"))?;
        let mut block = Vec::new();
        pcapng::section_header(&mut block);
        for point in points {
            pcapng::interface(&mut block, point, SNAP);
        }
        let mut file = BufWriter::with_capacity(1 << 20, file);
        let result = file.write_all(&block);
        let mut capture = Self { path: path.to_owned(), file, block, result };
        capture.check()?;
        Ok(capture)
    }

    /// Write one packet.
    pub(super) fn write(&mut self, point: u32, frame: &Captured<'_>) {
        self.block.clear();
        let time_ns = u64::try_from(frame.time.ns()).unwrap_or(0);
        let data = &frame.data[..frame.data.len().min(SNAP as usize)];
        pcapng::packet(&mut self.block, point, time_ns, data, frame.original);
        if self.result.is_ok() {
            self.result = self.file.write_all(&self.block);
        }
    }

    /// Return the first error so far, e.g. a full disk.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        std::mem::replace(&mut self.result, Ok(()))
            .with_context(|| format!("write capture {}", self.path))
    }

    /// Write buffered data.
    pub(super) fn finish(&mut self) -> Result<(), Failure> {
        self.result = self.file.flush();
        self.check()
    }
}
