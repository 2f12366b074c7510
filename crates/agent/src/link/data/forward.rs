//! The forwarding loop: frames arrive by a ring, wait until they are due, and leave in batches.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::mpsc;

use delaylab_link::Conditions;
use delaylab_os::clock::{EpochOffset, Monotonic, Span};
use delaylab_os::files::descriptor;
use delaylab_os::stamps;
use delaylab_proto::{Context, Failure};
use delaylab_wire::ETHERNET_HEADER;

use super::checksum;
use super::clock_offset::ClockOffset;
use super::commands::{LoopAnswer, LoopChannels, LoopCommand, Totals};
use super::direction::{DirectionState, Event, EventQueue, UnderWay};
use super::lead::Lead;
use super::link_table::{LinkTable, Switch};
use super::passages::Passages;
use super::pool::Slot;
use super::ports::{Intake, Outbox, Outgoing, fits, length};
use crate::protocol::links::EngineLinks;
use crate::protocol::passages::Fate;
use crate::timing::pace::Pace;

/// The number of frames received, or sent, before the loop turns to the other task.
const TURN: usize = 32;
/// The shortest time, with something due, for which the loop must not have run to count as a pause.
const PAUSE: Span = Span::from_ns(2_000_000);
/// The time after the last frame in which the path of a frame through the kernel leaves the CPU's caches. A frame
/// that is sent later takes some microseconds longer, so the engine warms the path up first.
const COLD_AFTER: Span = Span::from_ns(50_000);
/// The time before a frame is due at which the engine begins to warm up, and that in which it no longer does:
/// a warm-up takes up to 10 µs, and the kernel gets the frame up to 5 µs before it is due.
const WARM_UP: Span = Span::from_ns(27_000);
const TOO_LATE_TO_WARM_UP: Span = Span::from_ns(16_000);
/// The time for which an eased loop sleeps, whatever arrives or becomes due.
const NAP: Span = Span::from_ns(1_000_000);
const NO_DIRECTION: u32 = u32::MAX;

/// The forwarding state of all links of a host.
pub(crate) struct Forwarder {
    intake: Intake,
    outbox: Outbox,
    under_way: UnderWay,
    directions: Vec<DirectionState>,
    switches: Vec<Switch>,
    /// The direction of what is received by a port, by the port's number.
    receivers: HashMap<u32, u32>,
    /// The direction of each interface, by interface index.
    direction_of: Vec<u32>,
    clock_offset: ClockOffset,
    totals: Totals,
    awake: Monotonic,
    /// The time at which the last frame was sent, or the last warm-up made.
    warm: Monotonic,
    /// True if frames may be late by up to [`NAP`].
    eased: bool,
    lead: Lead,
}

impl Forwarder {
    /// Open the ring and the sockets in the calling thread's network namespace.
    pub(crate) fn open(links: &EngineLinks, conditions: Vec<Conditions>) -> Result<Self, Failure> {
        let now = Monotonic::now();
        let table = LinkTable::new(links, conditions, now)?;
        let interfaces = table.interfaces();
        let LinkTable { directions, switches, receivers, pool } = table;
        let passages = Passages::new(pool.slots());
        let under_way = UnderWay { pool, events: EventQueue::default(), passages };
        let intake = Intake::open(&interfaces, links.longest_frame())
            .context("open a packet ring")
            .map_err(|failure| failure.fix("links need CAP_NET_RAW in their host's network"))?;
        let outbox = Outbox::open(&interfaces, TURN)
            .context("open a packet socket for each port with a queue")
            .map_err(|failure| failure.fix("raise the hard limit on open files (ulimit -Hn)"))?;
        stamps::settle().context("switch on receive stamps")?;
        Ok(Self {
            intake,
            outbox,
            under_way,
            direction_of: by_interface(&interfaces),
            directions,
            switches,
            receivers,
            clock_offset: ClockOffset::default(),
            totals: Totals::default(),
            awake: now,
            warm: now,
            eased: false,
            lead: Lead::default(),
        })
    }

    /// Return the reason why a flood on one port could keep out frames of others, if it could.
    pub(crate) fn why_undivided(&self) -> Option<&io::Error> {
        self.intake.why_undivided()
    }

    /// Forward until nobody can give commands any more.
    pub(crate) fn run(mut self, pace: &mut Pace, channels: &LoopChannels) -> Result<(), Failure> {
        loop {
            let now = pace.keep(Monotonic::now()).context("rest")?;
            let waited = self.under_way.events.next();
            // Send what is due first: arrived frames carry their stamps and can wait.
            let sent = self.send(now);
            // If the loop is behind with sending it takes in less, so excess frames are dropped before they
            // cost anything.
            let (taken, first) = self.receive(now, if sent < TURN { TURN } else { TURN / 4 });
            self.note_pause(now, waited.into_iter().chain(first).min());
            match channels.commands.try_recv() {
                Ok(command) => self.carry_out(command, pace, channels),
                Err(mpsc::TryRecvError::Disconnected) => return Ok(()),
                Err(mpsc::TryRecvError::Empty) if taken + sent == 0 => self.wait(pace, channels)?,
                Err(mpsc::TryRecvError::Empty) => self.awake = now,
            }
        }
    }

    fn wait(&mut self, pace: &mut Pace, channels: &LoopChannels) -> Result<(), Failure> {
        self.awake = Monotonic::now();
        if !self.eased && self.send_held() {
            return Ok(());
        }
        let commanded = if self.eased {
            pace.nap(NAP, channels.wake.as_fd()).context("rest")?
        } else {
            let next = self.warm_up(pace);
            let on = [self.intake.fd(), channels.wake.as_fd()];
            pace.wait(self.awake, next, on).context("wait for frames")?
        };
        if commanded {
            descriptor::read_some(channels.wake.as_fd(), &mut [0; 64])
                .context("wait for frames")?;
        }
        Ok(())
    }

    /// Warm up the path of the next frame if it is due soon and the last one is long ago. Return the time at which
    /// the loop must be awake again, if anything is due.
    fn warm_up(&mut self, pace: &Pace) -> Option<Monotonic> {
        let next = self.under_way.events.next()?;
        let cold = pace.is_realtime() && next - self.warm > COLD_AFTER;
        let left = next - self.awake;
        if !cold || left <= TOO_LATE_TO_WARM_UP {
            return Some(next);
        }
        if left <= WARM_UP {
            self.outbox.warm_up();
            self.warm = Monotonic::now();
            self.awake = self.warm;
            return Some(next);
        }
        Some(next - TOO_LATE_TO_WARM_UP)
    }

    /// Receive up to `limit` frames. Return their number and the arrival time of the first.
    fn receive(&mut self, mut now: Monotonic, limit: usize) -> (usize, Option<Monotonic>) {
        let mut first = None;
        let Self {
            intake,
            directions,
            switches,
            direction_of,
            under_way,
            clock_offset,
            totals,
            ..
        } = self;
        let taken = intake.drain(limit, |passing| {
            let captured = passing.captured;
            // Stamps are of a clock that may be set while frames are under way.
            let stamped = clock_offset.stamped(captured.time, now);
            if stamped > now {
                // The frame arrived after `now`. If its stamp is still in the future, a clock was set.
                now = Monotonic::now();
            }
            let arrival = stamped.min(now);
            first.get_or_insert(arrival);
            let number = direction_of.get(captured.interface as usize).copied();
            let Some(number) = number.filter(|&number| number != NO_DIRECTION) else {
                totals.unknown_port += 1;
                return;
            };
            let direction = &mut directions[number as usize];
            let counts = &mut direction.counts;
            counts.entered.add(length(&passing), captured.time);
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
            counts.moved += u64::from(switches[direction.switch].learn(data, number));
            match passing.vlan {
                None => direction.enter(arrival, &[data], under_way),
                Some(tag) => {
                    let (addresses, rest) = data.split_at(ETHERNET_HEADER - 2);
                    direction.enter(arrival, &[addresses, &tag, rest], under_way);
                }
            }
        });
        (taken, first)
    }

    /// Send what is due, including what becomes due meanwhile, up to a limit. Return the number of events
    /// processed.
    fn send(&mut self, mut now: Monotonic) -> usize {
        let mut done = 0;
        while done < TURN {
            let sent = self.send_due(now, TURN - done);
            if sent == 0 {
                break;
            }
            done += sent;
            now = Monotonic::now();
        }
        done
    }

    /// Send the next frame if it is due so soon that it is time to hand it to the kernel, which holds it until then.
    /// Return false if there is none, or if it is sent when it is due, as other frames are.
    fn send_held(&mut self) -> bool {
        let Some((due, Event::Send { slot, direction, copies: 1 })) = self.under_way.events.peek()
        else {
            return false;
        };
        if due - self.awake > self.lead.span() {
            return false;
        }
        let Some(port) = self.only_port(slot, direction) else { return false };
        let offset = self.clock_offset.read(self.awake);
        let frame = Outgoing { slot, direction, port, due, counted: true };
        let Self { outbox, directions, under_way, .. } = self;
        let Some(before_due) = outbox.send_held(&frame, offset, directions, under_way) else {
            return false;
        };
        self.lead.learn(before_due);
        self.under_way.events.pop(due);
        self.awake = Monotonic::now();
        self.warm = self.awake;
        true
    }

    /// Return the only port that a frame leaves by, if it is one that is up and has no conditions at its receiver.
    fn only_port(&self, slot: Slot, from: u32) -> Option<u32> {
        let direction = &self.directions[from as usize];
        let port = direction.receives_by.or_else(|| {
            let mut ports =
                self.switches[direction.switch].towards(self.under_way.pool.frame(slot), from);
            let port = ports.next().filter(|port| !self.receivers.contains_key(port))?;
            ports.next().is_none().then_some(port)
        })?;
        (!self.directions[port as usize].is_down).then_some(port)
    }

    /// Process the events that are due now.
    fn send_due(&mut self, now: Monotonic, limit: usize) -> usize {
        let mut done = 0;
        let offset = self.clock_offset.read(now);
        while done < limit
            && let Some((due, what)) = self.under_way.events.pop(now)
        {
            done += 1;
            match what {
                Event::Advance { direction } => {
                    let Self { directions, under_way, .. } = self;
                    directions[direction as usize].advance(due, now, under_way);
                }
                Event::Send { slot, direction, copies } => {
                    for _ in 0..copies {
                        self.send_copy(slot, direction, due, offset);
                    }
                    self.outbox.release(slot, direction);
                }
            }
        }
        if let Some(slot) = self.under_way.events.next_frame() {
            self.under_way.pool.prefetch(slot);
        }
        if done > 0 {
            self.warm = now;
            self.outbox.flush(offset, &mut self.directions, &mut self.under_way);
        }
        done
    }

    /// Send a frame by all ports that it is for. A port whose node has conditions for what it receives gets a copy
    /// under these.
    fn send_copy(&mut self, slot: Slot, from: u32, due: Monotonic, offset: EpochOffset) {
        let Self { directions, switches, receivers, under_way, outbox, .. } = self;
        let direction = &directions[from as usize];
        if let Some(port) = direction.receives_by {
            if directions[port as usize].is_down {
                directions[from as usize].counts.dropped.down += 1;
                under_way.passages.end(slot, Fate::Down, due);
            } else {
                outbox.add(slot, from, due, port, true);
            }
            return;
        }
        // A frame is counted once, however many ports it leaves by.
        let mut counted = false;
        for port in switches[direction.switch].towards(under_way.pool.frame(slot), from) {
            if directions[port as usize].is_down {
                continue;
            }
            if let Some(&receiver) = receivers.get(&port) {
                let at = offset.realtime(due);
                if !counted {
                    let length = under_way.pool.frame(slot).len();
                    directions[from as usize].counts.left.add(length, at);
                }
                under_way.passages.end(slot, Fate::Sent, due);
                directions[receiver as usize].take_over(due, at, slot, under_way);
            } else {
                outbox.add(slot, from, due, port, !counted);
            }
            counted = true;
        }
        if !counted {
            directions[from as usize].counts.dropped.down += 1;
            under_way.passages.end(slot, Fate::Down, due);
        }
    }

    fn note_pause(&mut self, now: Monotonic, waited: Option<Monotonic>) {
        let Some(waited) = waited else { return };
        let paused = now - waited.max(self.awake);
        if paused > PAUSE {
            self.totals.pauses += 1;
            self.totals.longest_pause = self.totals.longest_pause.max(paused);
        }
    }

    fn carry_out(&mut self, command: LoopCommand, pace: &mut Pace, channels: &LoopChannels) {
        let answer = match command {
            LoopCommand::Ease { eased } => {
                self.eased = eased;
                return;
            }
            LoopCommand::Change { direction, conditions } => {
                let now = Monotonic::now();
                self.directions[direction].change(*conditions, now, &mut self.under_way.events);
                return;
            }
            LoopCommand::Read { direction, reset } => {
                let direction = &mut self.directions[direction];
                let refused = match direction.receives_by {
                    None => self.intake.refused(direction.interface),
                    Some(_) => 0,
                };
                let snapshot = direction.snapshot(refused);
                if reset {
                    direction.reset(refused);
                }
                LoopAnswer::Direction(Box::new(snapshot))
            }
            LoopCommand::Passages(wanted) => {
                LoopAnswer::Passages(self.under_way.passages.find(&wanted))
            }
            LoopCommand::ReadTotals { reset } => {
                // Reading the kernel's counter resets it.
                self.totals.dropped_ring += self.intake.dropped();
                let (totals, fullness, cpu_noise) =
                    (self.totals, self.under_way.pool.fullness(), pace.cpu_noise());
                if reset {
                    self.totals = Totals::default();
                    self.under_way.pool.reset();
                    pace.reset_cpu_noise();
                }
                LoopAnswer::Totals(totals, fullness, cpu_noise)
            }
        };
        // If the receiver has ended, so will this loop in a moment.
        let _ = channels.answers.send(answer);
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
