//! The configured conditions of each direction, and changes to them. All changes are checked before any is
//! made.

use delaylab_link::{Conditions, Configured, LinkState};
use delaylab_os::clock::Realtime;
use delaylab_proto::{Context, Failure};

use crate::protocol::links::{Change, Downtime, EngineLinks};

/// The configuration of every direction: what the members send, in the order of the plan, then what those of them
/// receive that have conditions for it.
#[derive(Clone)]
pub(crate) struct ConfiguredConditions(Vec<DirectionConfig>);

/// One direction: the frames that one member sends on its link, or those that it receives.
#[derive(Clone)]
pub(crate) struct DirectionConfig {
    pub link: String,
    /// The node; `None` behind an uplink.
    pub node: Option<String>,
    /// True if the direction is what the node receives.
    pub receives: bool,
    pub port: String,
    /// True if its frames go on over a network between machines that is part of their delay.
    pub over_underlay: bool,
    /// True if frames can be held at the node's interface.
    has_card: bool,
    /// The conditions of the plan.
    planned: Configured,
    /// The conditions now.
    pub configured: Configured,
    /// The conditions when counting began; `None` if they have not changed since.
    pub first: Option<Configured>,
    /// The number of changes by request since the engine's start.
    pub requests: u64,
    /// The times in which the sender's end was not up, since counting began.
    pub downtimes: Vec<Downtime>,
}

/// The most downtimes of a direction that are kept; older ones are forgotten.
const MOST_DOWNTIMES: usize = 1000;

/// The time of a configuration that is only checked.
pub(crate) const START: Realtime = Realtime::from_ns(0);

/// The cause of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Request,
    Timeline,
}

/// New conditions of the direction with this index.
pub(crate) struct Changed {
    pub direction: usize,
    pub conditions: Conditions,
}

impl ConfiguredConditions {
    /// Read the configuration from the plan, as it is from `now` on.
    pub(crate) fn new(links: &EngineLinks, now: Realtime) -> Result<Self, Failure> {
        let sent = links.members().map(|(link, member)| (link, member, &member.conditions, false));
        let received =
            links.receivers().map(|(link, member, received)| (link, member, received, true));
        let directions = sent.chain(received).map(|(link, member, settings, receives)| {
            let by = member.node.as_ref().unwrap_or(&member.port);
            let what = || format!("set {}", name(&link.link, by, receives));
            let planned = Configured::new(settings.clone()).with_context(what)?;
            let mut direction = DirectionConfig {
                link: link.link.clone(),
                node: member.node.clone(),
                receives,
                port: member.port.clone(),
                over_underlay: !receives && member.underlay_ns > 0,
                has_card: member.card.is_some(),
                planned: planned.clone(),
                configured: planned,
                first: None,
                requests: 0,
                downtimes: Vec::new(),
            };
            direction.note_downtime(now);
            direction.check_end().map(|()| direction)
        });
        directions.collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn directions(&self) -> &[DirectionConfig] {
        &self.0
    }

    /// Return the conditions of every direction.
    pub(crate) fn conditions(&self) -> Vec<Conditions> {
        self.0.iter().map(|direction| direction.configured.conditions().clone()).collect()
    }

    /// Return the conditions of every direction as changes.
    pub(crate) fn all(&self) -> Vec<Changed> {
        (0..).zip(&self.0).map(|(number, direction)| direction.changed(number)).collect()
    }

    /// Note that counting begins now.
    pub(crate) fn begin_count(&mut self) {
        for direction in &mut self.0 {
            direction.first = None;
            direction.downtimes.retain(|downtime| downtime.until_ns.is_none());
        }
    }

    /// Return to the conditions of the plan.
    pub(crate) fn restore(&mut self, now: Realtime) -> Vec<Changed> {
        let mut changed = Vec::new();
        for (number, direction) in self.0.iter_mut().enumerate() {
            if direction.configured != direction.planned {
                direction.set(direction.planned.clone(), now);
                changed.push(direction.changed(number));
            }
        }
        changed
    }

    /// Change only the conditions that are named. After an error nothing is changed.
    pub(crate) fn change(
        &mut self,
        changes: &[Change],
        cause: Cause,
        now: Realtime,
    ) -> Result<Vec<Changed>, Failure> {
        let mut after = self.0.clone();
        let mut changed = Vec::new();
        for change in changes {
            let wanted = |direction: &DirectionConfig| {
                direction.link == change.link
                    && direction.node.as_ref() == Some(&change.node)
                    && direction.receives == change.receives
            };
            let index = after.iter().position(wanted).ok_or_else(|| self.unknown(change))?;
            let direction = &mut after[index];
            let after = direction.configured.after(&change.set).with_context(|| what_of(change))?;
            direction.set(after, now);
            direction.check_end()?;
            direction.requests += u64::from(cause == Cause::Request);
            changed.push(direction.changed(index));
        }
        self.0 = after;
        Ok(changed)
    }

    fn unknown(&self, change: &Change) -> Failure {
        let what = what_of(change);
        let mut of_link =
            self.0.iter().filter(|direction| direction.link == change.link).peekable();
        if of_link.peek().is_none() {
            return Failure::new(what, "this host carries no such link with conditions");
        }
        let alike = of_link.filter(|direction| direction.receives == change.receives);
        let nodes: Vec<&str> = alike.filter_map(|direction| direction.node.as_deref()).collect();
        let why = match change.receives {
            false => "no such node sends on it from this host",
            true => "no such node of this host has conditions for what it receives",
        };
        match nodes[..] {
            [] => Failure::new(what, why),
            _ => Failure::new(what, why).fix(format!("one of: {}", nodes.join(", "))),
        }
    }
}

fn what_of(change: &Change) -> String {
    format!("set {}", name(&change.link, &change.node, change.receives))
}

/// Name a direction, by its node or its port.
fn name(link: &str, end: &str, receives: bool) -> String {
    format!("link {link} {} {end}", if receives { "to" } else { "of" })
}

impl DirectionConfig {
    fn set(&mut self, configured: Configured, now: Realtime) {
        let before = std::mem::replace(&mut self.configured, configured);
        self.note_downtime(now);
        self.first.get_or_insert(before);
    }

    /// Return the direction's name, for messages.
    pub(crate) fn name(&self) -> String {
        name(&self.link, self.node.as_ref().unwrap_or(&self.port), self.receives)
    }

    /// Return the state of the sender's end.
    pub(crate) fn state(&self) -> LinkState {
        self.configured.conditions().state
    }

    /// End the last downtime if the state is another one now, and begin one if it is not up.
    fn note_downtime(&mut self, now: Realtime) {
        let state = self.state();
        let last = self.downtimes.last_mut().filter(|downtime| downtime.until_ns.is_none());
        match last {
            Some(last) if last.state == state => return,
            Some(last) => last.until_ns = Some(now.ns()),
            None => {}
        }
        if !state.is_up() {
            if self.downtimes.len() == MOST_DOWNTIMES {
                self.downtimes.remove(0);
            }
            self.downtimes.push(Downtime { state, since_ns: now.ns(), until_ns: None });
        }
    }

    fn changed(&self, direction: usize) -> Changed {
        Changed { direction, conditions: self.configured.conditions().clone() }
    }

    /// Check that this end of the link can do what is configured: hold frames at the sender, lose its carrier.
    fn check_end(&self) -> Result<(), Failure> {
        let held = self.configured.conditions().held_by_sender();
        let refuse = |why: &str| Failure::new(format!("set {}", self.name()), why);
        let in_packets = "give `queue` packets or bytes: then they wait in the link";
        if self.receives && held {
            Err(refuse("what a node receives does not wait at its sender").fix(in_packets))
        } else if self.receives && self.state() == LinkState::Down {
            Err(refuse("an end loses its carrier for both directions")
                .fix("take `state: silent`, or change what the node sends"))
        } else if held && !self.has_card {
            let why = "its own interface is in a virtual machine, where no frames can be held";
            Err(refuse(why).fix(in_packets))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const AT: Realtime = Realtime::from_ns(7);

    fn configured() -> ConfiguredConditions {
        let links = json!({"links": [{"link": "wan", "members": [
            {"port": "vif-a", "node": "a", "conditions": {"delay_ns": 5}},
            {"port": "uplink"}]}]});
        ConfiguredConditions::new(&serde_json::from_value(links).unwrap(), AT).unwrap()
    }

    fn change(link: &str, node: &str, set: Value) -> Change {
        let set = serde_json::from_value(set).unwrap();
        Change { link: link.into(), node: node.into(), receives: false, set }
    }

    /// Return the settings of the first direction.
    fn asked(configured: &ConfiguredConditions) -> Value {
        serde_json::to_value(&configured.directions()[0].configured).unwrap()
    }

    #[test]
    fn a_change_keeps_what_it_does_not_name() {
        let mut configured = configured();
        let changes = [
            change("wan", "a", json!({"duplicate": 0.5})),
            change("wan", "a", json!({"corrupt": 0.25})),
        ];
        let changed = configured.change(&changes, Cause::Request, AT).unwrap();
        assert_eq!(changed[1].direction, 0);
        assert_eq!(changed[1].conditions.delay_ns, 5);
        assert_eq!(asked(&configured), json!({"delay_ns": 5, "duplicate": 0.5, "corrupt": 0.25}));
    }

    #[test]
    fn what_a_node_receives_is_changed_apart_from_what_it_sends() {
        let links = json!({"links": [{"link": "wan", "members": [
            {"port": "vif-a", "node": "a", "conditions": {"delay_ns": 5}},
            {"port": "vif-b", "node": "b", "received": {"delay_ns": 7}}]}]});
        let mut configured =
            ConfiguredConditions::new(&serde_json::from_value(links).unwrap(), AT).unwrap();
        let to = |node: &str, set: Value| Change { receives: true, ..change("wan", node, set) };
        let changed =
            configured.change(&[to("b", json!({"duplicate": 0.5}))], Cause::Request, AT).unwrap();
        assert_eq!((changed[0].direction, changed[0].conditions.delay_ns), (2, 7));
        assert_eq!(asked(&configured), json!({"delay_ns": 5}));
        let held = json!({"queue": {"held": "sender"}, "rate": {"bps": 1000}});
        for (wrong, why) in [
            (to("a", json!({})), "no such node of this host has conditions for what it receives"),
            (to("b", json!({"state": "down"})), "an end loses its carrier for both directions"),
            (to("b", held), "what a node receives does not wait at its sender"),
        ] {
            let refused = configured.change(&[wrong], Cause::Request, AT);
            assert_eq!(refused.err().map(|failure| failure.why).as_deref(), Some(why));
        }
    }

    #[test]
    fn a_change_is_known_until_counting_begins_anew_even_if_it_was_taken_back() {
        let mut configured = configured();
        let set = |delay: u32| [change("wan", "a", json!({"delay_ns": delay}))];
        configured.change(&set(9), Cause::Request, AT).unwrap();
        configured.change(&set(5), Cause::Timeline, AT).unwrap();
        let [direction, uplink] = configured.directions() else { panic!("two directions") };
        let first = serde_json::to_value(&direction.first).unwrap();
        assert_eq!(first, json!({"delay_ns": 5}));
        assert_eq!((direction.requests, uplink.requests, &uplink.first), (1, 0, &None));
        configured.begin_count();
        let direction = &configured.directions()[0];
        assert_eq!((&direction.first, direction.requests), (&None, 1));
    }

    #[test]
    fn the_conditions_of_the_plan_come_back_whole() {
        let mut configured = configured();
        let set = json!({"delay_ns": null, "duplicate": 0.5});
        configured.change(&[change("wan", "a", set)], Cause::Request, AT).unwrap();
        let changed = configured.restore(AT);
        assert_eq!((changed.len(), changed[0].conditions.delay_ns), (1, 5));
        assert_eq!(asked(&configured), json!({"delay_ns": 5}));
        assert!(configured.restore(AT).is_empty());
    }

    #[test]
    fn times_in_which_an_end_is_not_up_are_kept_until_counting_begins_anew() {
        let mut configured = configured();
        let mut set = |state: &str, at_ns: i64| {
            let changes = [change("wan", "a", json!({"state": state}))];
            configured.change(&changes, Cause::Timeline, Realtime::from_ns(at_ns)).unwrap();
        };
        set("down", 10);
        set("down", 11);
        set("silent", 20);
        set("up", 30);
        set("down", 40);
        let downtime = |state, since_ns, until_ns| Downtime { state, since_ns, until_ns };
        let open = downtime(LinkState::Down, 40, None);
        let all = [
            downtime(LinkState::Down, 10, Some(20)),
            downtime(LinkState::Silent, 20, Some(30)),
            open.clone(),
        ];
        assert_eq!(configured.directions()[0].downtimes, all);
        configured.begin_count();
        assert_eq!(configured.directions()[0].downtimes, [open]);
        configured.restore(Realtime::from_ns(50));
        assert_eq!(configured.directions()[0].downtimes, [downtime(LinkState::Down, 40, Some(50))]);
    }

    #[test]
    fn after_an_error_nothing_is_changed() {
        let good = change("wan", "a", json!({"delay_ns": 7}));
        let wrong = [
            (change("wan", "a", json!({"delay_ns": -1})), "set link wan of a"),
            (change("wan", "a", json!({"colour": 1})), "set link wan of a"),
            (change("wan", "b", json!({})), "set link wan of b"),
            (change("lan", "a", json!({})), "set link lan of a"),
        ];
        for (wrong, what) in wrong {
            let mut configured = configured();
            let Err(failure) = configured.change(&[good.clone(), wrong], Cause::Request, AT) else {
                panic!("{what}")
            };
            assert_eq!(failure.what, what);
            assert_eq!(asked(&configured), json!({"delay_ns": 5}));
        }
    }
}
