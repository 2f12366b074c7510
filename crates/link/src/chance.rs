//! Random streams, and random events with a given probability.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// The random number stream of one condition. The generator is fixed, so that a seed gives the same numbers
/// with every version of the library.
pub(crate) type Stream = Xoshiro256PlusPlus;

/// Return a source of streams, all different.
pub(crate) fn streams(seed: u64) -> impl FnMut() -> Stream {
    let mut root = Stream::seed_from_u64(seed);
    move || Stream::seed_from_u64(root.random())
}

/// Random events of one kind, and the outcome of the last one.
pub(crate) struct Chance {
    stream: Stream,
    last: Option<bool>,
}

impl Chance {
    pub(crate) fn new(stream: Stream) -> Self {
        Chance { stream, last: None }
    }

    /// Draw an event with this probability; return true if it happens.
    pub(crate) fn happens(&mut self, share: f64) -> bool {
        self.stream.random::<f64>() < share
    }

    /// Draw an event whose outcome is correlated with the last one: with probability `correlation` it repeats
    /// the last outcome. Both the share and the correlation are exact.
    pub(crate) fn happens_again(&mut self, share: f64, correlation: f64) -> bool {
        let repeated = self.last.filter(|_| correlation > 0.0 && self.happens(correlation));
        let happens = repeated.unwrap_or_else(|| self.happens(share));
        self.last = Some(happens);
        happens
    }

    /// Draw any number.
    pub(crate) fn number(&mut self) -> u64 {
        self.stream.random()
    }
}
