//! The bytes of TCP connections that were seen at one place: where each byte was seen first.

/// A run of bytes of one direction of a connection, by the sequence numbers of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The sequence number of its first byte.
    pub sequence: u32,
    /// The number of bytes; at least 1.
    pub length: u32,
}

/// The most gaps that are kept between the bytes seen. A connection has as many only if most of its segments are lost;
/// the oldest gap then counts as seen.
const MOST_GAPS: usize = 64;

/// The bytes of one direction of a connection that were seen, so that bytes that are sent again are not new.
///
/// Positions are counted from the first byte that was seen, since sequence numbers wrap after 4 GiB.
#[derive(Clone, Debug, Default)]
pub(super) struct SeenBytes {
    /// The sequence number of a recent byte, with its position.
    anchor: Option<(u32, i64)>,
    /// The ranges of positions that were seen, from the first to the last, with gaps between them.
    ranges: Vec<(i64, i64)>,
}

impl SeenBytes {
    /// Add the bytes of a segment, and pass the runs of them that were not seen before to `new`.
    pub(super) fn add(&mut self, run: Run, mut new: impl FnMut(Run)) {
        let (known, position) = self.anchor.unwrap_or((run.sequence, 0));
        let begin = position + i64::from(run.sequence.wrapping_sub(known).cast_signed());
        let end = begin + i64::from(run.length);
        self.anchor = Some((run.sequence, begin));
        if let Some(last) = self.ranges.last_mut().filter(|last| last.1 == begin) {
            // Nearly all segments follow the one before.
            last.1 = end;
            return new(run);
        }
        let first = self.ranges.partition_point(|range| range.1 < begin);
        let after = self.ranges.partition_point(|range| range.0 <= end);
        let mut from = begin;
        for range in &self.ranges[first..after] {
            if from < range.0 {
                new(part(run, begin, from, range.0));
            }
            from = from.max(range.1);
        }
        if from < end {
            new(part(run, begin, from, end));
        }
        let merged = self.ranges[first..after]
            .iter()
            .fold((begin, end), |whole, range| (whole.0.min(range.0), whole.1.max(range.1)));
        self.ranges.splice(first..after, [merged]);
        if self.ranges.len() > MOST_GAPS {
            let oldest = self.ranges.remove(0);
            self.ranges[0].0 = oldest.0;
        }
    }
}

/// Return the part of a run that is between two positions; the run begins at `begin`.
fn part(run: Run, begin: i64, from: i64, to: i64) -> Run {
    // Both differences are less than the run's length.
    Run { sequence: run.sequence.wrapping_add((from - begin) as u32), length: (to - from) as u32 }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn added(seen: &mut SeenBytes, sequence: u32, length: u32) -> Vec<(u32, u32)> {
        let mut new = Vec::new();
        seen.add(Run { sequence, length }, |run| new.push((run.sequence, run.length)));
        new
    }

    #[test]
    fn bytes_that_are_sent_again_are_not_new() {
        let mut seen = SeenBytes::default();
        assert_eq!(added(&mut seen, 100, 50), [(100, 50)]);
        assert_eq!(added(&mut seen, 150, 50), [(150, 50)]);
        assert_eq!(added(&mut seen, 100, 50), []);
        assert_eq!(added(&mut seen, 120, 100), [(200, 20)], "cut anew");
    }

    #[test]
    fn segments_may_overtake_each_other() {
        let mut seen = SeenBytes::default();
        assert_eq!(added(&mut seen, 100, 10), [(100, 10)]);
        assert_eq!(added(&mut seen, 120, 10), [(120, 10)]);
        assert_eq!(added(&mut seen, 105, 30), [(110, 10), (130, 5)]);
        assert_eq!(seen.ranges.len(), 1);
        assert_eq!(added(&mut seen, 90, 5), [(90, 5)], "before the first that was seen");
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut seen = SeenBytes::default();
        assert_eq!(added(&mut seen, u32::MAX - 9, 10), [(u32::MAX - 9, 10)]);
        assert_eq!(added(&mut seen, 0, 10), [(0, 10)]);
        assert_eq!(added(&mut seen, u32::MAX - 4, 20), [(10, 5)]);
    }

    proptest! {
        #[test]
        fn each_byte_is_new_once(
            start: u32, segments in proptest::collection::vec((0u32..300, 1u32..40), 1..60),
        ) {
            let (mut seen, mut plain) = (SeenBytes::default(), HashSet::new());
            for (offset, length) in segments {
                let sequence = start.wrapping_add(offset);
                let new: Vec<u32> = added(&mut seen, sequence, length)
                    .into_iter()
                    .flat_map(|(from, count)| (0..count).map(move |more| from.wrapping_add(more)))
                    .collect();
                let wanted: Vec<u32> = (0..length)
                    .map(|more| sequence.wrapping_add(more))
                    .filter(|byte| plain.insert(*byte))
                    .collect();
                prop_assert_eq!(new, wanted);
            }
        }
    }
}
