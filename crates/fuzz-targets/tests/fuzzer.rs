//! A fuzzer that needs no nightly toolchain: seeded, mutated inputs for every target. A failure prints the
//! seed of its input; `DELAYLAB_FUZZ_SEED=SEED DELAYLAB_FUZZ_INPUTS=1` tries it again.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::time::Duration;

use delaylab_fuzz_targets::mutate::{Random, mutate};
use delaylab_fuzz_targets::{TARGETS, Target};

/// The number of inputs per target: 85 % of them mutated, the others unchanged seeds.
const INPUTS: u64 = 400_000;
/// The number for logs, whose reader and writer reserve megabytes for each.
const INPUTS_OF_LOGS: u64 = 100_000;
/// The least number of inputs for which the shares of outcomes are checked; with fewer, chance decides.
const ENOUGH: u64 = 20_000;
/// The time limit for one input, which takes microseconds; after it the input is taken to hang.
const PATIENCE: Duration = Duration::from_secs(600);
/// The percentage of inputs that are unchanged seeds.
const UNCHANGED: usize = 15;

#[test]
fn packets() {
    fuzz(
        "packet",
        30..=45,
        &[
            "truncated Ethernet header",
            "truncated IPv4 header",
            "truncated IPv6 header",
            "truncated IPv6 extension header",
            "truncated ICMP header",
            "truncated UDP header",
            "truncated probe header",
            "malformed IPv4 header",
            "malformed IPv6 header",
            "malformed ICMP header",
            "malformed UDP header",
            "IP fragment",
            "not a probe's packet",
        ],
    );
}

#[test]
fn segments() {
    fuzz(
        "tcp",
        30..=60,
        &[
            "truncated Ethernet header",
            "truncated IPv4 header",
            "truncated IPv6 header",
            "truncated TCP header",
            "malformed IPv4 header",
            "malformed TCP header",
            "IP fragment",
            "not a probe's packet",
        ],
    );
}

#[test]
fn frames() {
    fuzz(
        "frame",
        9..=20,
        &["no bytes", "end inside a frame", "unknown kind", "too long", "message is no answer"],
    );
}

#[test]
fn captures() {
    fuzz(
        "pcapng",
        11..=25,
        &[
            "truncated block",
            "truncated section",
            "truncated option",
            "truncated packet data",
            "malformed start",
            "malformed byte order",
            "malformed version",
            "malformed block length",
            "malformed name",
            "malformed time resolution",
            "big-endian section",
            "packet of an interface that is not described",
        ],
    );
}

#[test]
fn logs() {
    fuzz(
        "calls",
        10..=40,
        &[
            "it is not a log of calls",
            "another version",
            "another length",
            "it ends within a call",
            "a call refers to one that is not before it",
            "a call is of an unknown kind",
        ],
    );
}

/// Fuzz `target`. Assert the percentage of mutated inputs that it accepted, and that it rejected some for
/// each of `reasons`.
fn fuzz(target: &str, accepted: std::ops::RangeInclusive<u64>, reasons: &[&str]) {
    let target = *TARGETS.iter().find(|known| known.name == target).expect("a target");
    let first = variable("DELAYLAB_FUZZ_SEED").unwrap_or(1);
    let inputs = variable("DELAYLAB_FUZZ_INPUTS").unwrap_or(match target.name {
        "calls" => INPUTS_OF_LOGS,
        _ => INPUTS,
    });
    let counts = watched(target, first, inputs);
    println!("{}: {inputs} inputs from {first}, {counts:#?}", target.name);
    if inputs >= ENOUGH {
        let share = 100 * counts.accepted / counts.mutated;
        assert!(accepted.contains(&share), "{share} % accepted, not {accepted:?}");
        for reason in reasons {
            let count = counts.refused.get(*reason).copied().unwrap_or(0);
            assert!(count * 1000 >= counts.mutated, "only {count} refused for {reason:?}");
        }
    }
}

/// The outcomes of the mutated inputs; unchanged seeds do not count.
#[derive(Debug, Default)]
struct Counts {
    mutated: u64,
    accepted: u64,
    refused: BTreeMap<String, u64>,
}

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")))
}

/// Run all inputs. Abort the process and print the seed if one of them hangs.
fn watched(target: Target, first: u64, inputs: u64) -> Counts {
    let current = AtomicU64::new(first);
    std::thread::scope(|scope| {
        let (done, finished) = mpsc::channel::<()>();
        let current = &current;
        scope.spawn(move || {
            let mut before = None;
            while finished.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                let now = current.load(Relaxed);
                if before.replace(now) == Some(now) {
                    let failing = Failing { target: target.name, seed: now };
                    // Write directly: the abort would lose captured output.
                    let _ = writeln!(std::io::stderr(), "{failing}: no end for {PATIENCE:?}");
                    std::process::abort();
                }
            }
        });
        let counts = all(target, current, inputs);
        drop(done);
        counts
    })
}

/// Run all inputs and count the rejected ones by reason.
fn all(target: Target, current: &AtomicU64, inputs: u64) -> Counts {
    let mut counts = Counts::default();
    let first = current.load(Relaxed);
    for seed in (0..inputs).map(|number| first.wrapping_add(number)) {
        current.store(seed, Relaxed);
        let _failing = Failing { target: target.name, seed };
        one(target, seed, &mut counts);
    }
    counts
}

/// Try the one input of `seed`.
fn one(target: Target, seed: u64, counts: &mut Counts) {
    let mut random = Random::new(seed);
    let input = (target.seed)(&mut random);
    if random.chance(UNCHANGED) {
        let outcome = (target.run)(&input.bytes);
        assert_eq!(outcome.is_ok(), input.good, "a seed: {outcome:?}, {:02x?}", input.bytes);
        return;
    }
    let other = (target.seed)(&mut random).bytes;
    counts.mutated += 1;
    match (target.run)(&mutate(&mut random, input, &other)) {
        Ok(()) => counts.accepted += 1,
        Err(reason) => *counts.refused.entry(reason).or_default() += 1,
    }
}

/// The input that is being tried; it prints how to try it again if it panics.
struct Failing {
    target: &'static str,
    seed: u64,
}

impl std::fmt::Display for Failing {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { target, seed } = self;
        write!(to, "target {target}: DELAYLAB_FUZZ_SEED={seed} DELAYLAB_FUZZ_INPUTS=1")
    }
}

impl Drop for Failing {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{self}");
        }
    }
}
