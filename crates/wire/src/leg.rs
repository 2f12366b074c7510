//! The legs of a round trip.

/// The half of a round trip that a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Leg {
    /// The request, from the probe's sender to its responder.
    Request = 0,
    /// The reply, from the responder to the sender.
    Reply = 1,
}
