//! The kernel's setup of one direction, in terms of what its qdiscs can do.

use delaylab_os::clsact::Chances;

use super::jitter_table::JitterTable;

/// The setup of one direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Setup {
    pub netem: Option<Netem>,
    pub shape: Option<Shape>,
    /// Loss by a program at the port's ingress, used if the kernel has no netem.
    pub loss: Option<Chances>,
}

/// The options of netem.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Netem {
    pub delay_ns: i64,
    pub jitter: Option<JitterTable>,
    /// The maximum number of frames in it, including those that wait for the rate.
    pub limit: u32,
    pub loss: Option<Chances>,
    pub duplicate: f64,
    pub corrupt: f64,
    /// The share and the gap of reordering.
    pub reorder: Option<(f64, u32)>,
}

/// The options of the token bucket.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    pub bytes_per_second: u64,
    pub overhead: u16,
    pub minimum: u16,
    pub burst: u32,
    pub queue: RateQueue,
}

/// The queue for the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RateQueue {
    Bytes(u32),
    Packets(u32),
    Codel { target_us: u32, interval_us: u32, limit: u32 },
}

/// Bounds that apply to all frames of a direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// The length of the longest frame with its header.
    pub longest: u32,
    /// The memory for waiting frames of one direction.
    pub memory_bytes: u64,
}

/// Loss that never happens.
pub(super) const NEVER: Chances =
    Chances { to_bad: 0.0, to_good: 1.0, lost_in_bad: 0.0, lost_in_good: 0.0 };

impl Setup {
    /// Keep the qdiscs of `before` even where no condition needs them any more: removing one would lose its
    /// waiting frames.
    pub(crate) fn keeping(mut self, before: &Self) -> Self {
        if let (None, Some(shape)) = (&self.shape, &before.shape) {
            self.shape = Some(Shape::without_limit(shape));
        }
        if let (None, Some(netem)) = (&self.netem, &before.netem) {
            self.netem = Some(Netem { limit: netem.limit, ..Netem::default() });
        }
        if let (None, Some(_)) = (self.loss, before.loss) {
            self.loss = Some(NEVER);
        }
        self
    }
}

impl Shape {
    /// Return a shape that holds nothing back.
    fn without_limit(before: &Self) -> Self {
        let bytes_per_second = 1 << 37;
        let queue = match before.queue {
            RateQueue::Bytes(_) => RateQueue::Bytes(u32::MAX),
            RateQueue::Packets(_) => RateQueue::Packets(u32::MAX),
            codel @ RateQueue::Codel { .. } => codel,
        };
        Self { bytes_per_second, overhead: 0, minimum: 0, burst: 1 << 20, queue }
    }
}
