//! The bounds and the defaults of conditions, which both sides of the protocol state.

use serde::Serialize;

/// A bound or a default by its name: what it is, and its value as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bound {
    /// The name of the constant.
    pub name: &'static str,
    /// The description of what it bounds, in a sentence.
    pub about: String,
    /// The value, as a number is written.
    pub value: String,
}

/// Declare constants, and a function that lists them with their documentation.
#[macro_export]
macro_rules! bounds {
    ($shown:vis fn $list:ident; $($(#[doc = $about:literal])+ $scope:vis const $name:ident: $kind:ty = $value:expr;)+) => {
        $($(#[doc = $about])+ $scope const $name: $kind = $value;)+

        /// Return these constants by their names, in order.
        $shown fn $list() -> Vec<$crate::Bound> {
            vec![$($crate::Bound {
                name: stringify!($name),
                about: [$($about),+].concat().trim().to_owned(),
                value: $name.to_string(),
            }),+]
        }
    };
}

bounds! {
    pub fn bounds;

    /// The longest time that a condition may have: an hour, in ns.
    pub const LONGEST_NS: i64 = 3_600_000_000_000;
    /// The longest trace: 31 days, in ns.
    pub const LONGEST_TRACE_NS: i64 = 31 * 24 * LONGEST_NS;
    /// The rate of the fastest link in bit/s: 1 Tbit/s.
    pub const FASTEST_BPS: u64 = 1_000_000_000_000;
    /// The most budgets of a rate per second: one each microsecond.
    pub const MOST_REFILLS: u32 = 1_000_000;
    /// The largest framing of a frame, in bytes.
    pub const LARGEST_FRAMING: u32 = 65_536;
    /// The largest deviation from the mean in a distribution table, in spreads.
    pub const FARTHEST: f64 = 1000.0;
    /// Ethernet's framing overhead: preamble (8), check sequence (4) and gap (12), in bytes.
    pub const OVERHEAD_BYTES: u32 = 24;
    /// Ethernet's shortest frame with preamble and gap, in bytes (IEEE 802.3).
    pub const MINIMUM_BYTES: u32 = 84;
    /// CoDel's target (RFC 8289, section 4.4).
    pub const CODEL_TARGET_NS: i64 = 5_000_000;
    /// CoDel's interval (RFC 8289, section 4.3).
    pub const CODEL_INTERVAL_NS: i64 = 100_000_000;
    /// The weight of the current length in RED's mean (Floyd and Jacobson, section 9).
    pub const RED_WEIGHT: f64 = 0.002;
    /// The bytes of an opportunity of mahimahi: a packet of 1500 bytes, and 4 of its TUN device.
    pub const OPPORTUNITY_BYTES: u32 = 1504;
}
