//! `delaylab-agent relay`: connect standard input and output to a hypervisor's console, with the input
//! escaped.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;

use delaylab_os::files::poll::{self, Interest};
use delaylab_os::files::{descriptor, terminal};
use delaylab_proto::{Context, Failure};

use crate::session::line::escape;

const PIECE: usize = 16 << 10;

/// Relay bytes both ways until one side ends.
pub(crate) fn run(device: &Path) -> Result<(), Failure> {
    let what = || format!("relay {}", device.display());
    let mut device = File::options().read(true).write(true).open(device).with_context(what)?;
    terminal::make_raw(&device).with_context(what)?;
    let (stdin, mut stdout) = (io::stdin(), io::stdout());
    let mut piece = [0; PIECE];
    loop {
        let ready =
            poll::wait(&[(stdin.as_fd(), Interest::Read), (device.as_fd(), Interest::Read)], None)
                .with_context(what)?;
        if ready[0] {
            match descriptor::read_some(stdin.as_fd(), &mut piece).with_context(what)? {
                Some(0) => return Ok(()),
                count => {
                    let escaped = escape(&piece[..count.unwrap_or(0)]);
                    device.write_all(&escaped).with_context(what)?;
                }
            }
        }
        if ready[1] {
            match descriptor::read_some(device.as_fd(), &mut piece).with_context(what)? {
                Some(0) => return Ok(()),
                count => stdout.write_all(&piece[..count.unwrap_or(0)]).with_context(what)?,
            }
            stdout.flush().with_context(what)?;
        }
    }
}
