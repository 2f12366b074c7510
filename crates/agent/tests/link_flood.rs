//! A link with more frames than an engine can carry, beside another link. Needs root.

mod common;

use common::exec;
use common::links::{Lab, generate, number, plan};
use serde_json::{Value, json};

const FLOOD: u32 = 1_000_000;
const BURSTS: u32 = 3;
/// Frames of a burst: far more than one port's share of the receive ring.
const BURST: u32 = 300_000;

/// Build two cables, `flooded` from `n1` to `n2` and `quiet` from `n3` to `n4`.
fn two_links() -> Value {
    let member = |node: &str| json!({"port": format!("vif-{node}"), "node": node});
    let more = json!({"links": [
        {"link": "flooded", "members": [member("n1"), member("n2")]},
        {"link": "quiet", "members": [member("n3"), member("n4")]}]});
    plan(&[json!({}), json!({}), json!({}), json!({})], &more)
}

/// Send a signal to the lab's link engine.
fn signal(lab: &Lab, name: &str, engine: &str) {
    let sent = lab.client("link.h").call(&exec(&["kill", &format!("-{name}"), engine])).end;
    assert_eq!(sent["done"]["exit"], 0, "{sent}");
}

#[test]
fn a_flood_on_one_link_takes_nothing_from_another() {
    let lab = Lab::up("flood", &two_links());
    let notes = lab.links()["notes"].to_string();
    assert!(!notes.contains("flood"), "programs are allowed where tests run: {notes}");
    // Frames that a new interface sends by itself are counted on both sides or on neither.
    let sent = || ["n1", "n3"].map(|node| lab.counter(node, "tx_packets"));
    let mut before = sent();
    let counted = lab.until("counted as sent", |_| {
        let asked_before = std::mem::replace(&mut before, sent());
        asked_before == before
    });
    let engine = counted["pid"].to_string();
    let of = |links: &Value, way: usize, at: &str| number(&links["directions"][way], at);
    // A stopped engine carries nothing, however fast this machine is.
    for _ in 0..BURSTS {
        signal(&lab, "STOP", &engine);
        lab.generate("n1", &generate([1, 2], BURST, 0, 60));
        lab.generate("n3", &generate([3, 4], 100, 0, 60));
        signal(&lab, "CONT", &engine);
        lab.until("nothing waits", |links| of(links, 0, "/held") == 0);
    }
    assert!(of(&lab.links(), 0, "/dropped/ring") > 0, "the bursts were larger than a share");
    // Nor does a flood that never ends take anything, whether the engine can carry it or not.
    let mut flood = lab.client("node.n1");
    flood.send(&generate([1, 2], FLOOD, 0, 60));
    lab.generate("n3", &generate([3, 4], 200, 1_000_000, 60));
    let last_ns = number(&lab.links(), "/now_ns");
    let flooded = flood.finish().end;
    assert!(number(&flooded, "/done/ended_ns") > last_ns, "the flood was there all the time");
    // The last frames may still be in the kernel's receive queue; in the end none is missing.
    let links = lab.until("all of them", |links| {
        let since = |way, at: &str| of(links, way, at) - of(&counted, way, at);
        let came = [0, 2].map(|way| since(way, "/in/frames") + since(way, "/dropped/ring"));
        let sent = sent();
        came == [sent[0] - before[0], sent[1] - before[1]] && of(links, 0, "/held") == 0
    });
    assert_eq!((&links["dropped_ring"], &links["unknown_port"]), (&json!(0), &json!(0)), "{links}");
    let since = |way, at: &str| of(&links, way, at) - of(&counted, way, at);
    assert_eq!(since(2, "/dropped/ring"), 0, "{links}");
    assert_eq!(since(2, "/out/frames"), since(2, "/in/frames"), "{links}");
    assert!(since(2, "/out/frames") >= u64::from(BURSTS) * 100 + 200, "{links}");
    lab.down();
}
