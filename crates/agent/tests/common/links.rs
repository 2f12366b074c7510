//! Plans of links with conditions, and the reports of their engine.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};

use super::{
    Client, Home, NOBODY, PATIENCE, Process, assert_gone, build, cable, connect, connect_as, exec,
    fresh_dir, mac,
};

/// A lab of one host whose link `wan` joins nodes `n1`… under these conditions.
pub(crate) struct Lab {
    pub name: String,
    pub dir: PathBuf,
    pub fabric: Process,
    /// The keeper's answer.
    pub done: Value,
    /// Its user and an agent that this user can run, if that is not the user of this process.
    pub user: Option<(u32, PathBuf)>,
}

/// Build the plan of nodes on one link. Each item holds the fields of the node's member beyond its name.
pub(crate) fn plan(members: &[Value], more: &Value) -> Value {
    let mut agents = vec![json!({"name": "host.h", "network": "new"})];
    let mut operations = Vec::new();
    let mut ports = Vec::new();
    for (number, member) in (1..).zip(members) {
        let (name, port) = (format!("node.n{number}"), format!("vif-n{number}"));
        // Link-local addresses are used at once, as in every lab: with duplicate address detection a node
        // answers multicast from another address until it ends.
        let sysctls = json!({"-net.ipv6.conf.all.accept_dad": "0",
            "-net.ipv6.conf.default.accept_dad": "0"});
        agents.push(json!({"name": name, "network": "new", "sysctls": sysctls}));
        operations.extend(cable(number, 1500));
        operations.push(json!({"do": "offloads", "in": name, "on": "eth0", "enabled": false}));
        let mut entry = json!({"port": port, "node": format!("n{number}")});
        merge(&mut entry, member);
        ports.push(entry);
    }
    let mut links = json!({"seed": 1, "links": [{"link": "wan", "members": ports}]});
    merge(&mut links, more);
    agents.push(json!({"name": "link.h", "network": "host.h", "links": links}));
    json!({"agents": agents, "operations": operations})
}

fn merge(into: &mut Value, more: &Value) {
    for (key, value) in more.as_object().unwrap() {
        into[key] = value.clone();
    }
}

/// Build a member whose frames have these conditions.
pub(crate) fn under(conditions: Value) -> Value {
    json!({"conditions": conditions})
}

/// Build a request for frames from one node to another, as fast as possible if `interval_ns` is 0.
pub(crate) fn generate([from, to]: [usize; 2], count: u32, interval_ns: u32, size: usize) -> Value {
    json!({"op": "generate", "probe": 1, "count": count, "interval_ns": interval_ns, "size": size,
        "port": 9, "flows": [{"interface": "eth0", "to_mac": mac(to),
                              "from": format!("10.9.0.{from}"), "to": format!("10.9.0.{to}")}]})
}

/// Return a number in a direction's report.
pub(crate) fn number(way: &Value, at: &str) -> u64 {
    way.pointer(at).and_then(Value::as_u64).unwrap_or_else(|| panic!("{at} of {way}"))
}

impl Lab {
    pub(crate) fn up(name: &str, plan: &Value) -> Self {
        let dir = fresh_dir();
        Self::built(name, &build(name, &dir, plan), dir, Process::start("fabric"), None)
    }

    /// Bring up a lab of an ordinary user.
    pub(crate) fn up_in(home: &Home, name: &str, plan: &Value) -> Self {
        let user = Some((NOBODY, home.agent.clone()));
        Self::built(name, &home.build(name, plan), home.dir.join("lab"), home.fabric(), user)
    }

    fn built(
        name: &str,
        request: &Value,
        dir: PathBuf,
        mut fabric: Process,
        user: Option<(u32, PathBuf)>,
    ) -> Self {
        let end = fabric.client.call(request).end;
        assert!(end["error"].is_null(), "{end}");
        Self { name: name.to_owned(), dir, fabric, done: end["done"].clone(), user }
    }

    pub(crate) fn client(&self, agent: &str) -> Client<UnixStream> {
        let socket = self.done["agents"][agent]["socket"].as_str().unwrap();
        match &self.user {
            Some((user, program)) => connect_as(*user, program, socket),
            None => connect(socket),
        }
    }

    /// Send a request to the agent of the links and return the result.
    pub(crate) fn ask(&self, request: Value) -> Value {
        let end = self.client("link.h").call(&request).end;
        assert!(end["error"].is_null(), "{request}: {end}");
        end["done"].clone()
    }

    /// Send frames from a node, all of which the kernel takes.
    pub(crate) fn generate(&self, node: &str, request: &Value) {
        let end = self.client(&format!("node.{node}")).call(request).end;
        assert_eq!(end["done"]["sent"], request["count"], "{end}");
    }

    /// Return a counter of a node's interface.
    pub(crate) fn counter(&self, node: &str, name: &str) -> u64 {
        let end = self.client(&format!("node.{node}")).call(&json!({"op": "counters"})).end;
        number(&end, &format!("/done/interfaces/eth0/{name}"))
    }

    pub(crate) fn links(&self) -> Value {
        self.ask(json!({"op": "links"}))
    }

    /// Poll the links' report until it satisfies `is`. An engine that is ending may leave a request
    /// unanswered.
    pub(crate) fn until(&self, what: &str, mut is: impl FnMut(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let end = self.client("link.h").call(&json!({"op": "links"})).end;
            if !end["done"].is_null() && is(&end["done"]) {
                return end["done"].clone();
            }
            assert!(Instant::now() < deadline, "not {what}: {end}");
        }
    }

    /// Return the links' report once nothing is under way in any direction.
    pub(crate) fn settled(&self) -> Value {
        let under_way = |way: &Value| number(way, "/held") + number(way, "/waiting/frames");
        self.until("settled", |links| {
            links["directions"].as_array().unwrap().iter().all(|way| under_way(way) == 0)
        })
    }

    /// Run a command in a node and return its whole output.
    pub(crate) fn run(&self, node: &str, argv: &[&str]) -> String {
        let answer = self.client(&format!("node.{node}")).call(&exec(argv));
        answer.stdout()
    }

    /// Return the round trip times in ms by ping(8), in the order of the replies.
    pub(crate) fn ping(&self, node: &str, to: &str, count: usize, more: &[&str]) -> Vec<f64> {
        let count = count.to_string();
        let mut argv = vec!["ping", "-n", "-c", &count, "-i", "0.01", "-W", "1"];
        argv.extend(more);
        argv.push(to);
        let said = self.run(node, &argv);
        let times = said.lines().filter_map(|line| line.split_once("time=")?.1.split(' ').next());
        times.map(|time| time.parse().unwrap()).collect()
    }

    /// Take the lab down and assert that nothing of it is left.
    pub(crate) fn down(self) {
        assert_eq!(self.fabric.end(), Some(0));
        assert_gone(&self.name, &self.dir);
    }
}
