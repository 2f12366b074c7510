//! The CPU's time stamp counter (x86-64).

/// Measure the frequency of this CPU's time stamp counter, in kHz: over 20 ms, against the kernel's monotonic
/// clock, within a few parts in a million.
#[must_use]
pub fn counter_khz() -> u64 {
    let (counter, time) = counter_at();
    // Both clocks are read at the ends of this time: the longer it is, the less the readings count.
    std::thread::sleep(std::time::Duration::from_millis(20));
    let (later, now) = counter_at();
    let ns = now.duration_since(time).as_nanos().max(1);
    u64::try_from(u128::from(later - counter) * 1_000_000 / ns).unwrap_or(u64::MAX)
}

/// Read counter and time at one moment: take 16 pairs and return the one that took the least time to read.
fn counter_at() -> (u64, std::time::Instant) {
    let pair = || {
        // SAFETY: every x86-64 CPU has this counter, and reading it has no effect.
        let (before, now, after) = unsafe {
            let before = std::arch::x86_64::_rdtsc();
            let now = std::time::Instant::now();
            (before, now, std::arch::x86_64::_rdtsc())
        };
        (after - before, before + (after - before) / 2, now)
    };
    let best = (0..16).map(|_| pair()).min_by_key(|(took, _, _)| *took);
    let (_, counter, time) = best.expect("16 pairs were read");
    (counter, time)
}
