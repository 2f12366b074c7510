//! The routes to one prefix, in the order in which the kernel tries them.

use delaylab_os::netlink::forwarding::{Hop, Insertion, Target};

use super::known::Known;

/// A route: its metric, and the number of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub metric: u32,
    pub target: u32,
}

/// The routes to a prefix by metric, and the set of next hops that the client was told of.
pub(super) struct Routes {
    /// True for a prefix of IPv4.
    pub is_4: bool,
    pub entries: Vec<Entry>,
    pub shown: Option<u32>,
}

impl Routes {
    pub(super) const fn new(is_4: bool) -> Self {
        Self { is_4, entries: Vec::new(), shown: None }
    }

    /// Add a route, or change one.
    pub(super) fn set(&mut self, entry: Entry, place: Insertion, known: &Known) {
        if self.is_4 { self.set_4(entry, place) } else { self.set_6(entry, place, known) }
    }

    /// Remove a route, or some of its next hops.
    pub(super) fn remove(&mut self, entry: Entry, known: &mut Known) {
        if self.is_4 { self.remove_4(entry) } else { self.remove_6(entry, known) }
    }

    fn set_4(&mut self, entry: Entry, place: Insertion) {
        let first = self.entries.partition_point(|other| other.metric < entry.metric);
        let after = self.entries.partition_point(|other| other.metric <= entry.metric);
        if place == Insertion::Instead && first < after {
            self.entries[first] = entry;
        } else if !self.entries[first..after].contains(&entry) {
            self.entries.insert(if place == Insertion::First { first } else { after }, entry);
        }
    }

    /// Add a route of IPv6. A message names all next hops that the route now has, also if only one of them is new.
    fn set_6(&mut self, entry: Entry, place: Insertion, known: &Known) {
        let has = |target: u32, hops: &[Hop]| match known.target_of(target) {
            Target::Hops(of) => of.iter().all(|hop| hops.contains(hop)),
            _ => false,
        };
        let grown = |other: &&mut Entry| {
            let all: &[Hop] = match known.target_of(entry.target) {
                Target::Hops(all) => all,
                _ => &[],
            };
            other.metric == entry.metric && (place == Insertion::Instead || has(other.target, all))
        };
        match self.entries.iter_mut().find(grown) {
            Some(other) => *other = entry,
            None => self.set_4(entry, Insertion::Last),
        }
    }

    fn remove_4(&mut self, entry: Entry) {
        // Next hops that have died since are not in the message: what is left is the metric.
        let exact = self.entries.iter().position(|other| *other == entry);
        let like = || self.entries.iter().position(|other| other.metric == entry.metric);
        if let Some(place) = exact.or_else(like) {
            self.entries.remove(place);
        }
    }

    /// Remove a route of IPv6, or some of its next hops.
    fn remove_6(&mut self, entry: Entry, known: &mut Known) {
        if let Some(place) = self.entries.iter().position(|other| *other == entry) {
            self.entries.remove(place);
            return;
        }
        let Target::Hops(gone) = known.target_of(entry.target).clone() else { return };
        for place in 0..self.entries.len() {
            let other = self.entries[place];
            let Target::Hops(hops) = known.target_of(other.target) else { continue };
            if other.metric == entry.metric && gone.iter().all(|hop| hops.contains(hop)) {
                let left: Box<[Hop]> =
                    hops.iter().filter(|hop| !gone.contains(hop)).copied().collect();
                if left.is_empty() {
                    self.entries.remove(place);
                } else {
                    self.entries[place].target = known.target(Target::Hops(left));
                }
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(device: u32) -> Hop {
        Hop { device, gateway: Some("fe80::1".parse().unwrap()) }
    }

    fn over(known: &mut Known, devices: &[u32]) -> u32 {
        known.target(Target::Hops(devices.iter().map(|&device| hop(device)).collect()))
    }

    #[test]
    fn routes_are_tried_by_metric_then_in_the_order_of_their_places() {
        let mut routes = Routes::new(true);
        let entry = |metric, target| Entry { metric, target };
        for (it, place) in [
            (entry(20, 1), Insertion::First),
            (entry(10, 2), Insertion::First),
            (entry(20, 3), Insertion::First),
            (entry(20, 4), Insertion::Last),
            (entry(20, 4), Insertion::First),
        ] {
            routes.set_4(it, place);
        }
        let now = |routes: &Routes| routes.entries.iter().map(|it| it.target).collect::<Vec<_>>();
        assert_eq!(now(&routes), [2, 3, 1, 4]);
        routes.set_4(entry(20, 5), Insertion::Instead);
        assert_eq!(now(&routes), [2, 5, 1, 4]);
        routes.remove_4(entry(20, 1));
        assert_eq!(now(&routes), [2, 5, 4]);
        routes.remove_4(entry(20, 9));
        assert_eq!(now(&routes), [2, 4]);
        routes.remove_4(entry(30, 4));
        assert_eq!(now(&routes), [2, 4]);
    }

    #[test]
    fn a_route_of_ipv6_grows_and_shrinks_by_its_next_hops() {
        let (mut known, mut routes) = (Known::new(), Routes::new(false));
        let mut set = |routes: &mut Routes, devices: &[u32], place| {
            let target = over(&mut known, devices);
            routes.set_6(Entry { metric: 20, target }, place, &known);
        };
        set(&mut routes, &[1], Insertion::First);
        set(&mut routes, &[1, 2], Insertion::Last);
        set(&mut routes, &[1, 2, 3], Insertion::Last);
        assert_eq!(routes.entries.len(), 1);
        set(&mut routes, &[7], Insertion::First);
        assert_eq!(routes.entries.len(), 2);
        let gone = Entry { metric: 20, target: over(&mut known, &[2]) };
        routes.remove_6(gone, &mut known);
        let left = over(&mut known, &[1, 3]);
        assert_eq!(routes.entries[0], Entry { metric: 20, target: left });
        for devices in [&[1, 3][..], &[7], &[8]] {
            let gone = Entry { metric: 20, target: over(&mut known, devices) };
            routes.remove_6(gone, &mut known);
        }
        assert_eq!(routes.entries, []);
    }

    #[test]
    fn a_route_of_ipv6_is_replaced_by_one_over_other_hops() {
        let (mut known, mut routes) = (Known::new(), Routes::new(false));
        for (devices, place) in [(&[1, 2][..], Insertion::First), (&[3], Insertion::Instead)] {
            let target = over(&mut known, devices);
            routes.set_6(Entry { metric: 20, target }, place, &known);
        }
        let only = over(&mut known, &[3]);
        assert_eq!(routes.entries, [Entry { metric: 20, target: only }]);
    }
}
