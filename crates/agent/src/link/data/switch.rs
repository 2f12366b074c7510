//! The switch of a link, which decides where its frames go: the egress ports of a frame.

use std::collections::HashMap;
use std::ops::Range;

/// The limit on MAC addresses learned on one link, so that a sender of forged ones cannot fill the memory.
const MOST_ADDRESSES: usize = 4096;

/// A MAC address.
type Address = [u8; 6];

/// One link with its MAC table. Its ports have the numbers of their directions, which are consecutive.
pub(super) struct Switch {
    ports: Range<u32>,
    known: HashMap<Address, u32>,
}

impl Switch {
    /// Build a link with the MAC addresses known to be behind its ports.
    pub(super) fn new(ports: Range<u32>, known: impl Iterator<Item = (Address, u32)>) -> Self {
        Self { ports, known: known.collect() }
    }

    fn is_cable(&self) -> bool {
        self.ports.len() == 2
    }

    /// Learn that the source address of a frame is behind the port at which it arrived.
    pub(super) fn learn(&mut self, frame: &[u8], port: u32) {
        if self.is_cable() {
            return;
        }
        let Some(Ok(source)) = frame.get(6..12).map(Address::try_from) else { return };
        let group = source[0] & 1 != 0;
        if !group && (self.known.len() < MOST_ADDRESSES || self.known.contains_key(&source)) {
            self.known.insert(source, port);
        }
    }

    /// Return the egress ports of a frame that arrived at `from`: the other end of a cable, else the port
    /// with its destination behind it, or all ports but `from` for unknown and group addresses.
    pub(super) fn towards(&self, frame: &[u8], from: u32) -> impl Iterator<Item = u32> + use<> {
        let destination = frame.get(..6).and_then(|bytes| Address::try_from(bytes).ok());
        let known = destination
            .filter(|_| !self.is_cable())
            .and_then(|destination| self.known.get(&destination).copied())
            .filter(|&port| port != from);
        let ports = known.map_or(self.ports.clone(), |port| port..port + 1);
        ports.filter(move |&port| port != from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(to: u8, from: u8) -> [u8; 14] {
        let mut frame = [0; 14];
        (frame[0], frame[5], frame[6], frame[11]) = (2, to, 2, from);
        frame
    }

    fn towards(switch: &Switch, to: u8, from: u32) -> Vec<u32> {
        switch.towards(&frame(to, 0), from).collect()
    }

    #[test]
    fn a_cable_leads_to_its_other_end_whatever_the_address() {
        let mut switch = Switch::new(4..6, [([2, 0, 0, 0, 0, 1], 4)].into_iter());
        switch.learn(&frame(9, 2), 4);
        assert_eq!((towards(&switch, 2, 4), towards(&switch, 1, 5)), (vec![5], vec![4]));
    }

    #[test]
    fn a_shared_link_leads_to_who_is_known_and_else_to_all() {
        let mut switch = Switch::new(0..3, [([2, 0, 0, 0, 0, 1], 1)].into_iter());
        assert_eq!(towards(&switch, 1, 0), [1]);
        assert_eq!(towards(&switch, 7, 0), [1, 2]);
        switch.learn(&frame(1, 7), 2);
        assert_eq!(towards(&switch, 7, 0), [2]);
        switch.learn(&frame(1, 7), 1);
        assert_eq!(towards(&switch, 7, 0), [1], "it has moved");
        let mut group = frame(0, 0);
        group[0] = 0xff;
        assert_eq!(switch.towards(&group, 1).collect::<Vec<_>>(), [0, 2]);
    }

    #[test]
    fn made_up_addresses_do_not_fill_the_memory() {
        let mut switch = Switch::new(0..3, [].into_iter());
        for number in 0..10_000_u32 {
            let mut frame = frame(1, 0);
            frame[8..12].copy_from_slice(&number.to_be_bytes());
            switch.learn(&frame, 0);
        }
        assert_eq!(switch.known.len(), MOST_ADDRESSES);
    }
}
