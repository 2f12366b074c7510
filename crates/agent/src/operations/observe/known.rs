//! Names, prefixes and sets of next hops by number. Each is sent to the client once, before its number is used.

use std::collections::HashMap;
use std::net::IpAddr;

use delaylab_os::netlink::forwarding::{Prefix, Target};

/// The number of the set without a next hop, of routes that discard.
pub(super) const DISCARD: u32 = 0;

/// One next hop of a set: the number of the device's name, and the gateway.
pub(super) type KnownHop = (u32, Option<IpAddr>);

/// Names, prefixes and sets of next hops by their numbers, and those that the client does not have yet.
pub(super) struct Known {
    texts: HashMap<String, u32>,
    prefixes: HashMap<Prefix, u32>,
    sets: HashMap<Box<[KnownHop]>, u32>,
    targets: HashMap<Target, u32>,
    by_target: Vec<Target>,
    next_set: u32,
    /// Texts that were not sent: names of devices, and prefixes.
    pub new_texts: Vec<(u32, String)>,
    /// Next hops of sets that were not sent.
    pub new_hops: Vec<(u32, KnownHop)>,
}

impl Known {
    pub(super) fn new() -> Self {
        Self {
            texts: HashMap::new(),
            prefixes: HashMap::new(),
            sets: HashMap::new(),
            targets: HashMap::new(),
            by_target: Vec::new(),
            next_set: DISCARD + 1,
            new_texts: Vec::new(),
            new_hops: Vec::new(),
        }
    }

    /// Return the number of a text.
    pub(super) fn text(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.texts.get(text) {
            return number;
        }
        let number = self.texts.len() as u32;
        self.texts.insert(text.to_owned(), number);
        self.new_texts.push((number, text.to_owned()));
        number
    }

    /// Return the number of a prefix, which is that of its text.
    pub(super) fn prefix(&mut self, prefix: Prefix) -> u32 {
        if let Some(&number) = self.prefixes.get(&prefix) {
            return number;
        }
        let number = self.text(&format!("{}/{}", prefix.address, prefix.length));
        self.prefixes.insert(prefix, number);
        number
    }

    /// Return the number of a set of next hops, which has at least one.
    pub(super) fn set(&mut self, mut hops: Vec<KnownHop>) -> u32 {
        hops.sort_unstable();
        hops.dedup();
        let hops = hops.into_boxed_slice();
        if let Some(&number) = self.sets.get(&hops) {
            return number;
        }
        let number = self.next_set;
        self.next_set += 1;
        self.new_hops.extend(hops.iter().map(|&hop| (number, hop)));
        self.sets.insert(hops, number);
        number
    }

    /// Return the number of a target, by which the tables of all nodes keep it.
    pub(super) fn target(&mut self, target: Target) -> u32 {
        if let Some(&number) = self.targets.get(&target) {
            return number;
        }
        let number = self.by_target.len() as u32;
        self.by_target.push(target.clone());
        self.targets.insert(target, number);
        number
    }

    /// Return the target with a number that [`Self::target`] gave.
    pub(super) fn target_of(&self, number: u32) -> &Target {
        &self.by_target[number as usize]
    }
}
