//! The report of a link engine, as `links` answers it (docs/protocol.md, "Links"): over which period it counts, what
//! ports dropped, and what is reported of it.

use std::collections::BTreeMap;
use std::path::Path;

use delaylab_os::clock::{Monotonic, Realtime, Span};
use delaylab_proto::Failure;

use crate::link::configured::DirectionConfig;
use crate::link::data::direction::Snapshot;
use crate::network::counters;
use crate::protocol::generating::Late;
use crate::protocol::links::{DirectionReport, EngineReport, State, Waiting};
use crate::protocol::network::InterfaceCounters;

/// The counters of all interfaces at one moment.
pub(super) struct PortDrops(BTreeMap<String, InterfaceCounters>);

impl PortDrops {
    /// Read the counters in the calling thread's network namespace.
    pub(super) fn read() -> Result<Self, Failure> {
        counters::interfaces(Path::new("/proc/thread-self/net")).map(Self)
    }

    /// Return how many frames a port has dropped since an earlier moment.
    pub(super) fn since(&self, before: &Self, port: &str) -> u64 {
        let of = |all: &Self| all.0.get(port).map_or(0, |one| one.tx_dropped);
        of(self).saturating_sub(of(before))
    }
}

/// The least difference between two clocks' lengths of a period from which on the clock was set: 1 ms.
const SET: Span = Span::from_ns(1_000_000);

/// The start of counting, by the clock and by the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Period {
    since: Realtime,
    began: Monotonic,
}

impl Period {
    /// Begin to count now.
    pub(super) fn begin() -> Self {
        Self { since: Realtime::now(), began: Monotonic::now() }
    }

    /// Return the start and the end of the period up to now, in ns since the Unix epoch, and begin the next one if
    /// `reset`. The period is as long as it was, also if somebody has set the clock meanwhile.
    pub(super) fn until_now(&mut self, reset: bool) -> (i64, i64) {
        let now = Self::begin();
        let since = self.since_by(now);
        if reset {
            *self = now;
        }
        (since.ns(), now.since.ns())
    }

    /// Return the start of the period by the clock as it is now.
    fn since_by(self, now: Self) -> Realtime {
        let by_monotonic = now.since + (self.began - now.began);
        let set = (by_monotonic - self.since).abs() > SET;
        if set { by_monotonic } else { self.since }
    }
}

impl EngineReport {
    /// Build the report of a running engine of this process, in which nothing was counted from `since_ns` on.
    pub(crate) fn running(since_ns: i64, now_ns: i64, directions: Vec<DirectionReport>) -> Self {
        Self {
            state: State::Running,
            pid: Some(std::process::id()),
            late: Some(Late::default()),
            since_ns,
            now_ns,
            directions,
            ..Self::default()
        }
    }

    /// Build the report in place of an engine that has ended.
    pub(crate) fn down(why: Option<String>, now_ns: i64, directions: Vec<DirectionReport>) -> Self {
        Self { why, since_ns: now_ns, now_ns, directions, ..Self::default() }
    }
}

impl DirectionReport {
    /// Build the report of a direction from its configuration, its counters, and the number of frames that
    /// were sent by its port but dropped there.
    pub(crate) fn new(config: &DirectionConfig, done: &Snapshot, port_dropped: u64) -> Self {
        let counts = &done.counts;
        let (frames, bytes) = done.waiting;
        Self {
            link: config.link.clone(),
            node: config.node.clone(),
            receives: config.receives,
            port: config.port.clone(),
            configured: config.configured.clone(),
            first: config.first.clone(),
            requests: config.requests,
            downtimes: config.downtimes.clone(),
            entered: counts.entered,
            left: counts.left,
            dropped: counts.dropped,
            duplicated: Some(counts.duplicated),
            corrupted: Some(counts.corrupted),
            reordered: Some(counts.reordered),
            short: config.over_underlay.then_some(counts.short),
            moved: Some(counts.moved),
            waiting: Waiting { frames, bytes },
            held: done.held,
            late: counts.late.summary(),
            first_in_ns: counts.entered.first_ns,
            last_in_ns: counts.entered.last_ns,
            first_out_ns: counts.left.first_ns,
            last_out_ns: counts.left.last_ns,
            port_dropped,
        }
    }

    /// Leave out the counts that only delaylab's own engine has.
    pub(crate) fn without_own_counts(self) -> Self {
        Self {
            duplicated: None,
            corrupted: None,
            reordered: None,
            short: None,
            moved: None,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde_json::json;

    use super::*;
    use crate::link::configured::ConfiguredConditions;

    fn keys(report: &impl Serialize) -> String {
        let report = serde_json::to_value(report).unwrap();
        let keys: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
        keys.join(" ")
    }

    #[test]
    fn both_states_have_the_keys_of_the_protocol() {
        let all = "state why pid realtime notes since_ns now_ns memory pauses floor dropped_ring \
                   unknown_port late directions";
        assert_eq!(keys(&EngineReport::running(1, 2, Vec::new())), all);
        let down = EngineReport::down(Some("killed".into()), 1, Vec::new());
        assert_eq!(keys(&down), all.replace("late ", ""));
        let down = serde_json::to_value(down).unwrap();
        assert_eq!((&down["state"], &down["why"]), (&json!("down"), &json!("killed")));
        assert_eq!(
            (keys(&down["memory"]), keys(&down["pauses"]), keys(&down["floor"])),
            (
                "used bound peak warn".into(),
                "count longest_ns".into(),
                "watched_ns held_up_ns p99_ns".into()
            )
        );
    }

    #[test]
    fn a_direction_is_reported_with_all_of_its_keys_also_by_the_kernel() {
        let links = json!({"links": [{"link": "wan", "members": [
            {"port": "vif-a", "node": "a", "conditions": {"delay_ns": 5}}, {"port": "uplink"}]}]});
        let configured = ConfiguredConditions::new(
            &serde_json::from_value(links).unwrap(),
            Realtime::from_ns(0),
        )
        .unwrap();
        let report = |number: usize| {
            DirectionReport::new(&configured.directions()[number], &Snapshot::default(), 7)
        };
        let expected = json!({"link": "wan", "node": "a", "receives": false, "port": "vif-a", "asked": {"delay_ns": 5},
            "asked_first": null, "requests": 0, "downtimes": [], "in": {"frames": 0, "bytes": 0}, "out": {"frames": 0, "bytes": 0},
            "dropped": {"ring": 0, "loss": 0, "queue": 0, "early": 0, "memory": 0, "oversize": 0,
                        "interface": 0, "down": 0},
            "duplicated": 0, "corrupted": 0, "reordered": 0, "short": null, "moved": 0,
            "waiting": {"frames": 0, "bytes": 0}, "held": 0,
            "late": {"count": 0, "mean_ns": 0, "min_ns": 0, "p50_ns": 0, "p99_ns": 0, "max_ns": 0},
            "first_in_ns": null, "last_in_ns": null, "first_out_ns": null, "last_out_ns": null,
            "port_dropped": 7});
        assert_eq!(serde_json::to_string(&report(0)).unwrap(), expected.to_string());
        let by_kernel = serde_json::to_value(report(1).without_own_counts()).unwrap();
        assert!(by_kernel["node"].is_null() && by_kernel["reordered"].is_null());
        assert_eq!(keys(&by_kernel), keys(&expected));
    }

    #[test]
    fn a_period_follows_the_last_one_and_keeps_its_length_when_the_clock_is_set() {
        let at = |since_ns: i64, began_ns: i64| Period {
            since: Realtime::from_ns(since_ns),
            began: Monotonic::from_ns(began_ns),
        };
        let began = at(1_000, 50);
        let later = |by_ns: i64| at(1_000 + by_ns, 50 + 5_000_000);
        let since = began.since_by(later(5_000_300));
        assert_eq!(since.ns(), 1_000, "two reads are a little apart");
        let set = later(5_000_000 - 30_000_000_000);
        assert_eq!((set.since - began.since_by(set)).ns(), 5_000_000);
    }
}
