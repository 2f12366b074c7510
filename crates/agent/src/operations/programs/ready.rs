//! Signs that a program is ready.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use std::os::fd::AsFd;

use delaylab_os::files::poll::{self, Interest};
use delaylab_os::process::PidFd;

use crate::protocol::starting::ReadySign;

/// The time between two looks for a sign that announces itself to nobody.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The state of a TCP socket that listens (`TCP_LISTEN`, include/net/tcp_states.h).
const LISTENS: &str = "0A";

/// Return true if a sign that must be looked for is there. A command gets the time that is `left`.
pub(crate) fn is_there(sign: &ReadySign, left: Duration) -> bool {
    match sign {
        ReadySign::Tcp(port) => is_bound("tcp", *port, Some(LISTENS)),
        ReadySign::Udp(port) => is_bound("udp", *port, None),
        ReadySign::File(path) => is_made(path),
        ReadySign::Command(argv) => succeeds(argv, left),
        // The program's output or its end is the sign, and comes to whoever supervises it.
        ReadySign::Prints(_) | ReadySign::Ends(_) => false,
    }
}

/// Return a sign in words.
pub(crate) fn in_words(sign: &ReadySign) -> String {
    match sign {
        ReadySign::Tcp(port) => format!("listening socket at TCP port {port}"),
        ReadySign::Udp(port) => format!("socket at UDP port {port}"),
        ReadySign::Prints(text) => format!("{text:?} in its output"),
        ReadySign::File(path) => format!("file {}", path.display()),
        ReadySign::Command(argv) => format!("success of `{}`", argv.join(" ")),
        ReadySign::Ends(_) => "end".to_owned(),
    }
}

/// Return true if a path exists and, where it is a socket, if a program has it. A program that was killed leaves
/// its socket behind: whoever connects to it then is refused.
fn is_made(path: &Path) -> bool {
    let Ok(found) = fs::metadata(path) else { return false };
    !found.file_type().is_socket() || is_held(path)
}

/// Return true if a socket of this network namespace is bound to a path (unix(7)). The kernel tells paths as they were
/// given to bind(2), from a folder or a root that may have been the program's own, so the last part is compared.
fn is_held(path: &Path) -> bool {
    let table = fs::read_to_string("/proc/self/net/unix").unwrap_or_default();
    table
        .lines()
        .skip(1)
        .filter_map(path_in)
        .any(|bound| Path::new(bound).file_name() == path.file_name())
}

/// Return the path in a line of `/proc/net/unix`: `Num RefCount Protocol Flags Type St Inode Path`. It may have spaces.
fn path_in(line: &str) -> Option<&str> {
    let mut rest = line;
    for _ in 0..7 {
        (_, rest) = rest.trim_start().split_once(' ')?;
    }
    Some(rest)
}

/// Return true if a socket of this network namespace has a port (proc_pid_net(5)).
fn is_bound(protocol: &str, port: u16, state: Option<&str>) -> bool {
    let suffix = format!(":{port:04X}");
    ["", "6"].iter().any(|version| {
        let table = fs::read_to_string(format!("/proc/self/net/{protocol}{version}"));
        table.unwrap_or_default().lines().skip(1).any(|line| {
            let fields: Vec<_> = line.split_whitespace().collect();
            fields.len() > 3
                && fields[1].ends_with(&suffix)
                && state.is_none_or(|state| fields[3] == state)
        })
    })
}

fn succeeds(argv: &[String], left: Duration) -> bool {
    let Some((program, arguments)) = argv.split_first() else { return false };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let handle = i32::try_from(child.id()).map_err(std::io::Error::other).and_then(PidFd::open);
    if let Ok(handle) = handle {
        let _ = poll::wait(&[(handle.as_fd(), Interest::Read)], Some(left));
    }
    // One that is still there has had its time.
    let _ = child.kill();
    child.wait().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_socket_is_made_while_a_program_has_it() {
        let path = std::env::temp_dir().join(format!("ready {}", std::process::id()));
        let _ = fs::remove_file(&path);
        assert!(!is_made(&path));
        let listener = UnixListener::bind(&path).expect("a socket");
        assert!(is_made(&path));
        drop(listener);
        assert!(path.exists() && !is_made(&path), "what a killed program leaves says nothing");
        let _ = fs::remove_file(&path);
    }

    #[test]
    fn lines_of_the_kernel_have_a_path_or_none() {
        let line = "00000000cdd63b92: 00000003 00000000 00010000 0001 03 116843 /run/a b.sock";
        assert_eq!(path_in(line), Some("/run/a b.sock"));
        assert_eq!(path_in("00000000d0cedc3d: 00000003 00000000 00000000 0001 03 117150"), None);
    }
}
