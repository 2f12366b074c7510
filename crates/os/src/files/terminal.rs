//! Terminals and pseudo-terminals.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};

/// A pseudo-terminal: this process's end, and the command's end, which is a terminal to it.
pub struct Terminal {
    /// This process's end: it reads the command's output and writes the command's input.
    pub ours: OwnedFd,
    /// The command's end.
    pub command: OwnedFd,
}

/// Open a pseudo-terminal of `rows` × `columns` characters, both ends close-on-exec (openpty(3)).
pub fn open(rows: u16, columns: u16) -> io::Result<Terminal> {
    let size = nix::pty::Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let pty = nix::pty::openpty(Some(&size), None)?;
    for fd in [&pty.master, &pty.slave] {
        fcntl(fd, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    }
    Ok(Terminal { ours: pty.master, command: pty.slave })
}

/// Put a terminal into raw mode, in which it passes every byte unchanged. Do nothing for other descriptors
/// (termios(3), `cfmakeraw`).
pub fn make_raw(line: &impl AsFd) -> io::Result<()> {
    let mut settings = match tcgetattr(line) {
        Err(Errno::ENOTTY | Errno::EINVAL) => return Ok(()),
        settings => settings?,
    };
    cfmakeraw(&mut settings);
    Ok(tcsetattr(line, SetArg::TCSANOW, &settings)?)
}
