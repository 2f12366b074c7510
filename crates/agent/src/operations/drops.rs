//! Packets of probes that the kernel of this machine dropped: why, and in which part of a lab.

use delaylab_os::clock::{EpochOffset, Realtime};
use delaylab_os::drops::{DroppedPacket, Drops, Reasons};
use delaylab_proto::Table;
use delaylab_wire::MAGIC;

use super::namespaces::{Namespaces, some};
use crate::protocol::cpus::Window;

/// Dropped packets with the names of reasons and places, which are looked up once there are any.
#[derive(Default)]
pub(super) struct NamedDrops {
    /// `None` where the kernel does not tell.
    drops: Option<Drops>,
    reasons: Option<Reasons>,
    namespaces: Namespaces,
}

impl NamedDrops {
    /// Start to watch, if the kernel lets a program do so.
    pub(super) fn start() -> Self {
        Self { drops: Drops::start(MAGIC).ok(), ..Self::default() }
    }

    /// Copy what was dropped since the last call.
    pub(super) fn collect(&mut self) {
        if let Some(drops) = &mut self.drops {
            drops.collect();
        }
    }

    /// Return the packets that were dropped in a window, as the table `drops`.
    pub(super) fn between(&mut self, window: &Window, offset: EpochOffset) -> Table {
        self.collect();
        let at = |ns| offset.monotonic(Realtime::from_ns(ns));
        let (from, to) = (at(window.from_ns), at(window.to_ns));
        let of = |drops: &Drops| drops.between(from, to).copied().collect::<Vec<_>>();
        let found = self.drops.as_ref().map(of).unwrap_or_default();
        if !found.is_empty() && self.reasons.is_none() {
            self.reasons = Some(Reasons::read().unwrap_or_default());
        }
        self.namespaces.look_up(found.iter().map(|packet| packet.namespace));
        let reasons = self.reasons.as_ref();
        let reason = |packet: &DroppedPacket| reasons.and_then(|it| it.name(packet.reason));
        Table::new("drops", found.len())
            .numbers("time_ns", found.iter().map(|packet| offset.realtime(packet.time).ns()))
            .numbers("probe", found.iter().map(|packet| packet.probe))
            .numbers("seq", found.iter().map(|packet| packet.seq))
            .numbers("cpu", found.iter().map(|packet| packet.cpu))
            .texts("reason", found.iter().map(reason))
            .texts("interface", found.iter().map(interface))
            .texts("lab", found.iter().map(|packet| self.namespaces.lab(packet.namespace)))
            .texts("place", found.iter().map(|packet| self.namespaces.place(packet.namespace)))
    }
}

/// Return the name of a packet's interface; `None` if it had none.
fn interface(packet: &DroppedPacket) -> Option<&str> {
    let name = packet.interface.split(|byte| *byte == 0).next()?;
    std::str::from_utf8(name).ok().and_then(some)
}
