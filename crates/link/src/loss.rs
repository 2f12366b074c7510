//! The loss of frames.

use crate::Loss;
use crate::chance::{Chance, Stream};

/// The state of the loss models.
pub(crate) struct Losses {
    chance: Chance,
    /// The state of the Gilbert-Elliott model.
    bad: bool,
    /// The current run of the pattern, and the number of its frames so far.
    run: usize,
    used: u32,
}

impl Losses {
    pub(crate) fn new(stream: Stream) -> Self {
        Losses { chance: Chance::new(stream), bad: false, run: 0, used: 0 }
    }

    /// Restart the pattern, because another one was configured.
    pub(crate) fn restart_pattern(&mut self) {
        self.run = 0;
        self.used = 0;
    }

    /// Return true if the next frame is lost.
    pub(crate) fn next(&mut self, loss: &Loss) -> bool {
        match loss {
            Loss::Independent { share, correlation } => {
                self.chance.happens_again(*share, *correlation)
            }
            Loss::GilbertElliott { to_bad, to_good, lost_in_bad, lost_in_good } => {
                let turns = self.chance.happens(if self.bad { *to_good } else { *to_bad });
                self.bad ^= turns;
                self.chance.happens(if self.bad { *lost_in_bad } else { *lost_in_good })
            }
            Loss::Pattern { runs } => self.next_of(runs),
        }
    }

    fn next_of(&mut self, runs: &[u32]) -> bool {
        while self.used >= runs[self.run] {
            self.run = (self.run + 1) % runs.len();
            self.used = 0;
        }
        self.used += 1;
        self.run % 2 == 1
    }
}
