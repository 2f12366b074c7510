//! Links with conditions in real namespaces. Needs root and ping(8).

mod common;

use std::fs;

use common::links::{Lab, plan, under};
use common::{Home, refused};
use serde_json::{Value, json};

#[test]
fn each_direction_has_its_own_delay() {
    let members = [under(json!({"delay_ns": 5_000_000})), under(json!({"delay_ns": 3_000_000}))];
    let lab = Lab::up("cable", &plan(&members, &json!({})));
    for (to, more) in [("10.9.0.2", [].as_slice()), ("fd09::2", &["-6"])] {
        let times = lab.ping("n1", to, 20, more);
        assert_eq!(times.len(), 20);
        assert!(times.iter().all(|&time| time >= 8.0), "{times:?}");
        // A busy machine adds delay, but not to all packets.
        assert!(times.iter().any(|&time| time < 8.5), "{times:?}");
    }
    let links = lab.settled();
    assert_eq!((&links["state"], &links["why"]), (&json!("running"), &json!(null)));
    let [there, back] = links["directions"].as_array().unwrap().as_slice() else { panic!() };
    assert_eq!((&there["node"], &there["asked"]), (&json!("n1"), &members[0]["conditions"]));
    assert!(there["out"]["frames"].as_u64() >= Some(40), "{there}");
    assert_eq!(there["in"], there["out"]);
    assert_eq!(back["in"], back["out"]);
    assert!(there["late"]["min_ns"].as_i64() >= Some(0), "{there}");
    let late = |at: &str| [&links, there, back].map(|of| of["late"][at].as_i64().unwrap());
    let ([all, one, other], [longest, there, back]) = (late("count"), late("max_ns"));
    assert_eq!((all, longest), (one + other, there.max(back)), "{links}");
    lab.down();
}

#[test]
fn one_condition_is_changed_and_the_others_stay() {
    let first = under(json!({"delay_ns": 2_000_000}));
    let lab = Lab::up("change", &plan(&[first, json!({})], &json!({})));
    let set = |changes: Value| json!({"op": "link-set", "changes": changes});
    // Resolve addresses before frames are lost: a lost ARP request is repeated only after a second.
    assert_eq!(lab.ping("n1", "10.9.0.2", 3, &[]).len(), 3);
    let loss = json!({"model": "independent", "share": 0.5});
    lab.ask(set(json!([{"link": "wan", "node": "n1", "set": {"loss": loss}}])));
    let done = lab.ask(set(json!([{"link": "wan", "node": "n1", "set": {"delay_ns": 9_000_000}}])));
    let expected = json!({"delay_ns": 9_000_000, "loss": {"model": "independent", "share": 0.5}});
    assert_eq!(done["directions"][0]["asked"], expected);
    let times = lab.ping("n1", "10.9.0.2", 60, &[]);
    assert!((10..50).contains(&times.len()), "{}", times.len());
    assert!(times.iter().all(|&time| time >= 9.0), "{times:?}");
    lab.ask(set(json!([{"link": "wan", "node": "n1", "set": {"loss": null}}])));
    assert_eq!(lab.ping("n1", "10.9.0.2", 20, &[]).len(), 20);

    let good = json!({"link": "wan", "node": "n2", "set": {"delay_ns": 1}});
    for (wrong, why) in [
        (json!({"link": "wan", "node": "n1", "set": {"delay_ns": -1}}), "delay_ns"),
        (json!({"link": "wan", "node": "n7", "set": {}}), "no such node"),
        (json!({"link": "lan", "node": "n1", "set": {}}), "no such link"),
        (json!({"link": "wan", "node": "n1", "set": {"colour": 1}}), "colour"),
    ] {
        let end = lab.client("link.h").call(&set(json!([good, wrong]))).end;
        assert!(end["error"]["why"].as_str().unwrap().contains(why), "{end}");
        assert_eq!(lab.links()["directions"][1]["asked"], json!({}));
    }
    let end = lab.client("node.n1").call(&json!({"op": "links"})).end;
    assert_eq!(end["error"]["why"], "this agent carries none");
    lab.down();
}

#[test]
fn counts_begin_anew_when_they_are_reset_and_account_for_every_frame() {
    let first = under(json!({"delay_ns": 1_000_000, "duplicate": 1.0,
        "loss": {"model": "pattern", "runs": [3, 1]}}));
    let lab = Lab::up("counts", &plan(&[first, json!({})], &json!({})));
    // Address resolution and the kernel's own multicast come first.
    lab.ping("n1", "10.9.0.2", 5, &[]);
    let before = lab.ask(json!({"op": "links", "reset": true}));
    lab.ping("n1", "10.9.0.2", 100, &[]);
    let after = lab.settled();
    let way = &after["directions"][0];
    let number = |at: &str| way.pointer(at).and_then(Value::as_u64).unwrap();
    let (entered, left, lost) =
        (number("/in/frames"), number("/out/frames"), number("/dropped/loss"));
    assert!((100..110).contains(&entered), "{way}");
    assert!((25..29).contains(&lost), "{way}");
    assert_eq!(left, 2 * (entered - lost), "{way}");
    assert_eq!(number("/duplicated"), entered - lost);
    assert_eq!((number("/late/count"), number("/held")), (left, 0));
    assert!(number("/first_in_ns") < number("/last_in_ns"));
    assert!(number("/first_out_ns") >= number("/first_in_ns") + 1_000_000);
    assert!(after["since_ns"].as_u64() >= before["now_ns"].as_u64());
    assert_eq!(after["memory"]["used"], 0);
    assert!(after["memory"]["peak"].as_u64() > Some(0), "{}", after["memory"]);
    lab.down();
}

#[test]
fn a_shared_link_reaches_all_and_what_is_for_one_reaches_no_other() {
    let members = [under(json!({"delay_ns": 1_000_000})), json!({}), json!({})];
    let lab = Lab::up("shared", &plan(&members, &json!({})));
    for (from, to) in [("n1", "10.9.0.2"), ("n1", "10.9.0.3"), ("n3", "10.9.0.2")] {
        assert_eq!(lab.ping(from, to, 5, &[]).len(), 5, "{from} to {to}");
    }
    // n1 answers itself at once, and ping ends at its fifth reply: the others have 0.8 s for one.
    let replies = lab.run("n1", &["ping", "-n", "-c", "5", "-i", "0.2", "ff02::1%eth0"]);
    for answer in ["fe80::ff:fe00:2", "fe80::ff:fe00:3"] {
        assert!(replies.contains(answer), "every node answers: {replies}");
    }
    let received = || lab.counter("n3", "rx_packets");
    let before = received();
    assert_eq!(lab.ping("n1", "10.9.0.2", 200, &[]).len(), 200);
    assert!(received() - before < 20, "only multicast reaches n3");
    lab.down();
}

#[test]
fn stacks_can_be_kept_off_the_engine_s_cpus() {
    let steering = |avoid: &[usize]| {
        let mut plan = plan(&[under(json!({"delay_ns": 2_000_000})), json!({})], &json!({}));
        let of = json!({"do": "steering", "in": "node.n2", "on": "eth0", "avoid": avoid});
        plan["operations"].as_array_mut().unwrap().push(of);
        plan
    };
    let cpus = delaylab_os::process::scheduling::online_cpus();
    let all: Vec<usize> = (0..cpus).collect();
    let error = refused("nowhere", &steering(&all));
    assert!(error["why"].as_str().unwrap().contains("no others than these"), "{error}");
    if cpus < 2 {
        return;
    }
    let lab = Lab::up("steered", &steering(&[cpus - 1]));
    assert_eq!(lab.ping("n1", "10.9.0.2", 20, &[]).len(), 20);
    let read = "mount -t sysfs none /mnt; cat /mnt/class/net/eth0/queues/rx-0/rps_cpus";
    let mask = |node: &str| {
        let said = lab.run(node, &["unshare", "--mount", "sh", "-c", read]);
        u128::from_str_radix(&said.trim().replace(',', ""), 16).unwrap_or_else(|_| panic!("{said}"))
    };
    assert_eq!(mask("n2"), (1 << (cpus - 1)) - 1);
    assert_eq!(mask("n1"), 0, "only where it is asked");
    lab.down();
}

#[test]
fn the_host_s_own_stack_answers_nobody() {
    let mut plan = plan(&[under(json!({"delay_ns": 5_000_000})), json!({})], &json!({}));
    let native = json!([
        {"do": "veth", "ends": [{"in": "host.h", "name": "vif-n9", "mac": "02:00:00:00:01:09"},
                                {"in": "host.h", "name": "n9", "mac": "02:00:00:00:00:09"}]},
        {"do": "address", "in": "host.h", "on": "n9", "address": "10.9.0.9/24"},
        {"do": "offloads", "in": "host.h", "on": "n9", "enabled": false}]);
    plan["operations"].as_array_mut().unwrap().extend(native.as_array().unwrap().clone());
    let links = &mut plan["agents"].as_array_mut().unwrap().last_mut().unwrap()["links"]["links"];
    let member = json!({"port": "vif-n9", "node": "n9", "conditions": {"delay_ns": 4_000_000}});
    links[0]["members"].as_array_mut().unwrap().push(member);
    let lab = Lab::up("native", &plan);
    let times = lab.ping("n1", "10.9.0.9", 10, &[]);
    assert_eq!(times.len(), 10);
    assert!(times.iter().all(|&time| time >= 9.0), "no answer past the link: {times:?}");
    let neighbour = lab.run("n1", &["ip", "neigh", "show", "10.9.0.9"]);
    assert!(neighbour.contains("02:00:00:00:00:09"), "{neighbour}");
    assert_eq!(lab.links()["unknown_port"], 0);
    lab.down();
}

#[test]
fn a_timeline_changes_conditions_and_starts_anew_when_asked() {
    let change = |ms: u64, delay_ms: u64| {
        json!({"at_ns": ms * 1_000_000, "changes": [
            {"link": "wan", "node": "n1", "set": {"delay_ns": delay_ms * 1_000_000}}]})
    };
    // Pings on a busy machine must be over before the second change.
    let more = json!({"timeline": [change(0, 4), change(3_000, 1)]});
    let lab = Lab::up("timeline", &plan(&[json!({}), json!({})], &more));
    let reaches = |wanted: u64| {
        let what = format!("at {wanted} ns");
        lab.until(&what, |links| links["directions"][0]["asked"]["delay_ns"] == wanted)
    };
    reaches(1_000_000);
    lab.ask(json!({"op": "link-timeline"}));
    reaches(4_000_000);
    assert!(lab.ping("n1", "10.9.0.2", 5, &[]).iter().all(|&time| time >= 4.0));
    reaches(1_000_000);
    lab.down();
}

#[test]
fn plans_that_cannot_be_are_refused_before_anything_is_made() {
    let cases = [
        (plan(&[under(json!({"delay_ns": -1})), json!({})], &json!({})), "set link wan of n1"),
        (plan(&[json!({})], &json!({})), "make link wan"),
        (plan(&[json!({"port": "vif-n2"}), json!({})], &json!({})), "make link wan"),
        (
            plan(&[json!({"port": "vif-n7"}), json!({})], &json!({})),
            "use interface vif-n7 in link.h",
        ),
        (plan(&[json!({}), json!({})], &json!({"memory_bytes": 1000})), "make the memory of links"),
    ];
    for (plan, what) in cases {
        let error = refused("refused", &plan);
        assert_eq!(error["what"], what, "{error}");
    }
}

#[test]
fn an_ordinary_user_has_links_with_conditions_too() {
    let home = Home::make();
    let conditions =
        json!({"delay_ns": 5_000_000, "rate": {"bps": 9_000_000}, "queue": {"held": "sender"}});
    let card = json!({"in": "node.n1", "on": "eth0"});
    let first = json!({"conditions": conditions, "card": card});
    let lab = Lab::up_in(&home, "user", &plan(&[first, json!({})], &json!({})));
    let times = lab.ping("n1", "10.9.0.2", 20, &[]);
    assert!(times.len() == 20 && times.iter().all(|&time| time >= 5.0), "{times:?}");
    let queue = lab.run("n1", &["tc", "qdisc", "show", "dev", "eth0", "root"]);
    assert!(queue.contains("tbf d1a7: root") && queue.contains("rate 9Mbit"), "{queue}");
    let links = lab.links();
    assert_eq!(links["realtime"], false);
    assert!(links["notes"][0].as_str().unwrap().starts_with("not in real time: "), "{links}");
    lab.down();
    home.remove();
}

#[test]
fn only_the_thread_that_forwards_is_bound_to_the_engine_s_cpus() {
    let mut plan = plan(&[json!({}), json!({})], &json!({}));
    plan["agents"].as_array_mut().unwrap().last_mut().unwrap()["cpus"] = json!([0]);
    let lab = Lab::up("bound", &plan);
    let supervisor = lab.done["agents"]["link.h"]["pid"].to_string();
    let children = |pid: &str| fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let engine = children(&supervisor).unwrap().split_whitespace().next().unwrap().to_owned();
    let allowed = |status: String| {
        let status = fs::read_to_string(status).unwrap();
        let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap();
        line.split_once('\t').unwrap().1.to_owned()
    };
    let tasks = fs::read_dir(format!("/proc/{engine}/task")).unwrap().flatten();
    let of_tasks = tasks.map(|task| task.path().join("status").display().to_string());
    let mut found: Vec<String> = of_tasks.map(allowed).collect();
    found.sort();
    assert_eq!(found, ["0".to_owned(), allowed("/proc/self/status".into())]);
    lab.down();
}
