//! Settings of commands that are to be started.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::signal::{SigHandler, Signal};

use super::clone::die_with_parent;

/// Make the command's process the leader of a new session, and kill it when this process dies. With
/// `terminal` its standard input becomes the session's controlling terminal. Signals get their default
/// actions: a background shell starts its children with SIGINT ignored. Failures are those of the command's
/// start.
pub fn new_session(command: &mut Command, terminal: bool) {
    let parent = nix::unistd::getpid();
    let prepare = move || {
        die_with_parent()?;
        if nix::unistd::getppid() != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        for signal in [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP] {
            // SAFETY: the default is no handler.
            unsafe { nix::sys::signal::signal(signal, SigHandler::SigDfl) }?;
        }
        nix::unistd::setsid()?;
        // SAFETY: TIOCSCTTY takes an integer; descriptor 0 is open.
        if terminal && unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made, nothing is allocated.
    unsafe { command.pre_exec(prepare) };
}

/// Pass descriptors to the command, each under the number beside it, which must not be 0 to 2. Fail if they
/// cannot be duplicated; other failures are those of the command's start.
pub fn hand_over(command: &mut Command, descriptors: Vec<(OwnedFd, i32)>) -> io::Result<()> {
    // Above all of these numbers, so that none is overwritten before it has been passed on.
    let above = descriptors.iter().map(|(_, number)| number + 1).max().unwrap_or(0);
    let duplicate = |(descriptor, number): (OwnedFd, i32)| {
        let copy = fcntl(&descriptor, FcntlArg::F_DUPFD_CLOEXEC(above))?;
        // SAFETY: the descriptor was just made, and nothing else owns it.
        Ok((unsafe { OwnedFd::from_raw_fd(copy) }, number))
    };
    let copies: Vec<_> = descriptors.into_iter().map(duplicate).collect::<io::Result<_>>()?;
    let prepare = move || {
        for (descriptor, number) in &copies {
            // SAFETY: takes integers only. dup2 clears close-on-exec, since the numbers differ.
            if unsafe { libc::dup2(descriptor.as_raw_fd(), *number) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(prepare) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs::File;
    use std::io::Read;

    use crate::files::pipe;

    #[test]
    fn each_descriptor_arrives_under_its_number_whatever_its_own_is() {
        let (first, to_first) = pipe::pair().unwrap();
        let (second, to_second) = pipe::pair().unwrap();
        let (one, two) = (to_first.as_raw_fd(), to_second.as_raw_fd());
        let mut command = Command::new("sh");
        let script = format!("echo first >/proc/self/fd/{two}; echo second >/proc/self/fd/{one}");
        command.args(["-c", &script]);
        hand_over(&mut command, vec![(to_first, two), (to_second, one)]).unwrap();
        assert!(command.status().unwrap().success());
        drop(command);
        for (reader, expected) in [(first, "first\n"), (second, "second\n")] {
            let mut text = String::new();
            File::from(reader).read_to_string(&mut text).unwrap();
            assert_eq!(text, expected);
        }
    }
}
