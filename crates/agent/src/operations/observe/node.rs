//! The forwarding table of one node, kept up to date by the kernel's messages.
//!
//! The kernel does not tell all. When an interface is set down it removes the IPv4 routes over it and the next-hop
//! objects at it without a message, and when one loses its carrier it leaves the connected route although nobody is
//! there. Both are derived here from the message about the interface; the tables are then read again, which also shows
//! what else has gone.

use std::collections::HashMap;

use delaylab_os::netlink::forwarding::{
    Dumped, Hop, Insertion, Link, Message, NextHopObject, Part, Route, Target,
};
use nix::sys::socket::AddressFamily;

use super::known::{DISCARD, Known};
use super::routes::{Entry, Routes};
use super::rows::{Row, What};

/// The state of an interface, and the number of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Device {
    name: u32,
    admin_up: bool,
    carrier: bool,
}

/// The tables of a node.
#[derive(Default)]
pub(super) struct Tables {
    devices: HashMap<u32, Device>,
    objects: HashMap<u32, NextHopObject>,
    /// The routes by the numbers of their prefixes.
    routes: HashMap<u32, Routes>,
    /// The sets of next hops that targets come to; `None` for one that leads nowhere. Empty after every change of a
    /// device or an object.
    resolved: HashMap<u32, Option<u32>>,
    /// True if a route is over an object that no message was about.
    misses_object: bool,
}

/// The place of changes: which node, at what time, with what is known by number, and the rows so far.
pub(super) struct At<'a> {
    pub node: u32,
    pub time_ns: i64,
    pub known: &'a mut Known,
    pub rows: &'a mut Vec<Row>,
}

impl At<'_> {
    fn row(&mut self, what: What) {
        self.rows.push(Row { time_ns: self.time_ns, node: self.node, what });
    }
}

impl Tables {
    /// Follow a message; return true if the tables should be read again.
    pub(super) fn follow(&mut self, message: Message, at: &mut At) -> bool {
        match message {
            Message::RouteSet(route, place) => {
                let prefix = self.set(route, place, at.known);
                self.show(prefix, at);
            }
            Message::RouteGone(route) => {
                let prefix = self.remove(route, at.known);
                self.show(prefix, at);
            }
            Message::NextHopSet(id, object) => {
                let before = self.objects.insert(id, object);
                // No route is over an object that is new.
                if before.is_some() && before.as_ref() != self.objects.get(&id) {
                    self.show_all(at);
                }
            }
            Message::NextHopGone(id) => {
                self.forget_object(id);
                let used = self.forget_routes_over(id, at.known);
                self.show_all(at);
                return used;
            }
            Message::LinkSet(link) => return self.set_device(&link, at),
            Message::LinkGone(index) => return self.remove_device(index, at),
            Message::AddressGone => return true,
        }
        std::mem::take(&mut self.misses_object)
    }

    /// Take a step of a dump into tables that are read anew.
    pub(super) fn take(&mut self, dumped: Dumped, known: &mut Known) {
        match dumped {
            Dumped::Begin(Part::Links) => self.devices.clear(),
            Dumped::Begin(Part::NextHops) => self.objects.clear(),
            Dumped::Begin(Part::Routes(family)) => {
                let is_4 = i32::from(family) == AddressFamily::Inet as i32;
                self.routes.retain(|_, routes| routes.is_4 != is_4);
            }
            Dumped::Message(Message::RouteSet(route, _)) => {
                self.set(route, Insertion::Last, known);
            }
            Dumped::Message(Message::NextHopSet(id, object)) => {
                self.objects.insert(id, object);
            }
            Dumped::Message(Message::LinkSet(link)) => {
                self.devices.insert(link.index, device(&link, known));
            }
            Dumped::Message(_) => {}
        }
    }

    /// Become the tables that were read anew, and show what is different.
    pub(super) fn become_read(&mut self, mut read: Self, at: &mut At) {
        for (index, &now) in &read.devices {
            if self.devices.get(index) != Some(&now) {
                at.row(now.shown());
            }
        }
        for (index, &before) in &self.devices {
            if !read.devices.contains_key(index) {
                at.row(before.gone());
            }
        }
        for (prefix, before) in std::mem::take(&mut self.routes) {
            if before.shown.is_some() {
                let now = read.routes.entry(prefix).or_insert_with(|| Routes::new(before.is_4));
                now.shown = before.shown;
            }
        }
        *self = read;
        self.show_all(at);
    }

    /// Show that the node has nothing any more: its network is gone.
    pub(super) fn end(&mut self, at: &mut At) {
        self.become_read(Self::default(), at);
    }

    fn set(&mut self, route: Route, place: Insertion, known: &mut Known) -> u32 {
        let (prefix, is_4) = (known.prefix(route.prefix), route.prefix.address.is_ipv4());
        let entry = Entry { metric: route.metric, target: known.target(route.target) };
        let routes = self.routes.entry(prefix).or_insert_with(|| Routes::new(is_4));
        routes.set(entry, place, known);
        prefix
    }

    fn remove(&mut self, route: Route, known: &mut Known) -> u32 {
        let prefix = known.prefix(route.prefix);
        let entry = Entry { metric: route.metric, target: known.target(route.target) };
        if let Some(routes) = self.routes.get_mut(&prefix) {
            routes.remove(entry, known);
        }
        prefix
    }

    /// Follow the state of an interface; return true if it has another one than before.
    fn set_device(&mut self, link: &Link, at: &mut At) -> bool {
        let now = device(link, at.known);
        let before = self.devices.insert(link.index, now);
        if before == Some(now) {
            return false;
        }
        at.row(now.shown());
        self.show_all(at);
        true
    }

    fn remove_device(&mut self, index: u32, at: &mut At) -> bool {
        let Some(device) = self.devices.remove(&index) else { return false };
        at.row(device.gone());
        self.show_all(at);
        true
    }

    /// Forget an object, also as a member of groups, and groups that have no other member.
    fn forget_object(&mut self, id: u32) {
        let mut gone = vec![id];
        while let Some(id) = gone.pop() {
            self.objects.remove(&id);
            for (&group, object) in &mut self.objects {
                let NextHopObject::Group(members) = object else { continue };
                if members.contains(&id) {
                    *members = members.iter().copied().filter(|&member| member != id).collect();
                    if members.is_empty() {
                        gone.push(group);
                    }
                }
            }
        }
    }

    /// Forget the routes over an object that is gone, as the kernel does; return true if there were any.
    fn forget_routes_over(&mut self, id: u32, known: &mut Known) -> bool {
        let target = known.target(Target::Object(id));
        let mut used = false;
        for routes in self.routes.values_mut() {
            let before = routes.entries.len();
            routes.entries.retain(|entry| entry.target != target);
            used |= routes.entries.len() < before;
        }
        used
    }

    /// Show all prefixes that now lead elsewhere: a device or an object has changed.
    fn show_all(&mut self, at: &mut At) {
        self.resolved.clear();
        let mut prefixes: Vec<u32> = self.routes.keys().copied().collect();
        prefixes.sort_unstable();
        for prefix in prefixes {
            self.show(prefix, at);
        }
    }

    /// Show a prefix if it now leads elsewhere.
    fn show(&mut self, prefix: u32, at: &mut At) {
        let Some(routes) = self.routes.get(&prefix) else { return };
        let (resolved, devices, objects) = (&mut self.resolved, &self.devices, &self.objects);
        let misses = &mut self.misses_object;
        let mut leads = |entry: &Entry| {
            *resolved.entry(entry.target).or_insert_with(|| {
                let target = at.known.target_of(entry.target);
                if let Target::Object(id) = target {
                    *misses |= !objects.contains_key(id);
                }
                let way = match target {
                    Target::Discard => NextStep::Discard,
                    Target::Hops(hops) => NextStep::Hops(hops.to_vec()),
                    Target::Object(id) => way(objects, *id),
                };
                way.number(devices, at.known)
            })
        };
        let now = routes.entries.iter().find_map(&mut leads);
        if now != routes.shown {
            at.row(What::Route { prefix, hops: now });
        }
        if routes.entries.is_empty() {
            self.routes.remove(&prefix);
        } else if let Some(routes) = self.routes.get_mut(&prefix) {
            routes.shown = now;
        }
    }
}

/// The next step of packets, with objects looked up.
enum NextStep {
    Discard,
    Hops(Vec<Hop>),
}

impl NextStep {
    /// Return the number of the set of the next hops that can be used; `None` if there are none.
    fn number(self, devices: &HashMap<u32, Device>, known: &mut Known) -> Option<u32> {
        let Self::Hops(hops) = self else { return Some(DISCARD) };
        let usable = hops.iter().filter_map(|hop| {
            let device = devices.get(&hop.device)?;
            // The kernel keeps a route over a gateway without a carrier: its packets are lost.
            let leads = device.admin_up && (device.carrier || hop.gateway.is_some());
            leads.then_some((device.name, hop.gateway))
        });
        let usable: Vec<_> = usable.collect();
        (!usable.is_empty()).then(|| known.set(usable))
    }
}

/// Return the next step by an object, which may be a group of others.
fn way(objects: &HashMap<u32, NextHopObject>, id: u32) -> NextStep {
    match objects.get(&id) {
        None => NextStep::Hops(Vec::new()),
        Some(NextHopObject::Discard) => NextStep::Discard,
        Some(NextHopObject::Hop(hop)) => NextStep::Hops(vec![*hop]),
        Some(NextHopObject::Group(members)) => {
            let hops = members.iter().filter_map(|member| match objects.get(member) {
                Some(NextHopObject::Hop(hop)) => Some(*hop),
                _ => None,
            });
            NextStep::Hops(hops.collect())
        }
    }
}

fn device(link: &Link, known: &mut Known) -> Device {
    let &Link { admin_up, carrier, .. } = link;
    Device { name: known.text(&link.name), admin_up, carrier: carrier && admin_up }
}

impl Device {
    fn shown(self) -> What {
        What::Link { name: self.name, admin_up: self.admin_up, carrier: self.carrier }
    }

    fn gone(self) -> What {
        What::Link { name: self.name, admin_up: false, carrier: false }
    }
}

#[cfg(test)]
mod tests;
