//! Tables of a node by made-up messages.

use delaylab_os::netlink::forwarding::Prefix;

use super::*;

/// A node, and what its observer has said since last asked.
struct Watched {
    tables: Tables,
    known: Known,
    texts: Vec<String>,
    sets: HashMap<u32, Vec<String>>,
}

impl Watched {
    fn new() -> Self {
        let known = Known::new();
        let (texts, sets) = (Vec::new(), HashMap::from([(DISCARD, Vec::new())]));
        let mut it = Self { tables: Tables::default(), known, texts, sets };
        for index in [1, 2] {
            assert!(it.hear(link(index, true, true)).1);
        }
        it
    }

    /// Follow a message. Return what changed as text, and true if the tables are to be read again.
    fn hear(&mut self, message: Message) -> (Vec<String>, bool) {
        self.changed(|tables, at| tables.follow(message, at))
    }

    fn changed<T>(&mut self, act: impl FnOnce(&mut Tables, &mut At) -> T) -> (Vec<String>, T) {
        let mut rows = Vec::new();
        let mut at = At { node: 0, time_ns: 1, known: &mut self.known, rows: &mut rows };
        let result = act(&mut self.tables, &mut at);
        for (number, text) in self.known.new_texts.drain(..) {
            assert_eq!(number as usize, self.texts.len());
            self.texts.push(text);
        }
        for (set, (device, gateway)) in self.known.new_hops.drain(..) {
            let gateway = gateway.map_or_else(String::new, |via| format!(" via {via}"));
            let hop = format!("{}{gateway}", self.texts[device as usize]);
            self.sets.entry(set).or_default().push(hop);
        }
        let said = rows.iter().map(|row| match row.what {
            What::Route { prefix, hops } => {
                let hops = hops.map(|set| self.sets[&set].join(", "));
                let hops = hops.unwrap_or_else(|| "gone".into());
                format!("{}: {hops}", self.texts[prefix as usize])
            }
            What::Link { name, admin_up, carrier } => {
                format!("{} {admin_up} {carrier}", self.texts[name as usize])
            }
            What::Lost => "lost".into(),
        });
        (said.collect(), result)
    }
}

fn link(index: u32, admin_up: bool, carrier: bool) -> Message {
    Message::LinkSet(Link { index, name: format!("d{index}"), admin_up, carrier })
}

fn hop(device: u32) -> Hop {
    Hop { device, gateway: Some(format!("10.0.0.{device}").parse().unwrap()) }
}

fn route(metric: u32, target: Target) -> Route {
    Route { prefix: Prefix { address: "10.9.0.0".parse().unwrap(), length: 16 }, metric, target }
}

fn over(devices: &[u32]) -> Target {
    Target::Hops(devices.iter().map(|&device| hop(device)).collect())
}

#[test]
fn a_route_is_shown_when_it_leads_elsewhere() {
    let mut node = Watched::new();
    let set = |metric, target| Message::RouteSet(route(metric, target), Insertion::First);
    assert_eq!(node.hear(set(20, over(&[1]))).0, ["10.9.0.0/16: d1 via 10.0.0.1"]);
    assert!(node.hear(set(20, over(&[1]))).0.is_empty());
    assert!(node.hear(set(30, over(&[2]))).0.is_empty());
    assert_eq!(node.hear(set(10, Target::Discard)).0, ["10.9.0.0/16: "]);
    let gone = |metric, target| Message::RouteGone(route(metric, target));
    assert_eq!(node.hear(gone(10, Target::Discard)).0, ["10.9.0.0/16: d1 via 10.0.0.1"]);
    assert_eq!(node.hear(gone(20, over(&[1]))).0, ["10.9.0.0/16: d2 via 10.0.0.2"]);
    assert_eq!(node.hear(gone(30, over(&[2]))).0, ["10.9.0.0/16: gone"]);
    assert!(node.hear(gone(30, over(&[2]))).0.is_empty());
}

#[test]
fn a_device_that_is_set_down_takes_its_routes_away_and_the_tables_are_read_again() {
    let mut node = Watched::new();
    node.hear(Message::RouteSet(route(20, over(&[1, 2])), Insertion::First));
    let (said, again) = node.hear(link(1, false, false));
    assert_eq!(said, ["d1 false false", "10.9.0.0/16: d2 via 10.0.0.2"]);
    assert!(again);
    assert_eq!(node.hear(link(2, false, true)).0, ["d2 false false", "10.9.0.0/16: gone"]);
    assert!(!node.hear(link(2, false, true)).1);
    let back = ["d1 true true", "10.9.0.0/16: d1 via 10.0.0.1"];
    assert_eq!(node.hear(link(1, true, true)).0, back);
    assert_eq!(node.hear(Message::LinkGone(1)).0, ["d1 false false", "10.9.0.0/16: gone"]);
}

#[test]
fn without_a_carrier_a_connected_route_is_gone_and_one_over_a_gateway_stays() {
    let mut node = Watched::new();
    let connected = Target::Hops([Hop { device: 1, gateway: None }].into());
    node.hear(Message::RouteSet(route(0, connected), Insertion::First));
    let said = ["d1 true false", "10.9.0.0/16: gone"];
    assert_eq!(node.hear(link(1, true, false)).0, said);
    node.hear(Message::RouteSet(route(20, over(&[1])), Insertion::First));
    assert_eq!(node.hear(link(1, true, true)).0, ["d1 true true", "10.9.0.0/16: d1"]);
}

#[test]
fn an_object_that_changes_takes_its_routes_along() {
    let mut node = Watched::new();
    let object = |id, object| Message::NextHopSet(id, object);
    node.hear(object(1, NextHopObject::Hop(hop(1))));
    node.hear(object(2, NextHopObject::Hop(hop(2))));
    node.hear(object(9, NextHopObject::Group([1, 2].into())));
    let set = Message::RouteSet(route(20, Target::Object(9)), Insertion::First);
    assert_eq!(node.hear(set).0, ["10.9.0.0/16: d1 via 10.0.0.1, d2 via 10.0.0.2"]);
    let one = object(9, NextHopObject::Group([2].into()));
    assert_eq!(node.hear(one).0, ["10.9.0.0/16: d2 via 10.0.0.2"]);
    // The only member is deleted, then the group that has no other, and with it its route.
    let (said, again) = node.hear(Message::NextHopGone(2));
    assert_eq!((said, again), (vec!["10.9.0.0/16: gone".to_owned()], false));
    let (said, again) = node.hear(Message::NextHopGone(9));
    assert_eq!((said, again), (Vec::new(), true));
}

#[test]
fn a_route_over_an_object_that_nobody_told_of_has_the_tables_read_again() {
    let mut node = Watched::new();
    let set = |place| Message::RouteSet(route(20, Target::Object(7)), place);
    assert_eq!(node.hear(set(Insertion::First)), (Vec::new(), true));
    let (said, ()) = node.changed(|tables, at| {
        let mut read = Tables::default();
        read.take(Dumped::Begin(Part::Links), at.known);
        for message in [link(1, true, true), link(2, true, true)] {
            read.take(Dumped::Message(message), at.known);
        }
        let object = Message::NextHopSet(7, NextHopObject::Hop(hop(2)));
        read.take(Dumped::Message(object), at.known);
        read.take(Dumped::Message(set(Insertion::First)), at.known);
        tables.become_read(read, at);
    });
    assert_eq!(said, ["10.9.0.0/16: d2 via 10.0.0.2"]);
}

#[test]
fn tables_that_are_read_again_show_what_was_missed() {
    let mut node = Watched::new();
    node.hear(Message::RouteSet(route(20, over(&[1])), Insertion::First));
    let (said, ()) = node.changed(|tables, at| {
        let mut read = Tables::default();
        for number in 0..2 {
            // A dump that is begun anew: what came first does not count.
            read.take(Dumped::Begin(Part::Links), at.known);
            read.take(Dumped::Message(link(1, true, number == 1)), at.known);
            read.take(Dumped::Begin(Part::Routes(AddressFamily::Inet as u8)), at.known);
            let target = over(&[if number == 0 { 2 } else { 1 }]);
            let mut other = route(10, target);
            other.prefix.length = 24;
            let message = Message::RouteSet(other, Insertion::First);
            read.take(Dumped::Message(message), at.known);
        }
        tables.become_read(read, at);
    });
    let expected = ["d2 false false", "10.9.0.0/16: gone", "10.9.0.0/24: d1 via 10.0.0.1"];
    assert_eq!(said, expected);
    let (said, ()) = node.changed(|tables, at| tables.end(at));
    assert_eq!(said, ["d1 false false", "10.9.0.0/24: gone"]);
}
