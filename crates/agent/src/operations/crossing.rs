//! `send-frames` and `await-frames`: frames that try whether a link's interfaces on two machines reach each other.
//!
//! A frame is of EtherType 0x88b5 ("local experimental", IEEE 802, 9.2.4) and goes no further than the interface that
//! awaits it: a tunnel's are sent to an address that bridges drop, and a LAN port's program drops the EtherType
//! (`crates/os/bpf/lan.c`). A packet socket sees them before.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use delaylab_os::clock::{Monotonic, Span};
use delaylab_os::files::poll::{self, Interest};
use delaylab_os::interface::interface_index;
use delaylab_os::socket::filter::Program;
use delaylab_os::socket::packet_socket::{self, FrameBatch};
use delaylab_os::socket::{LARGE_BUFFER, set_buffers};
use delaylab_proto::{Context, Failure};
use delaylab_wire::ETHERNET_HEADER;

use crate::protocol::crossing::{
    AwaitFrames, AwaitFramesDone, CrossingFrame, SendFrames, SendFramesDone,
};
use crate::protocol::running::Event;
use crate::session::Session;

const ETHER_TYPE: u16 = 0x88b5;
const MAGIC: u32 = u32::from_be_bytes(*b"dlxf");
/// The offsets in a frame's payload: the magic number, the nonce, the frame's number, its size.
const NONCE: usize = 4;
const NUMBER: usize = 12;
const SIZE: usize = 16;
const HEADER: usize = 20;
/// The shortest payload of an Ethernet frame, and the longest that a frame's header can state.
const SHORTEST: usize = 46;
const LONGEST: usize = 65_535;
/// The time after which all frames are sent again for the first time; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const AT_ONCE: usize = 64;

/// Send frames in rounds until `stop`.
pub(super) fn send_frames(
    request: SendFrames,
    session: &mut Session,
) -> Result<SendFramesDone, Failure> {
    let what = "send frames to other machines";
    let sender = Sender::open(&request)?;
    let (mut sent, mut pause) = (0, FIRST_PAUSE);
    let mut next = Some(Monotonic::now());
    let mut left = request.rounds;
    session.event(&Event::READY)?;
    while !session.must_end()? {
        let now = Monotonic::now();
        if next.is_some_and(|next| next <= now) {
            sent += sender.send_all();
            left = left.saturating_sub(1);
            next = (left > 0).then(|| now + span(pause));
            pause *= 2;
        }
        let timeout = next.map(|next| duration(next - Monotonic::now()));
        poll::wait(&[(session.input(), Interest::Read)], timeout).context(what)?;
    }
    Ok(SendFramesDone { sent })
}

/// The frames of a request, each with the index of its interface.
struct Sender {
    socket: OwnedFd,
    frames: Vec<(u32, Vec<u8>)>,
}

impl Sender {
    fn open(request: &SendFrames) -> Result<Self, Failure> {
        let mut indices = HashMap::new();
        let mut frames = Vec::with_capacity(request.frames.len());
        for frame in &request.frames {
            if !(SHORTEST..=LONGEST).contains(&frame.size) {
                let why = format!("{} bytes are not {SHORTEST} to {LONGEST}", frame.size);
                return Err(Failure::new("send frames to other machines", why));
            }
            let index = match indices.get(frame.by.as_str()) {
                Some(&index) => index,
                None => {
                    let index = index_of(&frame.by)?;
                    indices.insert(frame.by.as_str(), index);
                    index
                }
            };
            frames.push((index, written(frame, request.nonce)));
        }
        let socket = packet_socket::open().context("open a packet socket")?;
        // With the system's default buffer the kernel refuses frames that an interface cannot take at once.
        let _ = packet_socket::widen(socket.as_fd(), LARGE_BUFFER);
        Ok(Self { socket, frames })
    }

    /// Send all frames once; return how many the kernel took. Those that it does not take are sent in the next round.
    fn send_all(&self) -> u64 {
        let (mut batch, mut sent, mut left) = (FrameBatch::new(AT_ONCE), 0, &self.frames[..]);
        while !left.is_empty() {
            let some = left.iter().take(AT_ONCE).map(|(index, frame)| (Some(*index), &frame[..]));
            match batch.send(self.socket.as_fd(), some) {
                Ok(taken) => {
                    sent += taken as u64;
                    left = &left[taken.max(1)..];
                }
                Err(_) => left = &left[1..],
            }
        }
        sent
    }
}

/// Return a frame as it is sent.
fn written(frame: &CrossingFrame, nonce: u64) -> Vec<u8> {
    let mut bytes = vec![0; ETHERNET_HEADER + frame.size];
    bytes[..6].copy_from_slice(&frame.to.0);
    bytes[6..12].copy_from_slice(&frame.source.0);
    bytes[12..14].copy_from_slice(&ETHER_TYPE.to_be_bytes());
    let payload = &mut bytes[ETHERNET_HEADER..];
    payload[..NONCE].copy_from_slice(&MAGIC.to_be_bytes());
    payload[NONCE..NUMBER].copy_from_slice(&nonce.to_be_bytes());
    payload[NUMBER..SIZE].copy_from_slice(&frame.number.to_be_bytes());
    payload[SIZE..HEADER].copy_from_slice(&(frame.size as u32).to_be_bytes());
    bytes
}

/// Return the number of a frame of a trial that has arrived whole. `length` is that of the frame on the wire.
fn read(bytes: &[u8], length: usize, nonce: u64) -> Option<u32> {
    let payload = bytes.get(ETHERNET_HEADER..ETHERNET_HEADER + HEADER)?;
    let word = |at: usize| payload[at..].first_chunk().map(|word| u32::from_be_bytes(*word));
    let its_nonce = payload[NONCE..].first_chunk().map(|nonce| u64::from_be_bytes(*nonce));
    let ours = word(0) == Some(MAGIC) && its_nonce == Some(nonce);
    let whole = length >= ETHERNET_HEADER + word(SIZE)? as usize;
    if ours && whole { word(NUMBER) } else { None }
}

/// Wait for frames until all have arrived, the time is over, or `stop`.
pub(super) fn await_frames(
    request: AwaitFrames,
    session: &mut Session,
) -> Result<AwaitFramesDone, Failure> {
    let what = "await frames of other machines";
    let AwaitFrames { nonce, frames, timeout_ns } = request;
    let mut indices: HashMap<&str, u32> = HashMap::new();
    for frame in &frames {
        if !indices.contains_key(frame.by.as_str()) {
            indices.insert(&frame.by, index_of(&frame.by)?);
        }
    }
    let awaited: HashSet<(u32, u32)> =
        frames.iter().map(|frame| (frame.number, indices[frame.by.as_str()])).collect();
    let socket = packet_socket::open().context("open a packet socket")?;
    let _ = set_buffers(socket.as_fd(), LARGE_BUFFER);
    packet_socket::ignore_sent(socket.as_fd());
    Program::of_ether_type(ETHER_TYPE, MAGIC).attach(socket.as_fd()).context(what)?;
    packet_socket::bind(socket.as_fd(), 0, packet_socket::ALL).context(what)?;
    session.event(&Event::READY)?;
    let end = Monotonic::now() + Span::from_ns(timeout_ns.min(i64::MAX as u64).cast_signed());
    let mut arrived = BTreeSet::new();
    let mut buffer = [0; ETHERNET_HEADER + HEADER];
    while arrived.len() < awaited.len() && !session.must_end()? {
        let now = Monotonic::now();
        if now >= end {
            break;
        }
        let on = [(session.input(), Interest::Read), (socket.as_fd(), Interest::Read)];
        if !poll::wait(&on, Some(duration(end - now))).context(what)?[1] {
            continue;
        }
        while let Ok((length, interface)) = packet_socket::receive(socket.as_fd(), &mut buffer) {
            let number = read(&buffer[..length.min(buffer.len())], length, nonce);
            arrived.extend(number.filter(|&number| awaited.contains(&(number, interface))));
        }
    }
    Ok(AwaitFramesDone { arrived: arrived.into_iter().collect() })
}

fn index_of(name: &str) -> Result<u32, Failure> {
    interface_index(name).with_context(|| format!("find {name}"))
}

fn span(of: Duration) -> Span {
    Span::from_ns(i64::try_from(of.as_nanos()).unwrap_or(i64::MAX))
}

fn duration(of: Span) -> Duration {
    Duration::from_nanos(u64::try_from(of.ns()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::mac::Mac;

    const NONCE_OF_TEST: u64 = 0x0123_4567_89ab_cdef;

    fn frame(size: usize) -> Vec<u8> {
        let (source, to) = (Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2]));
        let frame = CrossingFrame { number: 7, by: "x".into(), source, to, size };
        written(&frame, NONCE_OF_TEST)
    }

    #[test]
    fn a_whole_frame_is_read_as_it_was_written() {
        for size in [SHORTEST, 1500, LONGEST] {
            let bytes = frame(size);
            assert_eq!(read(&bytes, bytes.len(), NONCE_OF_TEST), Some(7));
            assert_eq!(read(&bytes, bytes.len() - 1, NONCE_OF_TEST), None, "it was cut");
            assert_eq!(read(&bytes, bytes.len(), NONCE_OF_TEST + 1), None, "another trial's");
        }
        assert_eq!(read(&frame(SHORTEST)[..20], 20, NONCE_OF_TEST), None);
    }
}
