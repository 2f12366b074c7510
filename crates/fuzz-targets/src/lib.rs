//! Fuzz targets for everything that reads bytes from outside: the protocol's frames, captured packets,
//! captures, logs of recorded processes. A target takes any bytes and panics if an invariant does not hold.
//!
//! Two fuzzers use them: `tests/fuzzer.rs`, which mutates the seeds of each target and runs with every
//! `cargo test`, and libFuzzer (`fuzz/`, which needs a nightly toolchain).

pub mod calls;
pub mod frame;
pub mod mutate;
pub mod packet;
pub mod pcapng;
pub mod tcp;
/// One target with the seeds that are mutated for it.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name, which is also that of libFuzzer's target.
    pub name: &'static str,
    /// The target itself.
    pub run: fn(&[u8]) -> Outcome,
    /// The generator of seeds.
    pub seed: fn(&mut mutate::Random) -> mutate::Seed,
}

/// All targets.
pub const TARGETS: [Target; 5] = [
    Target { name: "packet", run: packet::run, seed: packet::seed },
    Target { name: "frame", run: frame::run, seed: frame::seed },
    Target { name: "pcapng", run: pcapng::run, seed: pcapng::seed },
    Target { name: "calls", run: calls::run, seed: calls::seed },
    Target { name: "tcp", run: tcp::run, seed: tcp::seed },
];

/// The outcome of an input for which all invariants hold: accepted, or rejected with the reason.
pub type Outcome = Result<(), String>;

/// Assert that `part` lies in `whole` and ends no later than `end` bytes from its start.
pub(crate) fn inside(part: &[u8], whole: &[u8], end: usize) {
    let (part, whole) = (part.as_ptr_range(), whole.as_ptr_range());
    assert!(whole.start <= part.start && part.end <= whole.end, "outside of the input");
    assert!(part.end as usize - whole.start as usize <= end, "longer than its header says");
}
