//! A program that holds a frame within the kernel until it is due (`bpf/gate.c`). The sender enters the kernel some
//! microseconds early, so what the kernel has to do before a frame reaches its interface does not make it late.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use aya::EbpfLoader;
use aya::programs::LinkOrder;
use aya::programs::links::FdLink;
use aya::programs::tc::TcAttachType;

use super::attach_first;
use crate::bpf::{SharedArray, classifier, refused};
use crate::clock::{Monotonic, Span};
use crate::socket::packet_socket::{self, FrameBatch};

/// The compiled `bpf/gate.c`, aligned as the loader needs it.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/gate.o");
/// The mark of frames to be held: `MARK` in `bpf/gate.c`.
const MARK: u32 = 0xd1a7;
/// The places in `GATE`: as in `bpf/gate.c`.
const DUE: u32 = 0;
const BY: u32 = 1;
const ARRIVED: u32 = 2;
const LEFT: u32 = 3;
const RESULT: u32 = 4;
/// The longest time for which the program holds a frame.
pub const LONGEST: Span = Span::from_ns(10_000);

/// The fate of a frame.
#[derive(Debug)]
pub enum Passed {
    /// It was at the gate, left it at these times, and its interface took it.
    Left {
        /// The time at which the frame reached the gate.
        arrived: Monotonic,
        /// The time at which the gate opened.
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
    batch: FrameBatch,
    /// True once a frame was not sent: then no other is tried.
    shut: bool,
    _link: FdLink,
}

impl Gate {
    /// Attach the program to the loopback of the calling thread's network namespace, as long as the result lives.
    /// Needs `CAP_BPF` and `CAP_NET_ADMIN` outside of user namespaces, and Linux 6.6. Fails with the loader's text
    /// where the kernel lets no programs in.
    pub fn open() -> io::Result<Self> {
        const NAME: &str = "lo";
        let mut object = EbpfLoader::new().btf(None).load(OBJECT).map_err(refused)?;
        let program = classifier(&mut object, "hold")?;
        program.load().map_err(refused)?;
        let link = attach_first(program, NAME, TcAttachType::Egress, LinkOrder::first())?;
        let socket = packet_socket::open()?;
        packet_socket::mark(socket.as_fd(), MARK)?;
        packet_socket::bind(socket.as_fd(), nix::net::if_::if_nametoindex(NAME)?, 0)?;
        let shared = SharedArray::of(&object, "GATE")?;
        Ok(Self { shared, socket, batch: FrameBatch::new(1), shut: false, _link: link })
    }

    /// Send a frame by an interface of the gate's network namespace once it is due, and not before: at most
    /// [`LONGEST`] from now, else it is not sent.
    pub fn send(&mut self, frame: &[u8], by: u32, due: Monotonic) -> Passed {
        if self.shut {
            return Passed::NotSent;
        }
        self.shared.set(LEFT, 0);
        self.shared.set(DUE, due.ns().cast_unsigned());
        self.shared.set(BY, by.into());
        // The program drops the frame that comes this way, so this fails even if its copy was sent.
        let _ = self.batch.send(self.socket.as_fd(), std::iter::once((None, frame)));
        let time = |place| Monotonic::from_ns(self.shared.get(place).cast_signed());
        let left = time(LEFT);
        if left == Monotonic::default() {
            self.shut = true;
            return Passed::NotSent;
        }
        // What an interface without a queue does not take, whatever the reason, is lost.
        match self.shared.get(RESULT) {
            0 => Passed::Left { arrived: time(ARRIVED), left },
            _ => Passed::NotSent,
        }
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
            assert_eq!(netlink::Route::open().unwrap().request(&raise, 0).unwrap(), None);
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
            let (mut gate, mut ring) = (Gate::open().unwrap(), ring());
            for number in 0..20_000 {
                let (offset, within) = EpochOffset::read_exactly();
                let due = Monotonic::now() + Span::from_ns(number % 100 * 80);
                let passed = gate.send(&FRAME, LOOPBACK, due);
                let Passed::Left { arrived: at_gate, left } = passed else { panic!("{passed:?}") };
                assert!(left >= due && left >= at_gate, "frame {number}");
                let stamp = arrived(&mut ring).expect("it was sent");
                assert!(stamp - offset.realtime(due) >= within * -1, "frame {number}");
            }
        });
    }

    #[test]
    fn a_frame_that_nobody_holds_is_early_and_one_due_much_later_is_not_sent() {
        in_a_network(|| {
            let (mut gate, mut ring) = (Gate::open().unwrap(), ring());
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
            let mut gate = Gate::open().unwrap();
            let passed = gate.send(&FRAME, i32::MAX as u32, Monotonic::now());
            assert!(matches!(passed, Passed::NotSent), "{passed:?}");
            let passed = gate.send(&FRAME, LOOPBACK, Monotonic::now());
            assert!(matches!(passed, Passed::Left { .. }), "the next one is sent: {passed:?}");
        });
    }
}
