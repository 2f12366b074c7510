//! Senders that are limited to a link's rate at their own interfaces. Needs root and python3.

mod common;

use common::links::{Lab, number, plan};
use common::stolen_ms;
use serde_json::{Value, json};

/// A script that sends UDP packets of 1000 bytes of payload by a blocking socket, as many as requested. It
/// prints the time in ms until the last one left the socket's buffer, and for how many of these ms it was
/// ready to run and had no CPU.
const SENDER: &str = r#"
import fcntl, socket, struct, sys, termios, time
count, to = int(sys.argv[1]), ("10.9.0.2", 9)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def without_cpu_ms():
    return int(open("/proc/self/schedstat").read().split()[1]) / 1e6
waited, began = without_cpu_ms(), time.monotonic()
for _ in range(count):
    sender.sendto(b"x" * 1000, to)
while struct.unpack("i", fcntl.ioctl(sender, termios.TIOCOUTQ, b"    "))[0]:
    time.sleep(0.0001)
print((time.monotonic() - began) * 1e3, without_cpu_ms() - waited)
"#;
/// The bits of one packet on the medium: with headers of UDP, IPv4 and Ethernet, and framing.
const BITS: f64 = (1000.0 + 8.0 + 20.0 + 14.0 + 24.0) * 8.0;

/// Bring a lab up and resolve its addresses, because frames that wait for that would not be the link's.
fn up(name: &str, plan: &Value) -> Lab {
    let lab = Lab::up(name, plan);
    assert_eq!(lab.ping("n1", "10.9.0.2", 1, &[]).len(), 1);
    lab
}

/// Build a cable on which `n1` sends under these conditions, with its interface known.
fn cable(conditions: Value) -> Value {
    let card = |node: &str| json!({"in": format!("node.{node}"), "on": "eth0"});
    let member = json!({"conditions": conditions, "card": card("n1")});
    plan(&[member, json!({"card": card("n2")})], &json!({}))
}

fn set(lab: &Lab, conditions: Value) -> Value {
    let changes = json!([{"link": "wan", "node": "n1", "set": conditions}]);
    lab.ask(json!({"op": "link-set", "changes": changes}))
}

/// The most times that a sender is tried until the machine is not too busy for it.
const TRIES: usize = 5;

/// Return the two times in ms that the script prints.
fn times(printed: &str) -> (f64, f64) {
    let words: Vec<f64> = printed.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [ms, waited_ms] = words[..] else { panic!("{printed}") };
    (ms, waited_ms)
}

/// Send and wait for the last frame. Return the time in ms, the ms by which it may be late because the
/// machine or the sender did not run, and the number of lost frames.
fn send(lab: &Lab, count: u32) -> (f64, f64, u64) {
    lab.ask(json!({"op": "links", "reset": true}));
    let before_ms = stolen_ms();
    let said = lab.run("n1", &["python3", "-c", SENDER, &count.to_string()]);
    let (ms, waited_ms) = times(&said);
    let stolen = stolen_ms() - before_ms + waited_ms;
    let links = lab.settled();
    let way = &links["directions"][0];
    let arrived = number(way, "/out/frames");
    let here: u64 = way["dropped"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert!(arrived + here >= u64::from(count), "what the link lost it has counted: {way}");
    (ms, stolen, here)
}

/// Return the time that this many packets take at a rate, in ms.
fn at(bps: f64, count: u32) -> f64 {
    BITS * f64::from(count) / bps * 1e3
}

/// Return true if the sender's interface limits it to a rate. An interface that has been limited keeps the
/// qdisc, open.
fn is_held(lab: &Lab) -> bool {
    let says = queue(lab);
    says.contains("tbf d1a7: root") && !says.contains("rate 1Tbit")
}

/// Return the root qdisc of the sender's interface.
fn queue(lab: &Lab) -> String {
    lab.run("n1", &["tc", "-d", "qdisc", "show", "dev", "eth0", "root"])
}

#[test]
fn a_sender_beyond_the_rate_is_held_at_its_own_interface_and_loses_nothing() {
    let rate = json!({"bps": 10_000_000});
    let lab = up("held", &cable(json!({"rate": rate, "queue": {"held": "sender"}})));
    // Never faster; slower only where the machine is busy or does not run, which it is not in every try.
    let takes = |count, bps| {
        let (expected, mut seen) = (at(bps, count), Vec::new());
        for _ in 0..TRIES {
            let (ms, stolen, lost) = send(&lab, count);
            assert_eq!(lost, 0);
            assert!(ms > 0.97 * expected, "{ms} of {expected} ms");
            if ms < 1.25 * expected + stolen {
                return;
            }
            seen.push(ms);
        }
        panic!("{seen:?} of {expected} ms");
    };
    takes(1200, 10e6);

    set(&lab, json!({"rate": {"bps": 40_000_000}}));
    takes(4000, 40e6);

    // So low a rate that a sender on a busy machine is beyond it, too.
    set(&lab, json!({"rate": {"bps": 4_000_000}, "queue": {"packets": 20}}));
    assert!(!is_held(&lab), "{}", queue(&lab));
    let (.., lost) = send(&lab, 4000);
    assert!(lost > 1000, "in the link's own queue they are lost: {lost}");
    lab.down();
}

#[test]
fn it_is_held_and_released_with_the_rate_and_other_conditions_stay() {
    let held = json!({"delay_ns": 2_000_000, "queue": {"held": "sender"}});
    let lab = up("gate", &cable(held.clone()));
    assert!(!is_held(&lab), "there is no rate to hold it to: {}", queue(&lab));
    set(&lab, json!({"rate": {"bps": 5_000_000, "overhead_bytes": 4, "minimum_bytes": 64}}));
    let says = queue(&lab);
    assert!(is_held(&lab) && says.contains("rate 5Mbit"), "{says}");
    assert!(says.contains("overhead 4") && says.contains("mpu 64"), "{says}");
    // A frame that waits when the rate is removed leaves at once and is not lost.
    let before_ms = stolen_ms();
    let mut sender = lab.client("node.n1");
    sender.send(&common::exec(&["python3", "-c", SENDER, "600"]));
    lab.until("waiting", |links| number(&links["directions"][0], "/waiting/frames") >= 20);
    let done = set(&lab, json!({"rate": null}));
    assert_eq!(done["directions"][0]["asked"], held, "the rest is as it was");
    let said = sender.finish().stdout();
    let (ms, waited_ms) = times(&said);
    let stolen = stolen_ms() - before_ms + waited_ms;
    assert!(ms < at(5e6, 600) / 2.0 + stolen, "{ms} ms, {stolen} ms stolen");
    assert!(!is_held(&lab), "{}", queue(&lab));
    let links = lab.settled();
    assert!(number(&links["directions"][0], "/out/frames") >= 600, "{links}");
    lab.down();
}

#[test]
fn a_new_engine_holds_senders_as_they_are_asked_to_be() {
    let more = json!({"timeline": [{"at_ns": 0, "changes": [
        {"link": "wan", "node": "n1", "set": {"queue": {"held": "sender"}}}]}]});
    let mut plan = cable(json!({"rate": {"bps": 10_000_000}}));
    let links = &mut plan["agents"].as_array_mut().unwrap().last_mut().unwrap()["links"];
    links["timeline"] = more["timeline"].clone();
    let lab = up("again", &plan);
    lab.until("held", |_| is_held(&lab));
    let queue_of_its_own = json!({"packets": 9});
    set(&lab, json!({"queue": queue_of_its_own}));
    assert!(!is_held(&lab), "{}", queue(&lab));
    set(&lab, json!({"queue": {"held": "sender"}}));
    let pid = lab.links()["pid"].to_string();
    lab.run("n1", &["kill", "-9", &pid]);
    lab.until("down", |links| links["state"] == "down");
    lab.ask(json!({"op": "link-restart"}));
    lab.until("held", |_| is_held(&lab));
    // The kernel takes up to a second to use a carrier that came back, and drops until then.
    assert_eq!(lab.ping("n1", "10.9.0.2", 1, &["-w", "10"]).len(), 1);
    let (.., lost) = send(&lab, 300);
    assert_eq!(lost, 0);
    lab.down();
}

#[test]
fn what_cannot_be_held_is_refused_in_one_line_and_nothing_changes() {
    let mut plan = cable(json!({"rate": {"bps": 10_000_000}}));
    let links = &mut plan["agents"].as_array_mut().unwrap().last_mut().unwrap()["links"];
    links["links"][0]["members"][1]["card"] = Value::Null;
    let lab = up("refused", &plan);
    let refuse = |node: &str, set: Value| {
        let changes = json!([{"link": "wan", "node": "n1", "set": {"delay_ns": 7}},
                             {"link": "wan", "node": node, "set": set}]);
        let request = json!({"op": "link-set", "changes": changes});
        let end = lab.client("link.h").call(&request).end;
        assert!(!lab.links()["directions"][0]["asked"].to_string().contains("delay_ns"));
        end["error"]["why"].as_str().unwrap_or_else(|| panic!("{end}")).to_owned()
    };
    let held = json!({"held": "sender"});
    let why = refuse("n2", json!({"rate": {"bps": 1_000_000}, "queue": held}));
    assert!(why.contains("in a virtual machine"), "{why}");
    let trace = json!({"kind": "rate", "points": [[0, 1_000_000]]});
    let why = refuse("n1", json!({"trace": trace, "queue": held}));
    assert!(why.contains("trace of rates"), "{why}");
    assert!(!is_held(&lab), "{}", queue(&lab));
    lab.down();
}
