//! The bounds of conditions that the kernel's queues have in addition to the engine's.

delaylab_link::bounds! {
    pub(crate) fn bounds;

    /// The largest spread of netem, a signed 32-bit integer of ns.
    pub(super) const KERNEL_SPREAD_NS: i64 = i32::MAX as i64;
    /// The least rate of the token bucket filter: a byte per second, in bit/s.
    pub(super) const KERNEL_SLOWEST_BPS: u64 = 8;
    /// The largest framing that the token bucket filter counts, a 16-bit integer of bytes.
    pub(super) const KERNEL_FRAMING: u16 = u16::MAX;
}
