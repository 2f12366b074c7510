//! This process's standard input, output and error.

use std::fs::OpenOptions;
use std::io;

use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout};

/// Redirect standard input, output and error to `/dev/null`. Fails if that cannot be opened.
pub fn detach_stdio() -> io::Result<()> {
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    Ok(())
}
