//! The senders that are limited to their links' rates at their own interfaces.

use std::collections::BTreeMap;

use delaylab_proto::Failure;

use super::gate::{Gate, bucket};
use crate::link::control::asked::Changed;
use crate::link::plan::{Card, Links};
use crate::network::tbf::Bucket;

/// The pids of the agents that hold the network namespaces of nodes' interfaces, by agent name.
pub type Agents = BTreeMap<String, i32>;

pub struct Gates<'a> {
    /// For each direction the interface of its node and the link's MTU.
    cards: Vec<(Option<&'a Card>, u32)>,
    agents: &'a Agents,
    /// The closed gates, by direction.
    shut: BTreeMap<usize, (Gate, Bucket)>,
}

impl<'a> Gates<'a> {
    /// Build the gates, all open.
    pub fn new(links: &'a Links, agents: &'a Agents) -> Self {
        let cards = links.members().map(|(link, member)| (member.card.as_ref(), link.mtu));
        Self { cards: cards.collect(), agents, shut: BTreeMap::new() }
    }

    /// Open the gates that an ended engine closed.
    pub fn release_all(&self) {
        for card in self.cards.iter().filter_map(|(card, _)| *card) {
            // If the interface is gone, so is its filter.
            let _ = self.open(card).and_then(|gate| gate.release());
        }
    }

    /// Limit senders as their new conditions require; after an error restore the former limits.
    pub fn change(&mut self, changed: &[Changed]) -> Result<(), Failure> {
        let mut before = Vec::new();
        for Changed { direction, conditions } in changed {
            let wanted = bucket(conditions, self.cards[*direction].1);
            before.push((*direction, self.shut.get(direction).map(|(_, bucket)| *bucket)));
            if let Err(failure) = self.set(*direction, wanted) {
                for (direction, wanted) in before.into_iter().rev() {
                    // The former limits were possible, so restoring them should be, too.
                    let _ = self.set(direction, wanted);
                }
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Return the frames and bytes that wait at a direction's sender.
    pub fn waiting(&self, direction: usize) -> (usize, u64) {
        self.shut.get(&direction).and_then(|(gate, _)| gate.waiting()).unwrap_or_default()
    }

    fn set(&mut self, direction: usize, wanted: Option<Bucket>) -> Result<(), Failure> {
        match (self.shut.get_mut(&direction), wanted) {
            (None, None) => Ok(()),
            (Some((gate, bucket)), Some(wanted)) => {
                if *bucket != wanted {
                    gate.set(&wanted)?;
                    *bucket = wanted;
                }
                Ok(())
            }
            (Some((gate, _)), None) => {
                gate.release()?;
                self.shut.remove(&direction);
                Ok(())
            }
            (None, Some(wanted)) => {
                let (card, _) = self.cards[direction];
                let card = card.expect("conditions were checked");
                let gate = self.open(card)?;
                gate.set(&wanted)?;
                self.shut.insert(direction, (gate, wanted));
                Ok(())
            }
        }
    }

    fn open(&self, card: &Card) -> Result<Gate, Failure> {
        let pid = self.agents.get(&card.r#in).copied().ok_or_else(|| {
            let what = format!("find the interface {} in {}", card.on, card.r#in);
            Failure::new(what, "no agent before this one has that name")
        })?;
        Gate::open(card, pid)
    }
}
