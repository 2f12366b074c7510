//! The result of a target, and checks that targets have in common.

/// The outcome of an input for which all invariants hold: accepted, or rejected with the reason.
pub type Outcome = Result<(), String>;

/// Assert that `part` lies in `whole` and ends no later than `end` bytes from its start.
pub(crate) fn inside(part: &[u8], whole: &[u8], end: usize) {
    let (part, whole) = (part.as_ptr_range(), whole.as_ptr_range());
    assert!(whole.start <= part.start && part.end <= whole.end, "outside of the input");
    assert!(part.end as usize - whole.start as usize <= end, "longer than its header says");
}
