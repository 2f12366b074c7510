//! The limit on a process's open files (getrlimit(2), `RLIMIT_NOFILE`), and file descriptor tables per
//! thread.

use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Raise this process's soft limit on open files to its hard limit. Ignore a failure: opening too many files
/// reports the error then.
pub fn allow_most() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// Give the calling thread a file descriptor table of its own, a copy of the current one (unshare(2),
/// `CLONE_FILES`). The thread does not see later opens and closes of other threads. Each of its system calls
/// on a descriptor then costs less, because the kernel need not count that the file is in use. Ignore a
/// failure: only that cost depends on it.
pub fn part() {
    let _ = unshare(CloneFlags::CLONE_FILES);
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::sync::mpsc;
    use std::thread;

    use super::*;
    use crate::files::descriptor;
    use crate::files::poll::{self, Interest};

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        setrlimit(Resource::RLIMIT_NOFILE, hard / 2, hard).unwrap();
        allow_most();
        assert_eq!(getrlimit(Resource::RLIMIT_NOFILE).unwrap(), (hard, hard));
    }

    #[test]
    fn a_thread_that_has_parted_keeps_what_another_one_closes() {
        let (reader, writer) = descriptor::pipe().unwrap();
        descriptor::set_nonblocking(reader.as_fd()).unwrap();
        let (parted, parts) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let other = thread::spawn(move || {
            part();
            parted.send(()).unwrap();
            let _ = ends.recv();
        });
        parts.recv().unwrap();
        drop(writer);
        let read = || descriptor::read_some(reader.as_fd(), &mut [0; 1]).unwrap();
        assert_eq!(read(), None);
        drop(end);
        other.join().unwrap();
        // Joining a thread returns a moment before the kernel frees its table.
        poll::wait(&[(reader.as_fd(), Interest::Read)], None).unwrap();
        assert_eq!(read(), Some(0));
    }
}
