//! Labs in real namespaces. Needs root and ping(8).

mod common;

use std::fs;

use common::{
    Home, NOBODY, Process, assert_gone, build, connect, connect_as, exec, fresh_dir, own, refused,
    star,
};
use serde_json::{Value, json};

fn up(fabric: &mut Process, request: &Value) -> Value {
    let end = fabric.client.call(request).end;
    assert!(end["error"].is_null(), "{end}");
    end["done"].clone()
}

fn socket<'a>(done: &'a Value, agent: &str) -> &'a str {
    done["agents"][agent]["socket"].as_str().unwrap()
}

#[test]
fn three_nodes_on_a_bridge_reach_each_other_and_leave_nothing() {
    let dir = fresh_dir();
    let mut fabric = Process::start("fabric");
    let plan = star(3, &["pid", "mount", "uts", "ipc"], true);
    let done = up(&mut fabric, &build("three", &dir, &plan));
    assert_eq!(done["pid"], fabric.child.id());
    let mut node = connect(socket(&done, "node.n1"));
    for to in ["10.9.0.2", "10.9.0.3", "fd09::2"] {
        let answer = node.call(&exec(&["ping", "-c1", "-W5", to]));
        assert_eq!(answer.end["done"]["exit"], 0, "{}", answer.stdout());
    }
    let inside = node.call(&exec(&["sh", "-c", "hostname; cat /proc/1/cmdline"]));
    assert_eq!(inside.stdout().trim_end_matches('\0'), "n1\ndelaylab-agent node.n1");
    let forwarding = node.call(&exec(&["cat", "/proc/sys/net/ipv4/ip_forward"]));
    assert_eq!(forwarding.stdout(), "1\n");
    let alias = ["sh", "-c", "cat /proc/self/net/dev | grep -c eth0; ip link show eth0"];
    let link = node.call(&exec(&alias)).stdout();
    assert!(
        link.contains(&format!("alias delaylab:{}", own("three"))) && link.contains("mtu 1400"),
        "{link}"
    );
    let outside = done["agents"]["node.n1"]["pid"].as_u64().unwrap();
    let title = fs::read_to_string(format!("/proc/{outside}/cmdline")).unwrap();
    assert_eq!(title.trim_end_matches('\0'), "delaylab-agent node.n1");
    assert_eq!(fabric.end(), Some(0));
    assert_gone("three", &dir);
}

#[test]
fn interfaces_of_a_namespace_have_indices_without_gaps() {
    let dir = fresh_dir();
    let mut fabric = Process::start("fabric");
    let done = up(&mut fabric, &build("indices", &dir, &star(3, &[], true)));
    let listed = exec(&["ip", "-o", "link", "show", "type", "veth"]);
    let listed = connect(socket(&done, "host.h")).call(&listed).stdout();
    let indices: Vec<u32> =
        listed.lines().map(|line| line.split(':').next().unwrap().parse().unwrap()).collect();
    assert_eq!(indices.len(), 3, "{listed}");
    assert!(indices.windows(2).all(|pair| pair[1] == pair[0] + 1), "{listed}");
    assert_eq!(fabric.end(), Some(0));
    assert_gone("indices", &dir);
}

#[test]
fn a_second_lab_of_the_same_directory_is_refused_and_others_are_not() {
    let (dir, other) = (fresh_dir(), fresh_dir());
    let mut first = Process::start("fabric");
    up(&mut first, &build("pair", &dir, &star(2, &[], false)));
    let mut second = Process::start("fabric");
    let end = second.client.call(&build("pair", &dir, &star(2, &[], false))).end;
    let why = format!("lab {} is already up", own("pair"));
    assert_eq!(end["error"]["why"], why, "{end}");
    assert_eq!(second.end(), Some(1));
    let mut third = Process::start("fabric");
    let done = up(&mut third, &build("pair2", &other, &star(2, &[], false)));
    let ping = connect(socket(&done, "node.n1")).call(&exec(&["ping", "-c1", "-W5", "10.9.0.2"]));
    assert_eq!(ping.end["done"]["exit"], 0);
    assert_eq!((first.end(), third.end()), (Some(0), Some(0)));
    assert_gone("pair", &dir);
    assert_gone("pair2", &other);
}

#[test]
fn a_failure_half_way_leaves_nothing_and_names_its_cause() {
    let bad_route =
        json!({"do": "route", "in": "node.n1", "to": ["0.0.0.0/0"], "via": ["192.0.2.1"]});
    let twice = json!({"do": "address", "in": "node.n2", "on": "eth0", "address": "10.9.0.2/24"});
    let duplicate = json!({"do": "bridge", "in": "host.h", "name": "vif-n1", "ports": []});
    let unmade = json!({"do": "address", "in": "node.n1", "on": "eth7", "address": "10.1.0.1/24"});
    let cases = [
        (bad_route, "add route to 0.0.0.0/0 in node.n1"),
        (twice, "add address 10.9.0.2/24 to eth0 in node.n2"),
        (duplicate, "make interface vif-n1 in host.h"),
        (unmade, "use interface eth7 in node.n1"),
    ];
    for (operation, what) in cases {
        let mut plan = star(2, &[], true);
        plan["operations"].as_array_mut().unwrap().push(operation);
        let error = refused("half", &plan);
        assert_eq!(error["what"], what, "{error}");
        assert_ne!(error["why"], "");
    }
}

#[test]
fn a_sysctl_that_the_kernel_lacks_is_named() {
    let plan =
        json!({"agents": [{"name": "a", "network": "new", "sysctls": {"net.no.such": "1"}}]});
    assert_eq!(refused("sysctl", &plan)["what"], "set net.no.such = 1 in a");
}

#[test]
fn an_ordinary_user_builds_a_lab_and_not_on_the_machine() {
    let home = Home::make();
    let mut request = home.build("plain", &star(2, &["pid", "mount", "uts", "ipc"], true));
    let mut fabric = home.fabric();
    let done = up(&mut fabric, &request);
    assert_eq!(done["warnings"], json!(["no control groups: they need root"]));
    let ping = exec(&["ping", "-c1", "-W5", "10.9.0.2"]);
    let another = connect(socket(&done, "node.n1")).finish().end;
    assert_eq!(another["error"]["what"], "talk to this agent", "{another}");
    let ping = connect_as(NOBODY, &home.agent, socket(&done, "node.n1")).call(&ping);
    assert_eq!(ping.end["done"]["exit"], 0, "{}", ping.stdout());
    assert_eq!(fabric.end(), Some(0));
    assert_gone("plain", &home.dir.join("lab"));
    request["plan"] = json!({"agents": [{"name": "m", "network": "machine"}]});
    let mut fabric = home.fabric();
    let end = fabric.client.call(&request).end;
    assert_eq!(end["error"]["what"], "start agent m", "{end}");
    assert_eq!(fabric.end(), Some(1));
    home.remove();
}
