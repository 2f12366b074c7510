//! The cost of a pipe per frame: `cargo bench -p delaylab-link`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use delaylab_link::{Conditions, Delivery, Pipe, Reason, Sink};
use serde_json::{Value, json};

/// The number of frames per round, sent every 10 µs.
const FRAMES: i64 = 1000;
const INTERVAL_NS: i64 = 10_000;

/// A sink that reads every decision, as an engine must.
struct Looks(i64);

impl Sink<u32> for Looks {
    fn deliver(&mut self, delivery: Delivery<u32>) {
        self.0 ^= delivery.due_ns;
    }

    fn drop(&mut self, frame: u32, _: Reason) {
        self.0 ^= i64::from(frame);
    }
}

fn cases() -> Vec<(&'static str, Value)> {
    let jitter = |shape: Value| json!({"delay_ns": 20_000_000, "jitter": {"spread_ns": 2_000_000, "distribution": shape}});
    // The frames need less than 1 Gbit/s and more than 100 Mbit/s.
    let rate = |bps: u64, discipline: &str| {
        json!({"delay_ns": 20_000_000, "rate": {"bps": bps},
               "queue": {"packets": 1000, "discipline": {"kind": discipline}}})
    };
    let points: Vec<_> = (0..1000).map(|i| json!([i * 1_000_000, 100_000_000 + i])).collect();
    vec![
        ("delay", json!({"delay_ns": 20_000_000})),
        ("loss", json!({"delay_ns": 20_000_000, "loss": {"model": "independent", "share": 0.01}})),
        ("uniform", jitter(json!("uniform"))),
        ("normal", jitter(json!("normal"))),
        ("pareto", jitter(json!("pareto"))),
        ("paretonormal", jitter(json!("paretonormal"))),
        ("table", jitter(json!({"table": vec![0.5; 4096]}))),
        ("rate", rate(1_000_000_000, "droptail")),
        ("backlog", rate(100_000_000, "droptail")),
        ("codel", rate(100_000_000, "codel")),
        ("trace", json!({"trace": {"kind": "rate", "points": points, "period_ns": 1_000_000_000}})),
        (
            "everything",
            json!({"delay_ns": 20_000_000, "jitter": {"spread_ns": 2_000_000},
                   "loss": {"model": "gilbert-elliott", "to_bad": 0.01, "to_good": 0.2},
                   "duplicate": 0.01, "corrupt": 0.01, "reorder": {"share": 0.1},
                   "rate": {"bps": 1_000_000_000}}),
        ),
    ]
}

fn frames(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("frame");
    group.throughput(Throughput::Elements(FRAMES as u64));
    for (name, asked) in cases() {
        let conditions: Conditions = serde_json::from_value(asked).expect("readable");
        let mut pipe = Pipe::new(conditions, 1, 0);
        let mut sink = Looks(0);
        let mut now = 0;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for frame in 0..FRAMES {
                    now += INTERVAL_NS;
                    pipe.offer(black_box(now), 1000, frame as u32, &mut sink);
                }
                sink.0
            });
        });
    }
    group.finish();
}

criterion_group!(benches, frames);
criterion_main!(benches);
