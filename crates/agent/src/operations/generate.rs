//! `generate`: one-way UDP frames in an open loop, by one or many interfaces.
//!
//! Frame i is to be sent at start + i × interval, whatever happens to the others. All frames that are due are
//! sent in one system call. Nobody needs to answer: taps and counters record what arrived.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use delaylab_os::clock::{Monotonic, Realtime, Span};
use delaylab_os::interface::{facts, interface_index};
use delaylab_os::process::scheduling;
use delaylab_os::socket::packet_socket::{self, FrameBatch};
use delaylab_proto::{Context, Failure};
use delaylab_wire::{
    ETHERNET_HEADER, EtherType, EthernetRepr, IPV4_HEADER, IpRepr, PROBE_HEADER, ProbeRepr,
    Protocol, UDP_HEADER, UdpRepr, pseudo_header,
};

use crate::protocol::generating::{Flow, Generate, GenerateDone};
use crate::protocol::running::Event;
use crate::session::Session;
use crate::timing::lateness::Lateness;
use crate::timing::pace::Pace;

/// The longest time between two checks for the client's orders.
const ORDERS: Span = Span::from_ns(50_000_000);
const BUFFERS: usize = 64 << 20;

/// Serve one request: send frames until all are sent or the client stops it.
pub(super) fn serve(request: Generate, session: &mut Session) -> Result<GenerateDone, Failure> {
    request.check()?;
    let mut generator = Generator::open(&request)?;
    // It counts as a thread without CPUs of its own, even if it is bound to some: nodes that receive may have
    // the same ones, and must be able to answer while it sends.
    let (pace, refused) = Pace::new(request.realtime, scheduling::online_cpus());
    session.event(&Event::READY)?;
    generator.run(pace, session)?;
    let Generator { next, refused: not_taken, slip, began, ended, .. } = generator;
    Ok(GenerateDone {
        sent: u64::from(next) - not_taken,
        refused: not_taken,
        slip: slip.summary(),
        began_ns: began.ns(),
        ended_ns: ended.ns(),
        realtime: request.realtime && refused.is_none(),
        not_realtime: refused,
    })
}

/// The length of the shortest frame: the headers and Ethernet's padding (60 bytes, 64 with the check
/// sequence).
const SHORTEST: usize = 60;
const LONGEST: usize = 9014;

/// The offset of the probe header in a frame.
const PAYLOAD: usize = ETHERNET_HEADER + IPV4_HEADER + UDP_HEADER;

impl Generate {
    /// Check the limits of a request.
    fn check(&self) -> Result<(), Failure> {
        let wrong = |why: String| Err(Failure::new("generate frames", why));
        if self.flows.is_empty() {
            return wrong("no flow is given".into());
        }
        if !(SHORTEST..=LONGEST).contains(&self.size) {
            return wrong(format!("{} bytes are not {SHORTEST} to {LONGEST}", self.size));
        }
        if !(1..=1024).contains(&self.batch) {
            return wrong(format!("a batch of {} is not 1 to 1024", self.batch));
        }
        Ok(())
    }
}

struct Generator<'a> {
    request: &'a Generate,
    socket: OwnedFd,
    batch: FrameBatch,
    /// A frame for each slot of a batch, of which only some fields change.
    frames: Vec<Vec<u8>>,
    /// The interface index of each flow.
    interfaces: Vec<u32>,
    /// The MAC address of each flow's interface.
    macs: Vec<[u8; 6]>,
    next: u32,
    spacing: Spacing,
    refused: u64,
    slip: Lateness,
    began: Realtime,
    ended: Realtime,
}

impl<'a> Generator<'a> {
    fn open(request: &'a Generate) -> Result<Self, Failure> {
        let interfaces = request.flows.iter().map(|flow| {
            interface_index(&flow.interface).with_context(|| format!("find {}", flow.interface))
        });
        let interfaces = interfaces.collect::<Result<_, _>>()?;
        let macs = request.flows.iter().map(|flow| {
            let facts = facts(&flow.interface);
            facts.map(|facts| facts.mac).with_context(|| format!("ask about {}", flow.interface))
        });
        let macs = macs.collect::<Result<_, _>>()?;
        let socket = packet_socket::open().context("open a packet socket")?;
        // With the system's default buffer the kernel refuses frames that an interface cannot take at once.
        let _ = packet_socket::widen(socket.as_fd(), BUFFERS);
        Ok(Self {
            request,
            socket,
            batch: FrameBatch::new(request.batch),
            frames: vec![vec![0; request.size]; request.batch],
            interfaces,
            macs,
            next: 0,
            spacing: Spacing::of(request.interval_ns),
            refused: 0,
            slip: Lateness::default(),
            began: Realtime::default(),
            ended: Realtime::default(),
        })
    }

    fn run(&mut self, mut pace: Pace, session: &mut Session) -> Result<(), Failure> {
        let start = Monotonic::now();
        self.began = Realtime::now();
        let mut looked = start;
        while self.next < self.request.count {
            let now = pace.keep(Monotonic::now()).context("wait for the next frame")?;
            if now - looked > ORDERS {
                looked = now;
                if session.must_end()? {
                    break;
                }
            }
            let due = self.spacing.not_before(start + self.intended(self.next));
            if due <= now {
                self.send(start, now)?;
            } else {
                let input = session.input();
                pace.wait(now, Some(due), [input, input]).context("wait for the next frame")?;
            }
        }
        // By the clock at the start, so that the duration is right if somebody sets it.
        self.ended = self.began + (Monotonic::now() - start);
        Ok(())
    }

    /// Return a frame's intended time after the start.
    fn intended(&self, number: u32) -> Span {
        Span::from_ns((u64::from(number) * self.request.interval_ns).cast_signed())
    }

    /// Send the frames that are due by now, at most one batch.
    fn send(&mut self, start: Monotonic, now: Monotonic) -> Result<(), Failure> {
        let first = self.next;
        let mut end = first;
        while end < self.request.count
            && (end - first) < self.request.batch as u32
            && self.spacing.not_before(start + self.intended(end)) <= now
        {
            self.spacing.sent(now);
            let which = end as usize % self.request.flows.len();
            let flow = &self.request.flows[which];
            let due = start + self.intended(end);
            self.slip.record(now - due);
            // Nobody answers them.
            let header = ProbeRepr { probe: self.request.probe, seq: end, nonce: 0 };
            let frame = &mut self.frames[(end - first) as usize];
            write(flow, self.macs[which], self.request.port, header, frame);
            end += 1;
        }
        while self.next < end {
            let frames = (self.next..end).map(|number| {
                let interface = self.interfaces[number as usize % self.interfaces.len()];
                (Some(interface), self.frames[(number - first) as usize].as_slice())
            });
            match self.batch.send(self.socket.as_fd(), frames) {
                Ok(taken) => self.next += taken as u32,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.raw_os_error() == Some(nix::errno::Errno::ENETDOWN as i32) => {
                    return Err(Failure::new("generate frames", error));
                }
                Err(_) => {
                    self.refused += 1;
                    self.next += 1;
                }
            }
        }
        Ok(())
    }
}

/// Write one frame over the whole of `frame`. Its source is the interface's own address: a link on a LAN takes
/// frames of its nodes alone.
fn write(flow: &Flow, mac: [u8; 6], port: u16, header: ProbeRepr, frame: &mut [u8]) {
    EthernetRepr { to: flow.to_mac.0, from: mac, ether_type: EtherType::Ipv4 }.emit(frame);
    let (from, to) = (flow.from.into(), flow.to.into());
    let packet = &mut frame[ETHERNET_HEADER..];
    IpRepr { from, to, protocol: Protocol::Udp, ttl: 64 }.emit(packet);
    let length = frame.len() - ETHERNET_HEADER - IPV4_HEADER;
    if frame.len() >= PAYLOAD + PROBE_HEADER {
        header.emit(&mut frame[PAYLOAD..]);
    } else {
        frame[PAYLOAD..PAYLOAD + 4].copy_from_slice(&header.seq.to_be_bytes());
    }
    let pseudo = pseudo_header(from, to, Protocol::Udp as u8, length);
    UdpRepr { from_port: port, to_port: port }
        .emit(&mut frame[ETHERNET_HEADER + IPV4_HEADER..], pseudo);
}

/// The catch-up rate, as a multiple of the configured rate. This keeps a stall from filling queues with one
/// burst.
const FASTER: u64 = 2;
/// The span of due frames that may be sent at once.
const AT_ONCE: Span = Span::from_ns(50_000);

/// The earliest time at which the next frame may leave, however late it is.
pub(super) struct Spacing {
    least: Span,
    free: Monotonic,
}

impl Spacing {
    /// Build the spacing for frames with this interval.
    pub(super) fn of(interval_ns: u64) -> Self {
        Self {
            least: Span::from_ns((interval_ns / FASTER).cast_signed()),
            free: Monotonic::from_ns(i64::MIN),
        }
    }

    /// Return the time at which a frame that is due at `due` may leave.
    fn not_before(&self, due: Monotonic) -> Monotonic {
        self.free.max(due)
    }

    /// Record that a frame leaves.
    pub(super) fn sent(&mut self, now: Monotonic) {
        self.free = self.free.max(now - AT_ONCE) + self.least;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_cannot_be_sent_is_refused() {
        let flow = json!({"interface": "eth0", "to_mac": "02:0:0:0:0:1", "from": "10.0.0.1", "to": "10.0.0.2"});
        let good = json!({"flows": [flow], "probe": 1, "count": 1, "interval_ns": 0, "size": 60, "port": 9});
        let check = |field: &str, value: serde_json::Value| {
            let mut request = good.clone();
            request[field] = value;
            serde_json::from_value::<Generate>(request).unwrap().check().map_err(|error| error.why)
        };
        assert_eq!(check("size", json!(9014)), Ok(()));
        for (field, value, why) in [
            ("flows", json!([]), "no flow is given"),
            ("size", json!(59), "59 bytes are not 60 to 9014"),
            ("size", json!(9015), "9015 bytes are not 60 to 9014"),
            ("batch", json!(0), "a batch of 0 is not 1 to 1024"),
        ] {
            assert_eq!(check(field, value), Err(why.to_owned()));
        }
    }

    const INTERVAL_NS: i64 = 20_000;
    const STALL_NS: i64 = 10_000_000;

    /// Return the send time of each frame of a generator that checks every microsecond except for one stall.
    fn sent_ns(count: i64) -> Vec<i64> {
        let mut spacing = Spacing::of(INTERVAL_NS as u64);
        let mut sent = Vec::new();
        let mut now_ns = 0;
        while (sent.len() as i64) < count {
            let due_ns = sent.len() as i64 * INTERVAL_NS;
            if spacing.not_before(Monotonic::from_ns(due_ns)).ns() <= now_ns {
                spacing.sent(Monotonic::from_ns(now_ns));
                sent.push(now_ns);
            } else {
                now_ns += if now_ns == 1_000_000 { STALL_NS } else { 1000 };
            }
        }
        sent
    }

    #[test]
    fn a_stall_is_made_up_for_at_twice_the_rate() {
        let sent = sent_ns(2000);
        for window_ns in [100_000, 1_000_000, 5_000_000] {
            let most = FASTER as i64 * window_ns / INTERVAL_NS + 2 * AT_ONCE.ns() / INTERVAL_NS + 1;
            let within = |&from: &i64| {
                sent.iter().filter(|&&at| (from..from + window_ns).contains(&at)).count()
            };
            let found = sent.iter().map(within).max().unwrap();
            assert!(found as i64 <= most, "{found} in {window_ns} ns, {most} at most");
        }
        // It has caught up after as much time again as the stall took.
        let late = |number: usize| sent[number] - number as i64 * INTERVAL_NS;
        let again = ((1_000_000 + 2 * STALL_NS) / INTERVAL_NS) as usize;
        assert!(
            late(again - 100) > 900_000 && late(again + 5) < 1000,
            "{} {}",
            late(again - 100),
            late(again + 5)
        );
    }

    #[test]
    fn as_fast_as_can_be_is_not_held_back() {
        let mut spacing = Spacing::of(0);
        for now in [7, 7, 7, 8].map(Monotonic::from_ns) {
            assert!(spacing.not_before(Monotonic::default()) <= now);
            spacing.sent(now);
        }
    }
}
