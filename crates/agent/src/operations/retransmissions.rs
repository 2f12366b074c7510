//! TCP segments that the kernel of this machine sent again, and which part of a lab waited with them.

use delaylab_os::clock::{EpochOffset, Realtime};
use delaylab_os::retransmissions::{Retransmission, Retransmissions};
use delaylab_proto::Table;

use super::namespaces::Namespaces;
use crate::protocol::cpus::Window;

/// Segments that were sent again, with places that are looked up once there are any.
#[derive(Default)]
pub(super) struct PlacedRetransmissions {
    /// `None` where the kernel does not tell.
    segments: Option<Retransmissions>,
    namespaces: Namespaces,
}

impl PlacedRetransmissions {
    /// Start to watch, if the kernel lets a program do so.
    pub(super) fn start() -> Self {
        Self { segments: Retransmissions::start().ok(), ..Self::default() }
    }

    /// Copy what was sent again since the last call, and look up new places, which may end soon.
    pub(super) fn collect(&mut self) {
        if let Some(segments) = &mut self.segments {
            self.namespaces.look_up(segments.collect().into_iter());
        }
    }

    /// Return the segments that were sent again in a window, as the table `retransmissions`.
    pub(super) fn between(&mut self, window: &Window, offset: EpochOffset) -> Table {
        self.collect();
        let at = |ns| offset.monotonic(Realtime::from_ns(ns));
        let (from, to) = (at(window.from_ns), at(window.to_ns));
        let found: Vec<Retransmission> =
            self.segments.as_ref().map(|segments| segments.between(from, to)).unwrap_or_default();
        let first_ns = |each: &Retransmission| Some(offset.realtime(each.first?).ns());
        let local: Vec<String> = found.iter().map(|each| each.local.ip().to_string()).collect();
        let remote: Vec<String> = found.iter().map(|each| each.remote.ip().to_string()).collect();
        Table::new("retransmissions", found.len())
            .numbers("time_ns", found.iter().map(|each| offset.realtime(each.time).ns()))
            .optional("first_ns", found.iter().map(first_ns))
            .texts("local", local.iter().map(|address| Some(address.as_str())))
            .numbers("local_port", found.iter().map(|each| each.local.port()))
            .texts("remote", remote.iter().map(|address| Some(address.as_str())))
            .numbers("remote_port", found.iter().map(|each| each.remote.port()))
            .numbers("sequence", found.iter().map(|each| each.sequence))
            .numbers("length", found.iter().map(|each| each.length))
            .texts("state", found.iter().map(|each| Some(each.state)))
            .flags("needless", found.iter().map(|each| each.needless))
            .texts("lab", found.iter().map(|each| self.namespaces.lab(each.namespace)))
            .texts("place", found.iter().map(|each| self.namespaces.place(each.namespace)))
    }
}
