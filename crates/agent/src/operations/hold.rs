//! Requests that are held until the client says `go`, so that several agents begin together.

use delaylab_os::files::poll::{self, Interest};
use delaylab_proto::{Context, Failure};

use crate::protocol::running::{Event, Order};
use crate::session::Session;

/// Report that all is ready, then block until the client says `go`. Return false if it says `stop` or goes
/// away instead.
pub(super) fn until_go(session: &mut Session) -> Result<bool, Failure> {
    session.event(&Event::READY)?;
    loop {
        poll::wait(&[(session.input(), Interest::Read)], None).context("wait for the start")?;
        for order in session.orders()? {
            match order {
                Order::Go => return Ok(true),
                Order::Stop | Order::Closed => return Ok(false),
                _ => {}
            }
        }
    }
}
