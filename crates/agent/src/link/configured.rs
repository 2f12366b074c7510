//! The configured conditions of each direction, and changes to them. All changes are checked before any is
//! made.

use delaylab_link::{Conditions, merge};
use delaylab_proto::Failure;
use serde_json::Value;

use crate::protocol::links::{Change, EngineLinks};

/// The configuration of every direction, in the order of the plan's members.
#[derive(Clone)]
pub struct ConfiguredConditions(Vec<DirectionConfig>);

/// One direction: the frames that one member sends on its link.
#[derive(Clone)]
pub struct DirectionConfig {
    pub link: String,
    /// The node; `None` behind an uplink.
    pub node: Option<String>,
    pub port: String,
    /// True if frames can be held at the node's interface.
    has_card: bool,
    /// The conditions of the plan.
    planned: Value,
    /// The conditions now.
    pub configured: Value,
    /// The conditions when counting began; `None` if they have not changed since.
    pub first: Option<Value>,
    /// The number of changes by request since the engine's start.
    pub requests: u64,
}

/// The cause of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Request,
    Timeline,
}

/// New conditions of the direction with this index.
pub struct Changed {
    pub direction: usize,
    pub conditions: Conditions,
}

impl ConfiguredConditions {
    /// Read the configuration from the plan.
    pub fn new(links: &EngineLinks) -> Result<Self, Failure> {
        let members = links.members().map(|(link, member)| DirectionConfig {
            link: link.link.clone(),
            node: member.node.clone(),
            port: member.port.clone(),
            has_card: member.card.is_some(),
            planned: member.conditions.clone(),
            configured: member.conditions.clone(),
            first: None,
            requests: 0,
        });
        let configured = Self(members.collect());
        configured.conditions()?;
        Ok(configured)
    }

    pub fn directions(&self) -> &[DirectionConfig] {
        &self.0
    }

    /// Return the conditions of every direction.
    pub fn conditions(&self) -> Result<Vec<Conditions>, Failure> {
        self.0.iter().map(|direction| read(direction, &direction.configured)).collect()
    }

    /// Note that counting begins now.
    pub fn begin_count(&mut self) {
        for direction in &mut self.0 {
            direction.first = None;
        }
    }

    /// Return to the conditions of the plan.
    pub fn restore(&mut self) -> Result<Vec<Changed>, Failure> {
        let mut changed = Vec::new();
        for (number, direction) in self.0.iter_mut().enumerate() {
            if direction.configured != direction.planned {
                direction.set(direction.planned.clone());
                let conditions = read(direction, &direction.configured)?;
                changed.push(Changed { direction: number, conditions });
            }
        }
        Ok(changed)
    }

    /// Change only the conditions that are named. After an error nothing is changed.
    pub fn change(&mut self, changes: &[Change], cause: Cause) -> Result<Vec<Changed>, Failure> {
        let mut after = self.0.clone();
        let mut changed = Vec::new();
        for change in changes {
            let wanted = |direction: &DirectionConfig| {
                direction.link == change.link && direction.node.as_ref() == Some(&change.node)
            };
            let index = after.iter().position(wanted).ok_or_else(|| self.unknown(change))?;
            if !change.set.is_object() {
                let what = format!("set link {} of {}", change.link, change.node);
                return Err(Failure::new(what, "`set` is not an object of conditions"));
            }
            let direction = &mut after[index];
            direction.set(merge(&direction.configured, &change.set));
            direction.requests += u64::from(cause == Cause::Request);
            let conditions = read(direction, &direction.configured)?;
            changed.push(Changed { direction: index, conditions });
        }
        self.0 = after;
        Ok(changed)
    }

    fn unknown(&self, change: &Change) -> Failure {
        let what = format!("set link {} of {}", change.link, change.node);
        let of_link = self.0.iter().filter(|direction| direction.link == change.link);
        let nodes: Vec<&str> = of_link.filter_map(|direction| direction.node.as_deref()).collect();
        if nodes.is_empty() {
            return Failure::new(what, "this host carries no such link with conditions");
        }
        Failure::new(what, "no such node sends on it from this host")
            .fix(format!("one of: {}", nodes.join(", ")))
    }
}

impl DirectionConfig {
    fn set(&mut self, conditions: Value) {
        let before = std::mem::replace(&mut self.configured, conditions);
        self.first.get_or_insert(before);
    }
}

fn read(direction: &DirectionConfig, configured: &Value) -> Result<Conditions, Failure> {
    let by = direction.node.as_ref().unwrap_or(&direction.port);
    let failed = |why: String| Failure::new(format!("set link {} of {by}", direction.link), why);
    let conditions: Conditions =
        serde_json::from_value(configured.clone()).map_err(|error| failed(error.to_string()))?;
    conditions.check().map_err(failed)?;
    if conditions.held_by_sender() && !direction.has_card {
        let why = "its own interface is in a virtual machine, where no frames can be held";
        return Err(
            failed(why.into()).fix("give `queue` packets or bytes: then they wait in the link")
        );
    }
    Ok(conditions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn configured() -> ConfiguredConditions {
        let links = json!({"links": [{"link": "wan", "members": [
            {"port": "vif-a", "node": "a", "conditions": {"delay_ns": 5}},
            {"port": "uplink"}]}]});
        ConfiguredConditions::new(&serde_json::from_value(links).unwrap()).unwrap()
    }

    fn change(link: &str, node: &str, set: Value) -> Change {
        Change { link: link.into(), node: node.into(), set }
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
        assert_eq!(
            configured.directions()[0].configured,
            json!({"delay_ns": 5, "duplicate": 0.5, "corrupt": 0.25})
        );
    }

    #[test]
    fn a_change_is_known_until_counting_begins_anew_even_if_it_was_taken_back() {
        let mut configured = configured();
        let set = |delay: u32| [change("wan", "a", json!({"delay_ns": delay}))];
        configured.change(&set(9), Cause::Request).unwrap();
        configured.change(&set(5), Cause::Timeline).unwrap();
        let [direction, uplink] = configured.directions() else { panic!("two directions") };
        assert_eq!(direction.first, Some(json!({"delay_ns": 5})));
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
        let changed = configured.restore().unwrap();
        assert_eq!((changed.len(), changed[0].conditions.delay_ns), (1, 5));
        assert_eq!(configured.directions()[0].configured, json!({"delay_ns": 5}));
        assert!(configured.restore().unwrap().is_empty());
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
            assert_eq!(configured.directions()[0].configured, json!({"delay_ns": 5}));
        }
    }
}
