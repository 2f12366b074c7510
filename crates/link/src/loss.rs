//! Which frames are lost.

use crate::Loss;
use crate::chance::{Chance, Stream};

/// What the models of loss remember from frame to frame.
pub(crate) struct Losses {
    chance: Chance,
    /// Gilbert and Elliott's state.
    bad: bool,
    /// The run of the pattern, and how many of its frames were.
    run: usize,
    used: u32,
}

impl Losses {
    pub(crate) fn new(stream: Stream) -> Self {
        Losses { chance: Chance::new(stream), bad: false, run: 0, used: 0 }
    }

    /// Begins a pattern anew, since another one is asked.
    pub(crate) fn restart_pattern(&mut self) {
        self.run = 0;
        self.used = 0;
    }

    /// Whether the next frame is lost.
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
