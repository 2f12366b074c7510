//! The senders that are limited to their links' rates at their own interfaces.

use std::collections::BTreeMap;

use delaylab_proto::Failure;

use super::sender_limit::{SenderLimit, bucket};
use crate::link::configured::Changed;
use crate::network::tbf::Bucket;
use crate::protocol::links::{Card, EngineLinks};

/// The pids of the agents that hold the network namespaces of nodes' interfaces, by agent name.
pub type Agents = BTreeMap<String, i32>;

/// The limits of all directions of a host.
pub struct SenderLimits<'a> {
    /// For each direction the interface of its node and the link's MTU.
    cards: Vec<(Option<&'a Card>, u32)>,
    agents: &'a Agents,
    /// The limits in force with their buckets, by direction.
    limited: BTreeMap<usize, (SenderLimit, Bucket)>,
}

impl<'a> SenderLimits<'a> {
    /// Build the state in which no sender is limited.
    pub fn new(links: &'a EngineLinks, agents: &'a Agents) -> Self {
        let cards = links.members().map(|(link, member)| (member.card.as_ref(), link.mtu));
        Self { cards: cards.collect(), agents, limited: BTreeMap::new() }
    }

    /// Release the senders that an ended engine limited.
    pub fn release_all(&self) {
        for card in self.cards.iter().filter_map(|(card, _)| *card) {
            // If the interface is gone, so is its filter.
            let _ = self.open(card).and_then(|limit| limit.release());
        }
    }

    /// Limit senders as their new conditions require; after an error restore the former limits.
    pub fn change(&mut self, changed: &[Changed]) -> Result<(), Failure> {
        let mut before = Vec::new();
        for Changed { direction, conditions } in changed {
            let wanted = bucket(conditions, self.cards[*direction].1);
            before.push((*direction, self.limited.get(direction).map(|(_, bucket)| *bucket)));
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
        self.limited.get(&direction).and_then(|(limit, _)| limit.waiting()).unwrap_or_default()
    }

    fn set(&mut self, direction: usize, wanted: Option<Bucket>) -> Result<(), Failure> {
        match (self.limited.get_mut(&direction), wanted) {
            (None, None) => Ok(()),
            (Some((limit, bucket)), Some(wanted)) => {
                if *bucket != wanted {
                    limit.set(&wanted)?;
                    *bucket = wanted;
                }
                Ok(())
            }
            (Some((limit, _)), None) => {
                limit.release()?;
                self.limited.remove(&direction);
                Ok(())
            }
            (None, Some(wanted)) => {
                let (card, _) = self.cards[direction];
                let card = card.expect("conditions were checked");
                let limit = self.open(card)?;
                limit.set(&wanted)?;
                self.limited.insert(direction, (limit, wanted));
                Ok(())
            }
        }
    }

    fn open(&self, card: &Card) -> Result<SenderLimit, Failure> {
        let pid = self.agents.get(&card.r#in).copied().ok_or_else(|| {
            let what = format!("find the interface {} in {}", card.on, card.r#in);
            Failure::new(what, "no agent before this one has that name")
        })?;
        SenderLimit::open(card, pid)
    }
}
