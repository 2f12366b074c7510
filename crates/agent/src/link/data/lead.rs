//! The time before a frame is due at which the engine hands it to the kernel, which holds it at a gate until then.

use delaylab_os::clock::Span;
use delaylab_os::tcx::gate;

/// The learning step: the lead decreases by one step with each frame that reached the gate in time, and increases by
/// 19 steps with each that did not, so it settles where one of 20 frames is late.
const STEP: Span = Span::from_ns(10);
const SHORTEST: Span = Span::from_ns(500);
/// While the kernel holds a frame, others wait, so the lead is kept short.
const LONGEST: Span = Span::from_ns(5_000);
const _: () = assert!(LONGEST.ns() < gate::LONGEST.ns());

/// The time that a frame needs to reach the gate, as learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lead(Span);

impl Default for Lead {
    fn default() -> Self {
        Self(LONGEST / 2)
    }
}

impl Lead {
    pub(super) fn span(self) -> Span {
        self.0
    }

    /// Learn from a frame that reached the gate so long before it was due.
    pub(super) fn learn(&mut self, before_due: Span) {
        let step = if before_due < Span::ZERO { STEP * 19 } else { STEP * -1 };
        self.0 = (self.0 + step).clamp(SHORTEST, LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lead_settles_where_one_of_twenty_is_late() {
        let mut lead = Lead::default();
        // Frames need 1.00 to 1.99 µs.
        for number in 0..100_000 {
            let needed = Span::from_ns(1_000 + number * 37 % 100 * 10);
            lead.learn(lead.span() - needed);
        }
        let settled = lead.span().ns();
        assert!((1_850..=2_050).contains(&settled), "{settled}");
    }

    #[test]
    fn the_lead_stays_within_its_bounds() {
        let mut lead = Lead::default();
        (0..1_000).for_each(|_| lead.learn(Span::ZERO));
        assert_eq!(lead.span(), SHORTEST);
        (0..1_000).for_each(|_| lead.learn(Span::from_ns(-1)));
        assert_eq!(lead.span(), LONGEST);
    }
}
