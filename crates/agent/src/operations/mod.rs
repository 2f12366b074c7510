//! The operations that a session can request (docs/protocol.md, "Requests"), and their [`dispatch`].
//!
//! Those about links, counters and a machine's setup are in `link`, `network` and `fabric`. All that send
//! stamps or packets as tables do so by [`tables`].

mod compute;
mod copy;
mod cpus;
mod crossing;
mod discard;
mod dispatch;
mod drops;
mod exec;
mod generate;
mod hiccups;
mod hold;
mod namespaces;
mod observe;
mod probe;
mod programs;
mod reflect;
mod reply_log;
mod retransmissions;
mod seen;
mod stream_bytes;
mod tables;
mod tap;
mod tasks;
mod transport;
mod watch;

pub(crate) use copy::{CopyPath, pack, unpack};
pub(crate) use dispatch::serve;
pub(crate) use programs::{carry_out, supervise};
