//! The error of all parsers of packets here.

/// A reason why bytes are not a probe packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAProbe {
    /// The bytes end before the header that should follow.
    #[error("truncated {0} header")]
    Truncated(&'static str),
    /// A field has a value that no probe packet has.
    #[error("malformed {0} header")]
    Malformed(&'static str),
    /// The packet is a fragment. Only the first fragment would carry the header, so none is counted.
    #[error("IP fragment")]
    Fragment,
    /// The packet has another protocol, another ICMP type, or a payload that is not a probe's.
    #[error("not a probe's packet")]
    Other,
}
