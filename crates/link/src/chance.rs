//! Random streams, and events that happen with a probability.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// The random numbers of one condition. The generator is named, so that a seed means the same
/// with every version of the library.
pub(crate) type Stream = Xoshiro256PlusPlus;

/// As many streams as are taken from it, all different.
pub(crate) fn streams(seed: u64) -> impl FnMut() -> Stream {
    let mut root = Stream::seed_from_u64(seed);
    move || Stream::seed_from_u64(root.random())
}

/// Events of one kind, and how the last one fell.
pub(crate) struct Chance {
    stream: Stream,
    last: Option<bool>,
}

impl Chance {
    pub(crate) fn new(stream: Stream) -> Self {
        Chance { stream, last: None }
    }

    /// Whether it happens, with this probability.
    pub(crate) fn happens(&mut self, share: f64) -> bool {
        self.stream.random::<f64>() < share
    }

    /// The same with a correlation of successive events: with that probability the last one is
    /// repeated. The share stays exact, and so is the correlation.
    pub(crate) fn happens_again(&mut self, share: f64, correlation: f64) -> bool {
        let repeated = self.last.filter(|_| correlation > 0.0 && self.happens(correlation));
        let happens = repeated.unwrap_or_else(|| self.happens(share));
        self.last = Some(happens);
        happens
    }

    /// Any number.
    pub(crate) fn number(&mut self) -> u64 {
        self.stream.random()
    }
}
