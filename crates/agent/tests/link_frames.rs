//! Link engines with many frames, large frames, and frames of virtual machines. Needs root, ping(8), bash and
//! python3.

mod common;

use common::links::{self, Lab, number, plan, under};
use serde_json::{Value, json};

/// A script that answers echo requests on a TAP as a virtual machine would. It reports that it is attached
/// and answers until it is killed.
const MACHINE: &str = r#"
import fcntl, os, struct, sys
tap = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tap, 0x400454ca, struct.pack("16sH22x", sys.argv[1].encode(), 0x1002))
print("attached", flush=True)
while True:
    frame = bytearray(os.read(tap, 2048))
    if frame[12:14] == b"\x08\x00" and frame[23] == 1 and frame[34] == 8:
        frame[0:6], frame[6:12] = frame[6:12], frame[0:6]
        frame[26:30], frame[30:34] = frame[30:34], frame[26:30]
        frame[34] = 0
        total = frame[36] * 256 + frame[37] + 0x0800
        total = (total & 0xffff) + (total >> 16)
        frame[36:38] = struct.pack(">H", total)
        os.write(tap, frame)
"#;

/// A script that prints the number of packets that arrived, and the least time in ns from the send time in a
/// packet to the kernel's receive stamp.
const ARRIVALS: &str = r#"
import socket, struct
arriving = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
SO_RCVBUFFORCE, SO_TIMESTAMPNS = 33, 35
arriving.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
arriving.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
arriving.bind(("", 9))
arriving.settimeout(2)
print("bound", flush=True)
delays = []
try:
    while len(delays) < 20000:
        data, [(_, _, stamp)], _, _ = arriving.recvmsg(8, 64)
        seconds, ns = struct.unpack("qq", stamp)
        delays.append(seconds * 10**9 + ns - struct.unpack("q", data)[0])
except TimeoutError:
    pass
print(len(delays), min(delays, default=0), flush=True)
"#;

/// A script that sends this many packets as fast as possible, each with its send time.
const BURST: &str = r#"
import socket, struct, time
sending = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sending.connect(("10.9.0.2", 9))
for _ in range(20000):
    sending.send(struct.pack("q", time.time_ns()))
"#;

/// Build a request for frames from `n1` to `n2`, as fast as possible if `interval_ns` is 0.
fn generate(count: u32, interval_ns: u32, size: usize) -> Value {
    links::generate([1, 2], count, interval_ns, size)
}

#[test]
fn a_backlog_takes_no_other_link_s_memory() {
    let member = |number: usize, delay_ns: u64| {
        json!({"port": format!("vif-n{number}"), "node": format!("n{number}"),
               "conditions": {"delay_ns": delay_ns}})
    };
    let more = json!({"memory_bytes": 2 << 20, "links": [
        {"link": "slow", "members": [member(1, 60_000_000_000), member(2, 0)]},
        {"link": "fast", "members": [member(3, 2_000_000), member(4, 0)]}]});
    let nothing = json!({});
    let lab = Lab::up(
        "backlog",
        &plan(&[nothing.clone(), nothing.clone(), nothing.clone(), nothing], &more),
    );
    assert_eq!(lab.links()["memory"]["warn"], false);
    lab.generate("n1", &generate(20_000, 5_000, 1000));
    assert_eq!(lab.ping("n3", "10.9.0.4", 50, &[]).len(), 50);
    let links = lab.links();
    let memory = &links["memory"];
    assert_eq!(memory["warn"], true, "{memory}");
    assert!(number(memory, "/used") <= number(memory, "/bound"), "{memory}");
    let [slow, _, fast, _] = links["directions"].as_array().unwrap().as_slice() else { panic!() };
    assert!(number(slow, "/dropped/memory") > 15_000, "{slow}");
    assert_eq!(number(slow, "/in/frames"), number(slow, "/dropped/memory") + number(slow, "/held"));
    assert_eq!(number(fast, "/dropped/memory"), 0);
    lab.down();
}

#[test]
fn no_frame_of_a_burst_arrives_before_its_time() {
    const DELAY_NS: i64 = 5_000_000;
    let lab =
        Lab::up("burst", &plan(&[under(json!({"delay_ns": DELAY_NS})), json!({})], &json!({})));
    assert_eq!(lab.ping("n1", "10.9.0.2", 1, &[]).len(), 1, "its neighbour is known");
    let mut receiver = lab.client("node.n2");
    receiver.send(&common::exec(&["python3", "-c", ARRIVALS]));
    receiver.event();
    assert!(receiver.frame().unwrap().payload.starts_with(b"bound"));
    lab.run("n1", &["python3", "-c", BURST]);
    let said = receiver.finish().stdout();
    let (count, least_ns) = said.trim().split_once(' ').unwrap_or_else(|| panic!("{said}"));
    assert!(count.parse::<usize>().unwrap() > 1000, "{said}");
    // More frames arrive while the engine sends some.
    assert!(least_ns.parse::<i64>().unwrap() >= DELAY_NS, "{said}");
    lab.down();
}

#[test]
fn a_port_that_was_down_takes_frames_again_at_once() {
    down_and_up("port", json!({}));
}

#[test]
fn a_frame_that_the_kernel_holds_is_refused_by_a_port_that_is_down() {
    down_and_up("held", under(json!({"delay_ns": 1_000_000})));
}

fn down_and_up(name: &str, member: Value) {
    let lab = Lab::up(name, &plan(&[member, json!({})], &json!({})));
    let send = || {
        lab.generate("n1", &generate(10, 1_000_000, 60));
        let way = lab.settled()["directions"][0].clone();
        (number(&way, "/out/frames"), number(&way, "/dropped/down"))
    };
    let set = |state: &str| {
        let argv = ["ip", "link", "set", "vif-n2", state];
        let end = lab.client("host.h").call(&common::exec(&argv)).end;
        assert_eq!(end["done"]["exit"], 0, "{end}");
    };
    let (left, refused) = send();
    assert!(left >= 10);
    assert_eq!(refused, 0);
    set("down");
    let (left, refused) = send();
    assert!(refused >= 10);
    set("up");
    // From here on no frame may be refused, even if the node has sent others meanwhile.
    let refused = number(&lab.links(), "/directions/0/dropped/down");
    let (left_again, refused_again) = send();
    assert!(left_again >= left + 10);
    assert_eq!(refused_again, refused);
    lab.down();
}

#[test]
fn frames_that_no_cable_carries_are_refused_and_counted() {
    let more = json!({"links": [{"link": "wan", "mtu": 1000, "members": [
        {"port": "vif-n1", "node": "n1"}, {"port": "vif-n2", "node": "n2"}]}]});
    let mut plan = plan(&[json!({}), json!({})], &more);
    let on = json!({"do": "offloads", "in": "node.n1", "on": "eth0", "enabled": true});
    plan["operations"].as_array_mut().unwrap().push(on);
    let lab = Lab::up("oversize", &plan);
    let refused = || number(&lab.links(), "/directions/0/dropped/oversize");
    assert_eq!(lab.ping("n1", "10.9.0.2", 3, &["-s", "972"]).len(), 3, "1000 bytes with headers");
    assert_eq!(refused(), 0);
    assert_eq!(lab.ping("n1", "10.9.0.2", 3, &["-s", "973"]).len(), 0);
    assert_eq!(refused(), 3);
    // The checksum is left to an interface by which the frame never leaves: the engine completes it.
    let passed = || number(&lab.settled(), "/directions/0/out/frames");
    let before = passed();
    lab.run("n1", &["bash", "-c", "for each in {1..50}; do echo > /dev/udp/10.9.0.2/9; done"]);
    // The node's kernel sends a few frames of its own, such as requests for neighbours.
    assert!(passed() >= before + 50);
    assert_eq!(refused(), 3);
    lab.down();
}

#[test]
fn a_machine_s_cable_is_behind_the_same_engine() {
    let member = json!({"port": "vif-vm", "node": "vm", "conditions": {"delay_ns": 3_000_000}});
    let more = json!({"links": [{"link": "wan", "members": [
        {"port": "vif-n1", "node": "n1", "conditions": {"delay_ns": 4_000_000}}, member]}]});
    let mut plan = plan(&[json!({})], &more);
    let tap = json!({"do": "tap", "in": "host.h", "name": "vif-vm", "mac": "02:00:00:00:02:01"});
    plan["operations"].as_array_mut().unwrap().push(tap);
    let lab = Lab::up("tap", &plan);
    let mut machine = lab.client("host.h");
    machine.send(&common::exec(&["python3", "-c", MACHINE, "vif-vm"]));
    machine.event();
    let said = machine.frame().unwrap();
    assert!(said.payload.starts_with(b"attached"));
    let neighbour =
        ["ip", "neigh", "add", "10.9.0.9", "lladdr", "02:00:00:00:00:09", "dev", "eth0"];
    lab.run("n1", &neighbour);
    let times = lab.ping("n1", "10.9.0.9", 20, &[]);
    assert_eq!(times.len(), 20);
    assert!(times.iter().all(|&time| time >= 7.0), "{times:?}");
    let there = &lab.settled()["directions"][0];
    assert_eq!(there["in"], there["out"]);
    machine.send(&json!({"signal": 19}));
    lab.generate("n1", &generate(20_000, 2_000, 60));
    let links = lab.settled();
    assert!(
        number(&links, "/directions/1/port_dropped") > 0,
        "a machine that stands still: {links}"
    );
    lab.down();
}

#[test]
fn taps_at_its_ports_see_every_frame_though_the_host_s_stack_does_not() {
    let lab =
        Lab::up("taps", &plan(&[under(json!({"delay_ns": 1_000_000})), json!({})], &json!({})));
    for tcx in [true, false] {
        let mut tap = lab.client("host.h");
        tap.send(&json!({"op": "tap", "tcx": tcx, "pcap": null,
            "interfaces": [{"name": "vif-n1", "point": "in"}, {"name": "vif-n2", "point": "out"}],
            "filter": {"probe": 1, "protocol": "udp", "ident": 0, "ip": 4, "port": 9}}));
        assert_eq!(tap.event(), json!({"ready": true}));
        lab.generate("n1", &generate(1000, 100_000, 100));
        lab.settled();
        tap.send(&json!({"stop": true}));
        let end = tap.finish().end;
        for interface in end["done"]["interfaces"].as_array().unwrap() {
            assert_eq!(interface["packets"], 1000, "{end}");
            assert_eq!(interface["by"], if tcx { "tcx" } else { "ring" });
        }
    }
    lab.down();
}

#[test]
fn one_bit_of_a_corrupt_frame_is_wrong_behind_its_header() {
    let lab = Lab::up("corrupt", &plan(&[under(json!({"corrupt": 1.0})), json!({})], &json!({})));
    let received = || lab.counter("n2", "rx_packets");
    let before = received();
    lab.generate("n1", &generate(500, 20_000, 400));
    lab.settled();
    assert!(received() - before >= 500, "every one arrives: its header is whole");
    assert!(number(&lab.links(), "/directions/0/corrupted") >= 500);
    assert_eq!(lab.ping("n1", "10.9.0.2", 20, &[]).len(), 0, "no checksum is right");
    lab.down();
}
