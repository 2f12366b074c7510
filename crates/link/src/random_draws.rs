//! The random decisions about a frame. All are drawn when the frame arrives, even if it is lost or dropped,
//! so that the n-th frame draws the same values under any other conditions.

use crate::chance::{Chance, Stream};
use crate::jitter::Jitters;
use crate::loss::Losses;
use crate::{Conditions, Reorder};

/// The random decisions about one frame.
#[derive(Clone, Copy)]
pub(crate) struct RandomDraw {
    pub(crate) lost: bool,
    pub(crate) copies: u8,
    pub(crate) corrupt: Option<u64>,
    pub(crate) reordered: bool,
    pub(crate) jitter_ns: i64,
}

impl RandomDraw {
    /// The decisions about a frame under no random condition.
    pub(crate) const PLAIN: RandomDraw =
        RandomDraw { lost: false, copies: 1, corrupt: None, reordered: false, jitter_ns: 0 };
}

/// The random conditions of one direction, each with its own stream.
pub(crate) struct RandomDraws {
    losses: Losses,
    duplicates: Chance,
    corruptions: Chance,
    overtaking: Chance,
    /// Frames since the last one that overtook.
    in_order: u32,
    jitters: Jitters,
    plain: bool,
}

impl RandomDraws {
    pub(crate) fn new(mut stream: impl FnMut() -> Stream, conditions: &Conditions) -> Self {
        let mut draws = RandomDraws {
            losses: Losses::new(stream()),
            duplicates: Chance::new(stream()),
            corruptions: Chance::new(stream()),
            overtaking: Chance::new(stream()),
            in_order: 0,
            jitters: Jitters::new(stream()),
            plain: true,
        };
        draws.set(conditions);
        draws
    }

    /// Change the conditions. A condition that is the same before and after keeps its state.
    pub(crate) fn change(&mut self, before: &Conditions, after: &Conditions) {
        if before.loss != after.loss {
            self.losses.restart_pattern();
        }
        self.set(after);
    }

    fn set(&mut self, conditions: &Conditions) {
        self.jitters.set(conditions.jitter.as_ref());
        self.plain = conditions.jitter.is_none()
            && conditions.loss.is_none()
            && conditions.reorder.is_none()
            && conditions.duplicate == 0.0
            && conditions.corrupt == 0.0;
    }

    /// Draw the decisions about the next frame.
    pub(crate) fn draw(&mut self, conditions: &Conditions) -> RandomDraw {
        if self.plain {
            return RandomDraw::PLAIN;
        }
        let twice = happens(&mut self.duplicates, conditions.duplicate);
        RandomDraw {
            lost: conditions.loss.as_ref().is_some_and(|loss| self.losses.next(loss)),
            copies: 1 + u8::from(twice),
            corrupt: self.corrupts(conditions.corrupt),
            reordered: conditions.reorder.as_ref().is_some_and(|reorder| self.overtakes(reorder)),
            jitter_ns: self.jitters.next_ns(),
        }
    }

    /// Draw the bit to flip, if any. A bit is drawn for intact frames too, so that another share finds the
    /// stream in the same state.
    fn corrupts(&mut self, share: f64) -> Option<u64> {
        let corrupt = happens(&mut self.corruptions, share);
        let bit = if share > 0.0 { self.corruptions.number() } else { 0 };
        corrupt.then_some(bit)
    }

    fn overtakes(&mut self, reorder: &Reorder) -> bool {
        let candidate = self.in_order >= reorder.gap - 1;
        let overtakes =
            candidate && self.overtaking.happens_again(reorder.share, reorder.correlation);
        self.in_order = if overtakes { 0 } else { self.in_order.saturating_add(1) };
        overtakes
    }
}

/// Draw an event, unless its condition is not configured: then the stream is not advanced.
fn happens(chance: &mut Chance, share: f64) -> bool {
    share > 0.0 && chance.happens(share)
}
