//! Timed changes of conditions.

use crate::protocol::links::{Change, Moment};

/// The timeline and its next moment.
pub struct Timeline<'a> {
    moments: &'a [Moment],
    began_ns: i64,
    next: usize,
}

impl<'a> Timeline<'a> {
    /// Build a timeline of moments in order, counted from `began_ns`.
    pub fn new(moments: &'a [Moment], began_ns: i64) -> Self {
        Self { moments, began_ns, next: 0 }
    }

    /// Restart the timeline now.
    pub fn restart(&mut self, now_ns: i64) {
        (self.began_ns, self.next) = (now_ns, 0);
    }

    /// Return the time of the next moment.
    pub fn next_ns(&self) -> Option<i64> {
        let moment = self.moments.get(self.next)?;
        Some(self.began_ns.saturating_add_unsigned(moment.at_ns))
    }

    /// Return the changes of the next moment once its time has come.
    pub fn take(&mut self, now_ns: i64) -> Option<&'a [Change]> {
        if self.next_ns()? > now_ns {
            return None;
        }
        self.next += 1;
        Some(&self.moments[self.next - 1].changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_come_in_order_and_again_after_a_restart() {
        let moment = |at_ns| Moment { at_ns, changes: Vec::new() };
        let moments = [moment(0), moment(5), moment(5)];
        let mut timeline = Timeline::new(&moments, 100);
        assert!(timeline.take(100).is_some() && timeline.take(104).is_none());
        assert_eq!(timeline.next_ns(), Some(105));
        assert!(timeline.take(105).is_some() && timeline.take(105).is_some());
        assert_eq!(timeline.next_ns(), None);
        timeline.restart(200);
        assert_eq!(timeline.next_ns(), Some(200));
    }
}
