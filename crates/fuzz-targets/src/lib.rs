//! Fuzz targets for everything that reads bytes from outside: the protocol's frames, captured packets,
//! captures. A target takes any bytes and panics if an invariant does not hold.
//!
//! Two fuzzers use them: `tests/fuzzer.rs`, which mutates the [`seeds`] here and runs with every
//! `cargo test`, and libFuzzer (`fuzz/`, which needs a nightly toolchain).

pub mod frame;
pub mod mutate;
mod outcome;
pub mod packet;
pub mod pcapng;
pub mod random;
pub mod seeds;
pub mod tcp;

pub use outcome::Outcome;

/// One target with the seeds that are mutated for it.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name, which is also that of libFuzzer's target.
    pub name: &'static str,
    /// The target itself.
    pub run: fn(&[u8]) -> Outcome,
    /// The generator of seeds.
    pub seed: fn(&mut random::Random) -> seeds::Seed,
}

/// All targets.
pub const TARGETS: [Target; 4] = [
    Target { name: "packet", run: packet::run, seed: seeds::packet::seed },
    Target { name: "frame", run: frame::run, seed: seeds::frame::seed },
    Target { name: "pcapng", run: pcapng::run, seed: seeds::pcapng::seed },
    Target { name: "tcp", run: tcp::run, seed: seeds::tcp::seed },
];
