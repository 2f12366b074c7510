//! A machine that another machine's user reaches: one stream for all sessions with it, and what it says of itself.
//!
//! - [`hub`]: that machine's end of the stream, started by a remote shell; it connects each session with what it is for.
//! - [`trunk`]: the user's end, which gives the program beside it a socket for each session.
//! - [`facts`]: the answers about the machine itself.
//! - [`kernel`]: the parts of its kernel that labs can use.
//! - [`store`]: files that the user's machine puts there.

pub(crate) mod facts;
pub(crate) mod hub;
pub(crate) mod kernel;
pub(crate) mod store;
pub(crate) mod trunk;

use std::time::Duration;

/// The time after which each end says that it is still there.
const BEAT: Duration = Duration::from_secs(5);
/// The time after which an end that has said nothing counts as gone: its machine may have lost its network.
const SILENCE: Duration = Duration::from_secs(30);
