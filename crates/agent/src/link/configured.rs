//! The configured conditions of each direction, and changes to them. All changes are checked before any is
//! made.

use delaylab_link::{Conditions, Configured};
use delaylab_proto::{Context, Failure};

use crate::protocol::links::{Change, EngineLinks};

/// The configuration of every direction, in the order of the plan's members.
#[derive(Clone)]
pub(crate) struct ConfiguredConditions(Vec<DirectionConfig>);

/// One direction: the frames that one member sends on its link.
#[derive(Clone)]
pub(crate) struct DirectionConfig {
    pub link: String,
    /// The node; `None` behind an uplink.
    pub node: Option<String>,
    pub port: String,
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
}

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
    /// Read the configuration from the plan.
    pub(crate) fn new(links: &EngineLinks) -> Result<Self, Failure> {
        let members = links.members().map(|(link, member)| {
            let by = member.node.as_ref().unwrap_or(&member.port);
            let what = || format!("set link {} of {by}", link.link);
            let planned = Configured::new(member.conditions.clone()).with_context(what)?;
            let direction = DirectionConfig {
                link: link.link.clone(),
                node: member.node.clone(),
                port: member.port.clone(),
                has_card: member.card.is_some(),
                planned: planned.clone(),
                configured: planned,
                first: None,
                requests: 0,
            };
            direction.check_held().map(|()| direction)
        });
        members.collect::<Result<_, _>>().map(Self)
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
        }
    }

    /// Return to the conditions of the plan.
    pub(crate) fn restore(&mut self) -> Vec<Changed> {
        let mut changed = Vec::new();
        for (number, direction) in self.0.iter_mut().enumerate() {
            if direction.configured != direction.planned {
                direction.set(direction.planned.clone());
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
    ) -> Result<Vec<Changed>, Failure> {
        let mut after = self.0.clone();
        let mut changed = Vec::new();
        for change in changes {
            let wanted = |direction: &DirectionConfig| {
                direction.link == change.link && direction.node.as_ref() == Some(&change.node)
            };
            let index = after.iter().position(wanted).ok_or_else(|| self.unknown(change))?;
            let direction = &mut after[index];
            direction.set(direction.configured.after(&change.set).with_context(|| what(change))?);
            direction.check_held()?;
            direction.requests += u64::from(cause == Cause::Request);
            changed.push(direction.changed(index));
        }
        self.0 = after;
        Ok(changed)
    }

    fn unknown(&self, change: &Change) -> Failure {
        let what = what(change);
        let of_link = self.0.iter().filter(|direction| direction.link == change.link);
        let nodes: Vec<&str> = of_link.filter_map(|direction| direction.node.as_deref()).collect();
        if nodes.is_empty() {
            return Failure::new(what, "this host carries no such link with conditions");
        }
        Failure::new(what, "no such node sends on it from this host")
            .fix(format!("one of: {}", nodes.join(", ")))
    }
}

fn what(change: &Change) -> String {
    format!("set link {} of {}", change.link, change.node)
}

impl DirectionConfig {
    fn set(&mut self, configured: Configured) {
        let before = std::mem::replace(&mut self.configured, configured);
        self.first.get_or_insert(before);
    }

    fn changed(&self, direction: usize) -> Changed {
        Changed { direction, conditions: self.configured.conditions().clone() }
    }

    /// Check that frames can be held at the sender, if they are to be.
    fn check_held(&self) -> Result<(), Failure> {
        if self.has_card || !self.configured.conditions().held_by_sender() {
            return Ok(());
        }
        let by = self.node.as_ref().unwrap_or(&self.port);
        let why = "its own interface is in a virtual machine, where no frames can be held";
        Err(Failure::new(format!("set link {} of {by}", self.link), why)
            .fix("give `queue` packets or bytes: then they wait in the link"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn configured() -> ConfiguredConditions {
        let links = json!({"links": [{"link": "wan", "members": [
            {"port": "vif-a", "node": "a", "conditions": {"delay_ns": 5}},
            {"port": "uplink"}]}]});
        ConfiguredConditions::new(&serde_json::from_value(links).unwrap()).unwrap()
    }

    fn change(link: &str, node: &str, set: Value) -> Change {
        let set = serde_json::from_value(set).unwrap();
        Change { link: link.into(), node: node.into(), set }
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
        let changed = configured.change(&changes, Cause::Request).unwrap();
        assert_eq!(changed[1].direction, 0);
        assert_eq!(changed[1].conditions.delay_ns, 5);
        assert_eq!(asked(&configured), json!({"delay_ns": 5, "duplicate": 0.5, "corrupt": 0.25}));
    }

    #[test]
    fn a_change_is_known_until_counting_begins_anew_even_if_it_was_taken_back() {
        let mut configured = configured();
        let set = |delay: u32| [change("wan", "a", json!({"delay_ns": delay}))];
        configured.change(&set(9), Cause::Request).unwrap();
        configured.change(&set(5), Cause::Timeline).unwrap();
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
        configured.change(&[change("wan", "a", set)], Cause::Request).unwrap();
        let changed = configured.restore();
        assert_eq!((changed.len(), changed[0].conditions.delay_ns), (1, 5));
        assert_eq!(asked(&configured), json!({"delay_ns": 5}));
        assert!(configured.restore().is_empty());
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
            let Err(failure) = configured.change(&[good.clone(), wrong], Cause::Request) else {
                panic!("{what}")
            };
            assert_eq!(failure.what, what);
            assert_eq!(asked(&configured), json!({"delay_ns": 5}));
        }
    }
}
