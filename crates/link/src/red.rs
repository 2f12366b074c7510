//! Random early detection (RED), after Floyd and Jacobson 1993, figure 2.

use crate::chance::{Chance, Stream};

/// The parameters of [`crate::Discipline::Red`].
pub(crate) struct Limits {
    pub(crate) min_bytes: u64,
    pub(crate) max_bytes: u64,
    pub(crate) probability: f64,
    pub(crate) weight: f64,
}

/// The state of the discipline.
pub(crate) struct Red {
    chance: Chance,
    /// The mean length of the queue, in bytes.
    mean: f64,
    /// Frames since the last drop; -1 before the first frame above the lower limit.
    count: i64,
}

impl Red {
    pub(crate) fn new(stream: Stream) -> Self {
        Red { chance: Chance::new(stream), mean: 0.0, count: -1 }
    }

    /// Return true if the next frame is to be dropped. It finds `waiting` bytes, or an empty queue after an
    /// idle time in which `could_have_left` frames could have left.
    pub(crate) fn drops(&mut self, limits: &Limits, waiting: u64, could_have_left: f64) -> bool {
        let keeps = 1.0 - limits.weight;
        self.mean = match waiting {
            0 => self.mean * libm::pow(keeps, could_have_left + 1.0),
            _ => self.mean * keeps + waiting as f64 * limits.weight,
        };
        let (min, max) = (limits.min_bytes as f64, limits.max_bytes as f64);
        if self.mean < min {
            self.count = -1;
            return false;
        }
        self.count += 1;
        let drops = self.mean >= max || {
            let share = limits.probability * (self.mean - min) / (max - min);
            // Spread the drops evenly: each frame that passes makes the next drop more likely.
            let even = share / (1.0 - self.count as f64 * share).max(share);
            self.chance.happens(even)
        };
        if drops {
            self.count = 0;
        }
        drops
    }
}
