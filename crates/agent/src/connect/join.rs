//! `delaylab-agent join`: connect standard input and output to the socket of another agent, so that a command
//! in a machine becomes a session with an agent in there.

use std::fs::File;
use std::io::Write;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use delaylab_os::files::descriptor;
use delaylab_os::files::poll::{self, Interest};
use delaylab_proto::{Context, Failure};

const PIECE: usize = 64 << 10;

/// Relay bytes both ways until the agent closes its end and all of its output is written.
pub(crate) fn run(socket: &Path) -> Result<(), Failure> {
    let what = || format!("join {}", socket.display());
    let mut agent = UnixStream::connect(socket).with_context(what)?;
    let (input, output) = crate::session::stdio()?;
    let (mut open, mut output) = (Some(input), File::from(output));
    let mut piece = vec![0; PIECE];
    loop {
        let mut on = vec![(agent.as_fd(), Interest::Read)];
        on.extend(open.as_ref().map(|input| (input.as_fd(), Interest::Read)));
        let ready = poll::wait(&on, None).with_context(what)?;
        if ready[0] {
            match descriptor::read_some(agent.as_fd(), &mut piece).with_context(what)? {
                Some(0) => return Ok(()),
                count => output.write_all(&piece[..count.unwrap_or(0)]).with_context(what)?,
            }
        }
        if let (Some(input), Some(true)) = (&open, ready.get(1)) {
            match descriptor::read_some(input.as_fd(), &mut piece).with_context(what)? {
                Some(0) => {
                    open = None;
                    agent.shutdown(Shutdown::Write).with_context(what)?;
                }
                count => agent.write_all(&piece[..count.unwrap_or(0)]).with_context(what)?,
            }
        }
    }
}
