//! A program that holds a frame within the kernel until it is due (`bpf/gate.c`). The sender enters the kernel some
//! microseconds early, so what the kernel has to do before a frame reaches its interface does not make it late.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use aya::EbpfLoader;
use aya::programs::links::FdLink;
use aya::programs::tc::{SchedClassifierLink, TcAttachType};
use aya::programs::{LinkOrder, SchedClassifier};

use super::attach_first;
use crate::bpf::{SharedArray, classifier, refused};
use crate::clock::{Monotonic, Span};
use crate::clsact::attach_to_sent;
use crate::socket::packet_socket::{self, FrameBatch};

/// The compiled `bpf/gate.c`, aligned as the loader needs it.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/gate.o");
const NAME: &str = "lo";
/// The mark of frames to be held: `MARK` in `bpf/gate.c`.
const MARK: u32 = 0xd1a7;
/// The places in `GATE`: as in `bpf/gate.c`.
const DUE: u32 = 0;
const BY: u32 = 1;
const COPY: u32 = 2;
const ARRIVED: u32 = 3;
const OPENED: u32 = 4;
const LEFT: u32 = 5;
const RESULT: u32 = 6;
/// The longest time for which the program holds a frame.
pub const LONGEST: Span = Span::from_ns(10_000);

/// The number of frames of which one is sent as a copy, which says when it left.
const ONE_OF: u32 = 64;
/// The learning step for the time from the gate's opening until a copy has left. A step up or down for each settles at
/// their median.
const STEP: Span = Span::from_ns(10);

/// The fate of a frame.
#[derive(Debug)]
pub enum Passed {
    /// The gate let it go.
    Left {
        /// The time at which the frame reached the gate.
        arrived: Monotonic,
        /// The time at which the gate opened.
        opened: Monotonic,
        /// The time at which its interface had taken it: exact for a copy. For another frame it is the median of what
        /// copies take after the gate's opening, and copies take longer.
        left: Monotonic,
    },
    /// It was not sent, or its interface did not take it.
    NotSent,
}

/// A gate at the loopback of a network namespace.
#[derive(Debug)]
pub struct Gate {
    shared: SharedArray,
    socket: OwnedFd,
    /// The socket by which interfaces are asked whether they are up.
    asking: OwnedFd,
    batch: FrameBatch,
    /// The number of frames until the next copy.
    until_copy: u32,
    /// The time that a copy needs to leave after the gate's opening, as learned from the first copy on.
    leaving: Option<Span>,
    /// True once a frame was not sent: then no other is tried.
    shut: bool,
    _attached: Attached,
}

/// The program at the loopback, which is detached on drop.
#[derive(Debug)]
enum Attached {
    /// A filter, which ends with the network namespace. The kernel detaches a link when its process ends, under its lock of
    /// all network configuration (kernel/bpf/tcx.c, `tcx_link_release`). While it removes the namespaces of a large lab, a
    /// process waits for that lock for a second.
    Filter { _link: SchedClassifierLink },
    /// A link, which ends with its process: so none is left in a namespace that outlives it.
    Link { _link: FdLink },
}

impl Attached {
    fn new(program: &mut SchedClassifier, own: bool) -> io::Result<Self> {
        if own && let Ok(link) = attach_to_sent(program, NAME) {
            return Ok(Self::Filter { _link: link });
        }
        let link = attach_first(program, NAME, TcAttachType::Egress, LinkOrder::first())?;
        Ok(Self::Link { _link: link })
    }
}

impl Gate {
    /// Attach the program to the loopback of the calling thread's network namespace, as long as the result lives.
    /// `own` is true if that namespace ends with its processes: one that is killed then leaves the program there.
    /// Needs `CAP_BPF` and `CAP_NET_ADMIN` outside of user namespaces, and Linux 6.6. Fails with the loader's text
    /// where the kernel lets no programs in.
    pub fn open(own: bool) -> io::Result<Self> {
        let mut object = EbpfLoader::new().btf(None).load(OBJECT).map_err(refused)?;
        let program = classifier(&mut object, "hold")?;
        program.load().map_err(refused)?;
        let attached = Attached::new(program, own)?;
        let socket = packet_socket::open()?;
        packet_socket::mark(socket.as_fd(), MARK)?;
        packet_socket::bind(socket.as_fd(), nix::net::if_::if_nametoindex(NAME)?, 0)?;
        let shared = SharedArray::of(&object, "GATE")?;
        Ok(Self {
            shared,
            socket,
            asking: packet_socket::open()?,
            batch: FrameBatch::new(1),
            until_copy: 0,
            leaving: None,
            shut: false,
            _attached: attached,
        })
    }

    /// Send a frame by an interface of the gate's network namespace once it is due, and not before: at most
    /// [`LONGEST`] from now, else it is not sent.
    pub fn send(&mut self, frame: &[u8], by: u32, due: Monotonic) -> Passed {
        // The frame's interface is asked while there is time: afterwards only a copy says whether it was taken.
        if self.shut || !packet_socket::is_up(self.asking.as_fd(), by) {
            return Passed::NotSent;
        }
        let copy = self.until_copy == 0;
        self.until_copy = if copy { ONE_OF - 1 } else { self.until_copy - 1 };
        self.pass(frame, by, due, copy);
        let time = |place| Monotonic::from_ns(self.shared.get(place).cast_signed());
        let (arrived, opened) = (time(ARRIVED), time(OPENED));
        if opened == Monotonic::default() {
            self.shut = true;
            return Passed::NotSent;
        }
        if !copy {
            let left = opened + self.leaving.unwrap_or(Span::ZERO);
            return Passed::Left { arrived, opened, left };
        }
        // What an interface without a queue does not take, whatever the reason, is lost.
        if self.shared.get(RESULT) != 0 {
            return Passed::NotSent;
        }
        let left = time(LEFT);
        self.learn(left - opened);
        Passed::Left { arrived, opened, left }
    }

    /// Send a frame at once, whatever becomes of it, as the next one is sent.
    pub fn warm_up(&mut self, frame: &[u8], by: u32) {
        if !self.shut {
            self.pass(frame, by, Monotonic::default(), self.until_copy == 0);
        }
    }

    fn pass(&mut self, frame: &[u8], by: u32, due: Monotonic, copy: bool) {
        self.shared.set(OPENED, 0);
        self.shared.set(DUE, due.ns().cast_unsigned());
        self.shared.set(BY, by.into());
        self.shared.set(COPY, copy.into());
        // The program, not the kernel, says whether the frame was let go: it drops the original of a copy.
        let _ = self.batch.send(self.socket.as_fd(), std::iter::once((None, frame)));
    }

    fn learn(&mut self, took: Span) {
        let before = self.leaving.unwrap_or(took);
        let step = if took > before { STEP } else { STEP * -1 };
        self.leaving = Some((before + step).max(Span::ZERO));
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use netlink_packet_route::RouteNetlinkMessage;
    use netlink_packet_route::link::{LinkFlags, LinkMessage};

    use super::*;
    use crate::clock::{EpochOffset, Realtime};
    use crate::netlink;
    use crate::process::{Namespaces, namespace};
    use crate::ring::frames::FrameRing;
    use crate::socket::filter::Program;
    use crate::stamps;

    const LOOPBACK: u32 = 1;
    const FRAME: [u8; 60] = [0; 60];

    /// Run a test in a network namespace of its own with a loopback that is up, if this process may make one.
    fn in_a_network(test: fn()) {
        let tried = thread::spawn(move || {
            if namespace::unshare(Namespaces::CLONE_NEWNET).is_err() {
                return;
            }
            let mut link = LinkMessage::default();
            link.header.index = LOOPBACK;
            (link.header.flags, link.header.change_mask) = (LinkFlags::Up, LinkFlags::Up);
            let flags = netlink_packet_core::NLM_F_ACK;
            let raise = netlink::encoded(RouteNetlinkMessage::SetLink(link), flags);
            assert_eq!(netlink::RouteSocket::open().unwrap().request(&raise, 0).unwrap(), None);
            test();
        });
        tried.join().unwrap();
    }

    fn ring() -> FrameRing {
        let ring =
            FrameRing::open(LOOPBACK, &Program::interfaces(&[LOOPBACK]), 64, 128, false).unwrap();
        stamps::settle().unwrap();
        ring
    }

    /// Return the receive stamp of the only frame of [`FRAME`]'s protocol that has arrived, if any.
    fn arrived(ring: &mut FrameRing) -> Option<Realtime> {
        let mut found = None;
        ring.drain(64, |captured| {
            if captured.data == FRAME {
                assert_eq!(found.replace(captured.time), None);
            }
        });
        found
    }

    #[test]
    fn a_held_frame_leaves_when_it_is_due_and_never_before() {
        in_a_network(|| {
            let mut filter = Gate::open(true).unwrap();
            assert!(matches!(filter._attached, Attached::Filter { .. }));
            hold_many(&mut filter);
            let mut link = Gate::open(false).unwrap();
            assert!(matches!(link._attached, Attached::Link { .. }));
            hold_many(&mut link);
            // The queue is not new any more.
            let mut other = Gate::open(true).unwrap();
            assert!(matches!(other._attached, Attached::Link { .. }));
            hold_many(&mut other);
        });
    }

    fn hold_many(gate: &mut Gate) {
        let mut ring = ring();
        for number in 0..20_000 {
            let (offset, within) = EpochOffset::read_exactly();
            let due = Monotonic::now() + Span::from_ns(number % 100 * 80);
            let passed = gate.send(&FRAME, LOOPBACK, due);
            let Passed::Left { arrived: at_gate, opened, left } = passed else {
                panic!("{passed:?}")
            };
            assert!(left >= opened && opened >= due && opened >= at_gate, "frame {number}");
            let stamp = arrived(&mut ring).expect("it was sent");
            assert!(stamp - offset.realtime(due) >= within * -1, "frame {number}");
        }
    }

    #[test]
    fn a_frame_that_nobody_holds_is_early_and_one_due_much_later_is_not_sent() {
        in_a_network(|| {
            let (mut gate, mut ring) = (Gate::open(true).unwrap(), ring());
            let due = Monotonic::now() + LONGEST * 100_000;
            let socket = packet_socket::open().unwrap();
            let frame = std::iter::once((Some(LOOPBACK), &FRAME[..]));
            FrameBatch::new(1).send(socket.as_fd(), frame).unwrap();
            let stamp = arrived(&mut ring).expect("it was sent");
            assert!(stamp < EpochOffset::read().realtime(due));
            assert!(matches!(gate.send(&FRAME, LOOPBACK, due), Passed::NotSent));
            assert_eq!(arrived(&mut ring), None);
        });
    }

    #[test]
    fn an_interface_that_is_not_there_refuses() {
        in_a_network(|| {
            let mut gate = Gate::open(true).unwrap();
            let passed = gate.send(&FRAME, i32::MAX as u32, Monotonic::now());
            assert!(matches!(passed, Passed::NotSent), "{passed:?}");
            let passed = gate.send(&FRAME, LOOPBACK, Monotonic::now());
            assert!(matches!(passed, Passed::Left { .. }), "the next one is sent: {passed:?}");
        });
    }
}
