//! The process of links in the kernel: it builds them, changes them, reads their counters, and ends when a
//! part has vanished, so that its supervisor sets the ports down.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use delaylab_os::clock::Monotonic;
use delaylab_os::interface::interface_index;
use delaylab_os::netlink::RouteSocket;
use delaylab_os::netlink::changes::ChangeMonitor as RtnetlinkMonitor;
use delaylab_proto::{Context, Failure};

use super::carriers::Carriers;
use super::ports::take_ports_down;
use super::report::{Period, PortDrops};
use super::requests::{LinkEngine, Timeline, say_ready, say_refused, say_why, serve_requests};
use super::task::EngineTask;
use crate::link::configured::{Changed, ConfiguredConditions};
use crate::link::kernel::counters::{KernelCounters, vanished};
use crate::link::kernel::features::Support;
use crate::link::kernel::links::KernelLinks;
use crate::link::kernel::setup;
use crate::link::kernel::support::try_features;
use crate::network::batch::{Batch, Verb};
use crate::network::bridge;
use crate::protocol::links::{DirectionReport, EngineLinks, EngineReport, Memory};

/// Run this process, from its first message (`{}`, or the reason why links could not be built) until the
/// supervisor's end of `control` closes. Then set the ports down: if a part of the links vanished later, no
/// supervisor would be left to do so.
pub(super) fn live(
    task: EngineTask,
    configured: ConfiguredConditions,
    control: OwnedFd,
) -> Result<(), Failure> {
    let links = task.links;
    let mut control = File::from(control);
    let mut engine = match KernelEngine::start(task, configured) {
        Ok(engine) => engine,
        Err(failure) => return say_refused(&mut control, failure),
    };
    say_ready(&mut control)?;
    let timeline = Timeline::new(&links.timeline, Monotonic::now());
    let served = serve_requests(&mut engine, timeline, &mut control);
    if let Err(failure) = &served {
        say_why(&mut control, failure);
    }
    served.and(take_ports_down(links))
}

struct KernelEngine<'a> {
    links: &'a EngineLinks,
    configured: ConfiguredConditions,
    carriers: Carriers<'a>,
    support: Support,
    kernel_links: KernelLinks,
    rtnetlink_monitor: RtnetlinkMonitor,
    /// The period over which frames are counted, and the counters at its start.
    period: Period,
    before: KernelCounters,
    port_drops: PortDrops,
}

impl<'a> KernelEngine<'a> {
    fn start(task: EngineTask<'a>, configured: ConfiguredConditions) -> Result<Self, Failure> {
        let links = task.links;
        let support = try_features()?;
        let kernel_links = KernelLinks::new(links, setup::setups(links, &configured, &support)?)?;
        let rtnetlink_monitor =
            RtnetlinkMonitor::open().context("watch the links in the kernel")?;
        let (period, before) = (Period::begin(), KernelCounters::read(&kernel_links)?);
        let port_drops = PortDrops::read()?;
        let mut carriers = Carriers::new(links, task.place, open_port);
        carriers.begin(&configured)?;
        Ok(Self {
            links,
            configured,
            carriers,
            support,
            kernel_links,
            rtnetlink_monitor,
            period,
            before,
            port_drops,
        })
    }
}

/// Let the bridge forward frames by a port, or none.
fn open_port(port: &str, open: bool) -> Result<(), Failure> {
    let what = || format!("{} the port {port}", if open { "open" } else { "close" });
    let index = interface_index(port).with_context(what)?;
    let socket = RouteSocket::open().with_context(what)?;
    Batch::one(&socket, what(), Verb::Change, bridge::forwarding(index, open))
}

impl LinkEngine for KernelEngine<'_> {
    fn check(&mut self) -> Result<(), Failure> {
        // Clear first: a notification that comes from now on triggers the next check.
        self.rtnetlink_monitor.clear().context("watch the links in the kernel")?;
        match vanished(&self.kernel_links)? {
            Some(what) => Err(Failure::new("carry links by the kernel", what)),
            None => Ok(()),
        }
    }

    fn changed(&self) -> Option<BorrowedFd<'_>> {
        Some(self.rtnetlink_monitor.as_fd())
    }

    fn directions(&mut self) -> Result<Vec<DirectionReport>, Failure> {
        self.reports(&KernelCounters::read(&self.kernel_links)?)
    }

    fn configured(&self) -> &ConfiguredConditions {
        &self.configured
    }

    fn apply(
        &mut self,
        configured: ConfiguredConditions,
        changed: Vec<Changed>,
    ) -> Result<(), Failure> {
        // If a direction changes several times, only the final conditions count.
        let numbers: BTreeSet<usize> = changed.iter().map(|change| change.direction).collect();
        let mut setups = Vec::new();
        for direction in numbers {
            let setup = setup::setup_of(self.links, &configured, &self.support, direction)?;
            let setup = setup.keeping(&self.kernel_links.directions[direction].setup);
            self.kernel_links.check(direction, &setup)?;
            setups.push((direction, setup));
        }
        for (direction, setup) in setups {
            self.kernel_links.change(direction, setup)?;
        }
        self.configured = configured;
        self.carriers.settle(&self.configured)
    }

    fn report(&mut self, reset: bool) -> Result<EngineReport, Failure> {
        let now = KernelCounters::read(&self.kernel_links)?;
        let directions = self.reports(&now)?;
        let (since_ns, now_ns) = self.period.until_now(reset);
        if reset {
            (self.before, self.port_drops) = (now, PortDrops::read()?);
            self.configured.begin_count();
        }
        let bound = usize::try_from(self.links.memory_bytes).unwrap_or(usize::MAX);
        Ok(EngineReport {
            notes: self.kernel_links.notes().into_iter().chain(self.carriers.notes()).collect(),
            memory: Memory { bound, ..Memory::default() },
            ..EngineReport::running(since_ns, now_ns, directions)
        })
    }
}

impl KernelEngine<'_> {
    /// Return the report of each direction up to a moment.
    fn reports(&self, now: &KernelCounters) -> Result<Vec<DirectionReport>, Failure> {
        let drops = PortDrops::read()?;
        let numbered =
            self.configured.directions().iter().zip(&self.kernel_links.directions).enumerate();
        let reports = numbered.map(|(number, (direction, made))| {
            let done = now.since(&self.before, number, made);
            let port_dropped = drops.since(&self.port_drops, &direction.port);
            DirectionReport::new(direction, &done, port_dropped).without_own_counts()
        });
        Ok(reports.collect())
    }
}
