//! `observe`: the forwarding tables of many network namespaces, and what changes in them, by one clock.
//!
//! - [`node`]: a node's tables, kept up to date by messages; [`routes`]: those of one prefix.
//! - [`known`]: texts and sets of next hops by number; [`rows`]: what the client gets.

mod known;
mod node;
mod priority;
mod routes;
mod rows;

use std::io;
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use delaylab_os::clock::Realtime;
use delaylab_os::files::poll::{self, ReadySet};
use delaylab_os::netlink::forwarding::{self, Monitor, Received};
use delaylab_os::process::{PidFd, namespace, open_files};
use delaylab_proto::{Context, Failure};

use crate::protocol::observing::{Observe, ObserveDone, ObservePlace};
use crate::protocol::running::Event;
use crate::session::Session;
use known::Known;
use node::{At, Tables};
use priority::Priority;
use rows::{Row, What};

/// The size of a receive buffer in bytes. A message about changes is far shorter.
const BUFFER: usize = 64 << 10;
/// The most datagrams of one node before those of the others are read.
const TURN: usize = 256;

/// A node that is observed.
struct Observed {
    name: String,
    /// Its sockets, which are closed once the node is gone: they would keep its network alive.
    monitor: Option<Monitor>,
    process: Option<PidFd>,
    tables: Tables,
    /// True if messages were lost since the tables were read.
    lost: bool,
    /// True if the tables are to be read again once no message waits.
    read_again: bool,
}

/// All nodes, and what is to be said about them.
struct Observation {
    nodes: Vec<Observed>,
    known: Known,
    rows: Vec<Row>,
    done: ObserveDone,
    buffer: Box<[u8]>,
}

/// Serve one request: report the tables, then their changes until the client stops it.
pub(super) fn serve(request: Observe, session: &mut Session) -> Result<ObserveDone, Failure> {
    open_files::allow_most();
    let every = Duration::from_nanos(request.parts_ns);
    let nodes = open(request.places, request.room_bytes as usize)?;
    // The places of a node in the set: its messages, and its end.
    let mut ready = ReadySet::new(256).context("observe")?;
    for (name, node) in (0u32..).zip(&nodes) {
        let sockets = node.monitor.iter().map(AsFd::as_fd).zip([name * 2]);
        let processes = node.process.iter().map(AsFd::as_fd).zip([name * 2 + 1]);
        for (fd, name) in sockets.chain(processes) {
            ready.watch(fd, name).context("observe")?;
        }
    }
    let (known, rows, done) = (Known::new(), Vec::new(), ObserveDone::default());
    let mut all = Observation { nodes, known, rows, done, buffer: vec![0; BUFFER].into() };
    for node in 0..all.nodes.len() {
        all.read(node)?;
        all.send(session)?;
    }
    session.event(&Event::READY)?;
    all.done = ObserveDone::default();
    all.run(&mut ready, every, session)?;
    all.send(session)?;
    Ok(all.done)
}

/// Open the sockets of all nodes, in their network namespaces.
fn open(places: Vec<ObservePlace>, room: usize) -> Result<Vec<Observed>, Failure> {
    if places.is_empty() {
        return Err(Failure::new("observe", "there is no node to observe"));
    }
    enter_lab(&places)?;
    // A socket stays in the network namespace in which it was opened; the thread that opens it ends.
    thread::scope(|scope| {
        let inside =
            scope.spawn(|| places.into_iter().map(|place| Observed::open(place, room)).collect());
        inside.join().unwrap_or_else(|_| Err(Failure::new("observe", "a thread has ended")))
    })
}

/// Enter the user namespace of a lab that an ordinary user has started: only there this process may enter the
/// networks of its nodes.
fn enter_lab(places: &[ObservePlace]) -> Result<(), Failure> {
    let Some(pid) = places.iter().find_map(|place| place.pid) else { return Ok(()) };
    if namespace::user().0 == 0 {
        return Ok(());
    }
    let enter = || namespace::join_user(&PidFd::open(pid)?);
    enter().context("enter the lab's user namespace")
}

impl Observed {
    fn open(place: ObservePlace, room: usize) -> Result<Self, Failure> {
        let ObservePlace { name, pid } = place;
        let open = || -> io::Result<(Option<PidFd>, Monitor)> {
            let process = pid.map(PidFd::open).transpose()?;
            if let Some(process) = &process {
                namespace::join_network(process)?;
            }
            Ok((process, Monitor::open(room)?))
        };
        let (process, monitor) = open().with_context(|| format!("observe {name}"))?;
        let (tables, lost, read_again) = (Tables::default(), false, false);
        Ok(Self { name, monitor: Some(monitor), process, tables, lost, read_again })
    }
}

impl Observation {
    fn run(
        &mut self,
        ready: &mut ReadySet,
        every: Duration,
        session: &mut Session,
    ) -> Result<(), Failure> {
        let mut priority = Priority::take();
        self.done.realtime = priority.is_realtime();
        let mut sent = Instant::now();
        loop {
            let next = (!self.rows.is_empty()).then(|| every.saturating_sub(sent.elapsed()));
            let on = [ready.fd(), session.input()];
            let began = Instant::now();
            let [heard, ordered] = poll::wait_exactly(on, next).context("wait for changes")?;
            priority.note_wait(began.elapsed());
            if heard {
                ready.look().context("wait for changes")?;
                let names: Vec<u32> = ready.ready().collect();
                self.hear(&names)?;
            }
            if ordered && session.must_end()? {
                // What happened before the order is still reported.
                let names: Vec<u32> = (0..self.nodes.len() as u32).map(|node| node * 2).collect();
                return self.hear(&names);
            }
            if !self.rows.is_empty() && sent.elapsed() >= every {
                rows::offer(session, &mut self.known, &mut self.rows)?;
                sent = Instant::now();
            }
        }
    }

    /// Read the messages of the nodes that have some, and note those that are gone.
    fn hear(&mut self, ready: &[u32]) -> Result<(), Failure> {
        let before = self.rows.len();
        for &name in ready {
            let node = (name / 2) as usize;
            if name % 2 == 1 {
                self.end(node);
            } else if self.drain(node)? && self.nodes[node].read_again {
                self.read(node)?;
            }
        }
        self.done.changes += (self.rows.len() - before) as u64;
        if self.nodes.iter().all(|node| node.monitor.is_none()) {
            let last = ready.last().map_or("", |name| &self.nodes[(name / 2) as usize].name);
            let why = format!("all of them are gone, {last} as the last one");
            return Err(Failure::new("observe the nodes", why).fix("is the lab still up?"));
        }
        Ok(())
    }

    /// Follow the messages about a node; return true if no more wait.
    fn drain(&mut self, node: usize) -> Result<bool, Failure> {
        let Self { nodes, known, rows, done, buffer } = self;
        let number = node as u32;
        let Observed { name, monitor: Some(monitor), tables, lost, read_again, .. } =
            &mut nodes[node]
        else {
            return Ok(false);
        };
        for _ in 0..TURN {
            let received = monitor.receive(buffer);
            let time_ns = Realtime::now().ns();
            match received.with_context(|| format!("observe {name}"))? {
                Received::Nothing => return Ok(true),
                Received::Lost => {
                    done.lost += 1;
                    (*lost, *read_again) = (true, true);
                }
                Received::Datagram(length) => {
                    for message in forwarding::read(&buffer[..length]) {
                        done.messages += 1;
                        let mut at = At { node: number, time_ns, known, rows };
                        *read_again |= tables.follow(message, &mut at);
                    }
                }
            }
        }
        Ok(false)
    }

    /// Read all tables of a node, and note what is different from before.
    fn read(&mut self, node: usize) -> Result<(), Failure> {
        let Self { nodes, known, rows, done, .. } = self;
        let number = node as u32;
        let Observed { name, monitor: Some(monitor), tables, lost, read_again, .. } =
            &mut nodes[node]
        else {
            return Ok(());
        };
        let mut read = Tables::default();
        match monitor.dump(|dumped| read.take(dumped, known)) {
            // They change too fast: try again after the next message.
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                *read_again = true;
                return Ok(());
            }
            dumped => dumped.with_context(|| format!("read the tables of {name}"))?,
        }
        done.read_again += 1;
        *read_again = false;
        let time_ns = Realtime::now().ns();
        if std::mem::take(lost) {
            rows.push(Row { time_ns, node: number, what: What::Lost });
        }
        tables.become_read(read, &mut At { node: number, time_ns, known, rows });
        Ok(())
    }

    /// Note that a node is gone, and let go of its network.
    fn end(&mut self, node: usize) {
        let Self { nodes, known, rows, .. } = self;
        let Observed { monitor, process, tables, .. } = &mut nodes[node];
        if monitor.take().is_some() {
            *process = None;
            let time_ns = Realtime::now().ns();
            tables.end(&mut At { node: node as u32, time_ns, known, rows });
        }
    }

    fn send(&mut self, session: &mut Session) -> Result<(), Failure> {
        rows::send(session, &mut self.known, &mut self.rows)
    }
}
