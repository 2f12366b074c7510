//! The forwarding loop: frames arrive by a ring, wait until they are due, and leave in batches.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc;

use delaylab_link::Conditions;
use delaylab_os::{clock, pipe, stamp};
use delaylab_proto::Failure;

use super::cable::{fits, length};
use super::checksum;
use super::direction::Direction;
use super::due::{Due, What};
use super::epoch::Epoch;
use super::intake::Intake;
use super::laid::Laid;
use super::orders::{Answer, Order, Whole};
use super::outbox::Outbox;
use super::pool::Pool;
use super::wire::Wire;
use crate::link::plan::{HEADER, Links};
use crate::timing::pace::Pace;

/// The number of frames received, or sent, before the loop turns to the other task.
const TURN: usize = 32;
/// The shortest time, with something due, for which the loop must not have run to count as a pause.
const PAUSE_NS: i64 = 2_000_000;
const NO_DIRECTION: u32 = u32::MAX;

/// The forwarding state of all links of a host.
pub struct Forwarder {
    intake: Intake,
    outbox: Outbox,
    pool: Pool,
    due: Due,
    directions: Vec<Direction>,
    wires: Vec<Wire>,
    /// The direction of each interface, by interface index.
    direction_of: Vec<u32>,
    epoch: Epoch,
    whole: Whole,
    awake_ns: i64,
}

/// The loop's ends of the channels for orders and answers.
pub struct Ends {
    pub orders: mpsc::Receiver<Order>,
    pub answers: mpsc::Sender<Answer>,
    /// Readable when there may be an order.
    pub wake: OwnedFd,
}

impl Forwarder {
    /// Open the ring and the sockets in the calling thread's network namespace.
    pub fn open(links: &Links, conditions: Vec<Conditions>) -> Result<Self, Failure> {
        let now_ns = clock::monotonic_ns();
        let failed = |what: &str| {
            let what = what.to_owned();
            move |error: io::Error| Failure::new(what, error)
        };
        let laid = Laid::new(links, conditions, now_ns)?;
        let interfaces = laid.interfaces();
        let Laid { directions, wires, pool } = laid;
        let intake = Intake::open(&interfaces, links.longest_frame())
            .map_err(failed("open a packet ring"))
            .map_err(|failure| failure.fix("links need CAP_NET_RAW in their host's network"))?;
        let outbox = Outbox::open(&interfaces, TURN)
            .map_err(failed("open a packet socket for each port"))
            .map_err(|failure| {
                failure.fix("each takes two files: raise the hard limit on these (ulimit -Hn)")
            })?;
        stamp::settle().map_err(failed("switch on receive stamps"))?;
        Ok(Self {
            intake,
            outbox,
            pool,
            due: Due::default(),
            direction_of: by_interface(&interfaces),
            directions,
            wires,
            epoch: Epoch::default(),
            whole: Whole::default(),
            awake_ns: now_ns,
        })
    }

    /// Return the reason why a flood on one port could keep out frames of others, if it could.
    pub fn why_undivided(&self) -> Option<&io::Error> {
        self.intake.why_undivided()
    }

    /// Forward until nobody can give orders any more.
    pub fn run(mut self, pace: &mut Pace, ends: &Ends) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::new("rest", error);
        loop {
            let now_ns = pace.keep(clock::monotonic_ns()).map_err(failed)?;
            let waited_ns = self.due.next_ns();
            // Send what is due first: arrived frames carry their stamps and can wait.
            let sent = self.send(now_ns);
            // If the loop is behind with sending it takes in less, so excess frames are dropped before they
            // cost anything.
            let (taken, first_ns) = self.receive(now_ns, if sent < TURN { TURN } else { TURN / 4 });
            self.note_pause(now_ns, waited_ns.into_iter().chain(first_ns).min());
            match ends.orders.try_recv() {
                Ok(order) => self.obey(order, pace, ends),
                Err(mpsc::TryRecvError::Disconnected) => return Ok(()),
                Err(mpsc::TryRecvError::Empty) if taken + sent == 0 => self.wait(pace, ends)?,
                Err(mpsc::TryRecvError::Empty) => self.awake_ns = now_ns,
            }
        }
    }

    fn wait(&mut self, pace: &mut Pace, ends: &Ends) -> Result<(), Failure> {
        self.awake_ns = clock::monotonic_ns();
        let failed = |error: io::Error| Failure::new("wait for frames", error);
        let on = [self.intake.fd(), ends.wake.as_fd()];
        if pace.wait(self.awake_ns, self.due.next_ns(), on).map_err(failed)? {
            pipe::read_some(ends.wake.as_fd(), &mut [0; 64]).map_err(failed)?;
        }
        Ok(())
    }

    /// Receive up to `limit` frames. Return their number and the arrival time of the first.
    fn receive(&mut self, mut now_ns: i64, limit: usize) -> (usize, Option<i64>) {
        let mut first_ns = None;
        let Self { intake, directions, wires, direction_of, pool, due, epoch, whole, .. } = self;
        let taken = intake.drain(limit, |passing| {
            let captured = passing.captured;
            // Stamps are of a clock that may be set while frames are under way.
            let stamped_ns = captured.time_ns - epoch.ahead_ns(now_ns);
            if stamped_ns > now_ns {
                // The frame arrived after `now_ns`. If its stamp is still in the future, a clock was set.
                now_ns = clock::monotonic_ns();
            }
            let arrival_ns = stamped_ns.min(now_ns);
            first_ns.get_or_insert(arrival_ns);
            let number = direction_of.get(captured.interface as usize).copied();
            let Some(number) = number.filter(|&number| number != NO_DIRECTION) else {
                whole.unknown_port += 1;
                return;
            };
            let direction = &mut directions[number as usize];
            let counts = &mut direction.counts;
            counts.entered.add(length(&passing), captured.time_ns);
            if !fits(&passing, direction.longest) {
                counts.dropped.oversize += 1;
                return;
            }
            let completed =
                if passing.finished { None } else { checksum::completed(captured.data) };
            if !passing.finished && completed.is_none() {
                counts.dropped.oversize += 1;
                return;
            }
            let data = completed.as_deref().unwrap_or(captured.data);
            wires[direction.wire].learn(data, number);
            match passing.vlan {
                None => direction.enter(arrival_ns, &[data], pool, due),
                Some(tag) => {
                    let (addresses, rest) = data.split_at(HEADER - 2);
                    direction.enter(arrival_ns, &[addresses, &tag, rest], pool, due);
                }
            }
        });
        (taken, first_ns)
    }

    /// Send what is due, including what becomes due meanwhile, up to a limit. Return the number of events
    /// processed.
    fn send(&mut self, mut now_ns: i64) -> usize {
        let mut done = 0;
        while done < TURN {
            let sent = self.send_due(now_ns, TURN - done);
            if sent == 0 {
                break;
            }
            done += sent;
            now_ns = clock::monotonic_ns();
        }
        done
    }

    /// Process the events that are due now.
    fn send_due(&mut self, now_ns: i64, limit: usize) -> usize {
        let Self { directions, wires, pool, due, outbox, epoch, .. } = self;
        let mut done = 0;
        while done < limit
            && let Some((due_ns, what)) = due.pop(now_ns)
        {
            done += 1;
            match what {
                What::Advance { direction } => {
                    directions[direction as usize].advance(due_ns, now_ns, pool, due);
                }
                What::Send { slot, direction, copies } => {
                    let wire = &wires[directions[direction as usize].wire];
                    for _ in 0..copies {
                        let ports = wire.towards(pool.frame(slot), direction);
                        outbox.add(slot, direction, due_ns, ports);
                    }
                    outbox.release(slot, direction);
                }
            }
        }
        if let Some(slot) = due.next_frame() {
            pool.prefetch(slot);
        }
        if done > 0 {
            outbox.flush(epoch.ahead_ns(now_ns), directions, pool);
        }
        done
    }

    fn note_pause(&mut self, now_ns: i64, waited_ns: Option<i64>) {
        let Some(waited_ns) = waited_ns else { return };
        let paused_ns = now_ns - waited_ns.max(self.awake_ns);
        if paused_ns > PAUSE_NS {
            self.whole.pauses += 1;
            self.whole.longest_pause_ns = self.whole.longest_pause_ns.max(paused_ns);
        }
    }

    fn obey(&mut self, order: Order, pace: &mut Pace, ends: &Ends) {
        let answer = match order {
            Order::Change { direction, conditions } => {
                let now_ns = clock::monotonic_ns();
                self.directions[direction].change(*conditions, now_ns, &mut self.due);
                return;
            }
            Order::Read { direction, reset } => {
                let direction = &mut self.directions[direction];
                let refused = self.intake.refused(direction.interface);
                let snapshot = direction.snapshot(refused);
                if reset {
                    direction.reset(refused);
                }
                Answer::Direction(Box::new(snapshot))
            }
            Order::ReadWhole { reset } => {
                // Reading the kernel's counter resets it.
                self.whole.dropped_ring += self.intake.dropped();
                let (whole, fullness, floor) = (self.whole, self.pool.fullness(), pace.floor());
                if reset {
                    self.whole = Whole::default();
                    self.pool.reset();
                    pace.reset_floor();
                }
                Answer::Whole(whole, fullness, floor)
            }
        };
        // If the receiver has ended, so will this loop in a moment.
        let _ = ends.answers.send(answer);
    }
}

fn by_interface(interfaces: &[u32]) -> Vec<u32> {
    let most = interfaces.iter().max().map_or(0, |&most| most as usize + 1);
    let mut found = vec![NO_DIRECTION; most];
    for (number, &interface) in (0..).zip(interfaces) {
        found[interface as usize] = number;
    }
    found
}
