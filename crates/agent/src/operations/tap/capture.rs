//! The capture of a tap's packets: a file, or bytes in memory, in the pcapng format.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;

use delaylab_os::ring::Captured;
use delaylab_proto::{Context, Failure};
use delaylab_wire::pcapng;

/// The bytes of a packet that a capture file has: Ethernet, IPv6, some extension headers, ICMP and probe headers.
const SNAP: u32 = 128;
/// The bytes that are written to a file at once.
const BUFFER: usize = 1 << 20;
/// The most bytes of a capture in memory, whatever a client asks for.
const MOST_KEPT: usize = 256 << 20;

/// A capture of packets. A write error is kept until the next [`Self::check`].
///
/// Taps are emptied one after the other, so packets come in the order of time at each point only.
/// [`Self::finish`] puts all of them in it.
#[derive(Debug)]
pub(super) struct Capture {
    sink: Sink,
    block: Vec<u8>,
    result: io::Result<()>,
    /// The length of what comes before the first packet.
    head: u64,
    /// The packets that were written, as they were written.
    written: Vec<Written>,
}

/// A packet that was written: its time, and its place in the capture.
#[derive(Debug, Clone, Copy)]
struct Written {
    time_ns: u64,
    at: u64,
    length: u32,
}

/// The sink of a capture: a file, or memory with room for so many bytes, and the packets that found none.
#[derive(Debug)]
enum Sink {
    File { path: String, file: BufWriter<File> },
    Memory { bytes: Vec<u8>, most: usize, refused: u64 },
}

impl Capture {
    /// Create the file, with one interface for each point, in their order.
    pub(super) fn create(path: &str, points: &[String]) -> Result<Self, Failure> {
        let file = File::create(path).with_context(|| format!("write capture {path}"))?;
        let mut file = BufWriter::with_capacity(BUFFER, file);
        let head = head(points);
        let result = file.write_all(&head);
        let sink = Sink::File { path: path.to_owned(), file };
        let mut capture = Self::new(sink, result, head.len());
        capture.check()?;
        Ok(capture)
    }

    /// Return a capture of at most so many bytes in memory.
    pub(super) fn in_memory(most: usize, points: &[String]) -> Self {
        let most = most.min(MOST_KEPT);
        // The kernel gives memory as it is written: nothing is moved while packets come.
        let mut bytes = Vec::with_capacity(most);
        let head = head(points);
        bytes.extend(&head);
        Self::new(Sink::Memory { bytes, most, refused: 0 }, Ok(()), head.len())
    }

    fn new(sink: Sink, result: io::Result<()>, head: usize) -> Self {
        Self { sink, block: Vec::new(), result, head: head as u64, written: Vec::new() }
    }

    /// Write one packet.
    pub(super) fn write(&mut self, point: u32, frame: &Captured<'_>) {
        self.block.clear();
        let time_ns = u64::try_from(frame.time.ns()).unwrap_or(0);
        let data = &frame.data[..frame.data.len().min(SNAP as usize)];
        pcapng::packet(&mut self.block, point, time_ns, data, frame.original);
        let at = self.written.last().map_or(self.head, |last| last.at + u64::from(last.length));
        // A block has at most SNAP bytes of a packet.
        let written = Written { time_ns, at, length: self.block.len() as u32 };
        match &mut self.sink {
            Sink::File { file, .. } if self.result.is_ok() => {
                self.result = file.write_all(&self.block);
                self.written.push(written);
            }
            Sink::File { .. } => {}
            // After the first packet without room no other is kept: what is there has no gap.
            Sink::Memory { bytes, most, refused } => {
                if *refused == 0 && bytes.len() + self.block.len() <= *most {
                    bytes.extend_from_slice(&self.block);
                    self.written.push(written);
                } else {
                    *refused += 1;
                }
            }
        }
    }

    /// Return the first error so far, e.g. a full disk.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        let result = std::mem::replace(&mut self.result, Ok(()));
        result.with_context(|| match &self.sink {
            Sink::File { path, .. } => format!("write capture {path}"),
            Sink::Memory { .. } => "keep a capture".to_owned(),
        })
    }

    /// Write buffered data, with the packets in the order of time. Return those that found no room.
    pub(super) fn finish(&mut self) -> Result<u64, Failure> {
        let runs = in_time(std::mem::take(&mut self.written));
        let refused = match &mut self.sink {
            Sink::File { path, file } => {
                self.result = file.flush();
                if self.result.is_ok() && !runs.is_empty() {
                    self.result = sort_file(path, self.head, &runs);
                }
                0
            }
            Sink::Memory { bytes, refused, .. } => {
                if !runs.is_empty() {
                    *bytes = sorted(bytes, self.head as usize, &runs);
                }
                *refused
            }
        };
        self.check()?;
        Ok(refused)
    }

    /// Return the capture itself, if it is in memory.
    pub(super) fn kept(&self) -> &[u8] {
        match &self.sink {
            Sink::File { .. } => &[],
            Sink::Memory { bytes, .. } => bytes,
        }
    }
}

/// Return the beginning of a capture with one interface for each point.
fn head(points: &[String]) -> Vec<u8> {
    let mut block = Vec::new();
    pcapng::section_header(&mut block);
    for point in points {
        pcapng::interface(&mut block, point, SNAP);
    }
    block
}

/// A part of a capture: where it begins and ends.
type Part = (u64, u64);

/// Return the parts of a capture in the order that sorts its packets by time; no part if they are sorted.
/// Packets that follow each other in both orders are one part.
fn in_time(mut written: Vec<Written>) -> Vec<Part> {
    if written.is_sorted_by_key(|packet| packet.time_ns) {
        return Vec::new();
    }
    written.sort_by_key(|packet| packet.time_ns);
    let mut parts: Vec<Part> = Vec::new();
    for packet in written {
        let end = packet.at + u64::from(packet.length);
        match parts.last_mut() {
            Some(last) if last.1 == packet.at => last.1 = end,
            _ => parts.push((packet.at, end)),
        }
    }
    parts
}

/// Return a capture with its parts in another order.
fn sorted(bytes: &[u8], head: usize, parts: &[Part]) -> Vec<u8> {
    let mut made = Vec::with_capacity(bytes.len());
    made.extend_from_slice(&bytes[..head]);
    for &(start, end) in parts {
        made.extend_from_slice(&bytes[start as usize..end as usize]);
    }
    made
}

/// Write a capture's parts in another order into a file that then takes its place.
fn sort_file(path: &str, head: u64, parts: &[Part]) -> io::Result<()> {
    let written = File::open(path)?;
    let beside = format!("{path}.sorted");
    let copied = write_parts(&written, &beside, [(0, head)].iter().chain(parts));
    let done = copied.and_then(|()| fs::rename(&beside, path));
    if done.is_err() {
        // The first error is the one to report; the capture itself is still there.
        let _ = fs::remove_file(&beside);
    }
    done
}

fn write_parts<'a>(
    from: &File,
    path: &str,
    parts: impl Iterator<Item = &'a Part>,
) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(BUFFER, File::create_new(path)?);
    let mut piece = Vec::new();
    for &(start, end) in parts {
        let mut at = start;
        while at < end {
            let most = (end - at).min(BUFFER as u64) as usize;
            piece.resize(most, 0);
            from.read_exact_at(&mut piece, at)?;
            file.write_all(&piece)?;
            at += most as u64;
        }
    }
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_in_the_order_of_time_and_those_of_one_time_as_they_came() {
        let packet = |time_ns, at| Written { time_ns, at, length: 2 };
        let bytes = b"head001122334455";
        let came = [5, 6, 2, 6, 7, 1].into_iter().zip((4..).step_by(2));
        let parts = in_time(came.map(|(time_ns, at)| packet(time_ns, at)).collect());
        assert_eq!(sorted(bytes, 4, &parts), b"head552200113344");
        assert_eq!(parts, [(14, 16), (8, 10), (4, 8), (10, 14)], "neighbours are one part");
        assert_eq!(in_time(vec![packet(1, 4), packet(1, 6), packet(2, 8)]), []);
    }
}
