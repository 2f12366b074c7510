//! The stamps of requests and answers at the interface: of the bytes of TCP streams that a probe names.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;

use delaylab_os::clock::Realtime;
use delaylab_os::ring::Captured;
use delaylab_os::ring::frames::FrameRing;
use delaylab_os::socket::control_message::Step;
use delaylab_wire::{Leg, is_corrupted};

use crate::operations::probe::by_port::StampsAtInterface;
use crate::operations::probe::log::Log;
use crate::operations::probe::observer::{BYTES, SEGMENT_RING, TAKE};
use crate::operations::probe::route;
use crate::operations::stream_bytes::Run;
use crate::operations::transport::stream_segment_in;
use crate::protocol::measuring::Probe;

/// The most runs of one direction that are kept of an exchange: the first bytes of a long answer are among them.
const MOST_RUNS: usize = 4096;

/// A sighting of bytes of a stream.
#[derive(Clone, Copy, Debug)]
struct SeenRun {
    run: Run,
    time: Realtime,
    ttl: u8,
}

/// One direction of a connection.
#[derive(Debug, Default)]
struct Direction {
    /// The sequence number of the first byte of data; `None` until the connection is opened.
    first: Option<u32>,
    /// The runs that have passed since the last request was about to be sent, in the order of time.
    runs: Vec<SeenRun>,
}

/// The stamps of a probe's streams, by a packet ring.
#[derive(Debug)]
pub(crate) struct StreamStamps {
    ring: FrameRing,
    responder_port: u16,
    /// True if the stamps are wanted, and not only the sequence numbers.
    wanted: bool,
    /// The directions of each connection, by its source port: that of requests and that of answers.
    streams: HashMap<u16, [Direction; 2]>,
    /// The packets whose stamps are still to be found.
    unstamped: Vec<u32>,
}

impl StreamStamps {
    /// Start to stamp the segments of a probe. Needs `CAP_NET_RAW`.
    pub(crate) fn open(request: &Probe, to: SocketAddr) -> io::Result<Self> {
        let interface = request.egress(to)?;
        let filter = route::filter(request, to.ip(), request.ident, 0, 0, BYTES as u32);
        let ring = FrameRing::open(interface, &filter, SEGMENT_RING, BYTES, true)?;
        let wanted = request.wanted().stack;
        Ok(Self {
            wanted,
            ring,
            responder_port: to.port(),
            streams: HashMap::new(),
            unstamped: Vec::new(),
        })
    }

    /// From now on take the segments of a source port for those of a new connection.
    pub(crate) fn expect(&mut self, source_port: u16) {
        self.streams.insert(source_port, Default::default());
    }

    /// Forget what has passed on a connection: a request follows.
    pub(crate) fn begin(&mut self, source_port: u16) {
        self.drain();
        for direction in self.streams.get_mut(&source_port).into_iter().flatten() {
            direction.runs.clear();
        }
    }

    /// Forget a connection that has ended.
    pub(crate) fn forget(&mut self, source_port: u16) {
        self.streams.remove(&source_port);
    }

    /// Take the segments that have passed the interface.
    fn drain(&mut self) {
        let Self { ring, responder_port, streams, .. } = self;
        ring.drain(TAKE, |frame| note(&frame, *responder_port, streams));
    }

    /// Return the sequence number of a byte of a connection, by its place in the stream; `None` if the ring did not
    /// see how the connection was opened.
    pub(crate) fn sequence(&self, source_port: u16, leg: Leg, place: u64) -> Option<u32> {
        let first = self.streams.get(&source_port)?[leg as usize].first?;
        // Sequence numbers wrap.
        Some(first.wrapping_add(place as u32))
    }

    /// Find the stamps of a packet's request and answer from now on.
    pub(crate) fn await_stamps(&mut self, place: u32) {
        self.unstamped.push(place);
    }

    /// Return the first sighting of a byte, by its sequence number.
    fn seen(&self, source_port: u16, leg: Leg, sequence: u32) -> Option<SeenRun> {
        let runs = &self.streams.get(&source_port)?[leg as usize].runs;
        let has = |seen: &&SeenRun| sequence.wrapping_sub(seen.run.sequence) < seen.run.length;
        runs.iter().find(has).copied()
    }
}

impl StampsAtInterface for StreamStamps {
    /// Record the stamps of requests that were sent, and of the first bytes of answers.
    fn take(&mut self, log: &mut Log) {
        self.drain();
        let mut unstamped = std::mem::take(&mut self.unstamped);
        unstamped.retain(|place| {
            let exchange = log.exchanges[*place as usize];
            let seen = |leg, byte: Option<u32>| self.seen(exchange.port, leg, byte?);
            if let Some(sent) = seen(Leg::Request, exchange.asked).filter(|_| self.wanted)
                && log.awaits(*place, Step::Stack, sent.time)
            {
                log.note_transmit(*place, Step::Stack, sent.time);
            }
            let came = seen(Leg::Reply, exchange.first);
            if let Some(came) = came.filter(|_| self.wanted) {
                log.note_arrival(*place, came.time, came.ttl);
            }
            came.is_none() && log.entries[*place as usize].error == 0 && exchange.whole.is_none()
        });
        self.unstamped = unstamped;
    }

    fn check(&self) -> io::Result<()> {
        self.ring.check()
    }
}

/// Record a segment of one of the streams.
fn note(frame: &Captured<'_>, responder_port: u16, streams: &mut HashMap<u16, [Direction; 2]>) {
    let Ok(Some(segment)) = stream_segment_in(frame.data, responder_port) else { return };
    let leg = segment.packet.leg;
    // An incoming packet that is corrupted is dropped by the kernel, which awaits another one.
    if frame.outgoing != (leg == Leg::Request) || (!frame.outgoing && is_corrupted(frame.data)) {
        return;
    }
    let Some(directions) = streams.get_mut(&segment.packet.port) else { return };
    let direction = &mut directions[leg as usize];
    if segment.opens {
        direction.first = Some(segment.run.sequence);
    }
    if segment.run.length > 0 && direction.runs.len() < MOST_RUNS {
        let (run, ttl) = (segment.run, segment.packet.ttl);
        direction.runs.push(SeenRun { run, time: frame.time, ttl });
    }
}
