//! The identity of a process, whose pid another process may have after its end.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A handle of a process (pidfd): readable once the process has ended, and never another process with the
/// same pid.
#[derive(Debug)]
pub struct PidFd {
    fd: OwnedFd,
    pid: i32,
}

impl PidFd {
    /// Open the handle of a live process, or of an ended child that was not waited for (pidfd_open(2)). Fails
    /// with `ESRCH` if there is no such process.
    pub fn open(pid: i32) -> io::Result<Self> {
        // SAFETY: no memory is passed; the result is a new descriptor or -1.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let fd = i32::try_from(fd).expect("a descriptor fits i32");
        // SAFETY: the kernel just made this descriptor for us (close-on-exec by default).
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) }, pid })
    }

    /// Return the process's pid, which may be another process's once this one has ended.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Send a signal, by its number (pidfd_send_signal(2)). Succeed if the process has ended.
    pub fn signal(&self, signal: i32) -> io::Result<()> {
        // SAFETY: no siginfo is passed.
        let result = unsafe {
            libc::syscall(libc::SYS_pidfd_send_signal, self.fd.as_raw_fd(), signal, 0, 0)
        };
        if result == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() == Some(libc::ESRCH) { Ok(()) } else { Err(error) }
    }
}

impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Return the start time of a process, in clock ticks since boot (proc_pid_stat(5), field 22). Pid and start
/// time together identify one process for ever. Fail if there is no such process.
pub fn start_time(pid: i32) -> io::Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The second field is the program's name in parentheses, which may itself hold parentheses and spaces.
    let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let field = after.split_whitespace().nth(22 - 3).and_then(|text| text.parse().ok());
    field.ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat has no start time")))
}
