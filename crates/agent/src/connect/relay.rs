//! `delaylab-agent join` and `delaylab-agent relay`: standard input and output connected to something else.

use std::fs::File;
use std::io::{self, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use delaylab_os::files::poll::{self, Interest};
use delaylab_os::files::{descriptor, terminal};
use delaylab_proto::{Context, Failure};

use crate::session::line::escape;

const PIECE: usize = 64 << 10;

/// Connect to the socket of another agent, so that a command in a machine becomes a session with an agent in there.
/// Return once the agent closes its end and all of its output is written.
pub(crate) fn to_agent(socket: &Path) -> Result<(), Failure> {
    let what = || format!("join {}", socket.display());
    let mut agent = UnixStream::connect(socket).with_context(what)?;
    let close = |agent: &UnixStream| agent.shutdown(Shutdown::Write).map(|()| true);
    both_ways(&mut agent, <[u8]>::to_vec, close).with_context(what)
}

/// Connect to a hypervisor's console, with the input escaped, until one side ends.
pub(crate) fn to_console(device: &Path) -> Result<(), Failure> {
    let what = || format!("relay {}", device.display());
    let mut device = File::options().read(true).write(true).open(device).with_context(what)?;
    terminal::make_raw(&device).with_context(what)?;
    both_ways(&mut device, escape, |_| Ok(false)).with_context(what)
}

/// Relay bytes until the other stream ends. Once standard input has ended, go on if `close` returns true.
fn both_ways<Stream: AsFd + Write>(
    other: &mut Stream,
    encode: impl Fn(&[u8]) -> Vec<u8>,
    close: impl Fn(&Stream) -> io::Result<bool>,
) -> io::Result<()> {
    let (stdin, mut stdout) = (io::stdin(), io::stdout());
    let (mut piece, mut open) = (vec![0; PIECE], true);
    loop {
        let mut on = vec![(other.as_fd(), Interest::Read)];
        on.extend(open.then(|| (stdin.as_fd(), Interest::Read)));
        let ready = poll::wait(&on, None)?;
        if ready[0] {
            match descriptor::read_some(other.as_fd(), &mut piece)? {
                Some(0) => return Ok(()),
                count => stdout.write_all(&piece[..count.unwrap_or(0)])?,
            }
            stdout.flush()?;
        }
        if ready.get(1) == Some(&true) {
            match descriptor::read_some(stdin.as_fd(), &mut piece)? {
                Some(0) if close(other)? => open = false,
                Some(0) => return Ok(()),
                count => other.write_all(&encode(&piece[..count.unwrap_or(0)]))?,
            }
        }
    }
}
